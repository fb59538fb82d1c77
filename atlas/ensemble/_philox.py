"""Philox4x32-10: random words as a function of a key and a counter, on any JAX device."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

_MULTIPLIERS = (np.uint32(0xD2511F53), np.uint32(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_NUM_ROUNDS = 10


def philox4x32(key, counter):
    """Philox4x32-10: four pseudo-random 32-bit words for each counter.

    Arguments: `key`, two uint32 arrays or scalars; `counter`, four uint32 arrays of one shape.
    Returns four uint32 arrays of that shape. Source: [Salmon2011]. Cost: 20 multiplications.
    """
    k0, k1 = (jnp.asarray(word, jnp.uint32) for word in key)
    c0, c1, c2, c3 = counter
    m0, m1 = (jnp.broadcast_to(m, c0.shape) for m in _MULTIPLIERS)
    for index in range(_NUM_ROUNDS):
        w0, w1 = (np.uint32(index * weyl & 0xFFFFFFFF) for weyl in _WEYL)
        high0, low0 = lax.mulhi(m0, c0), m0 * c0
        high1, low1 = lax.mulhi(m1, c2), m1 * c2
        c0, c1, c2, c3 = high1 ^ c1 ^ (k0 + w0), low1, high0 ^ c3 ^ (k1 + w1), low0
    return c0, c1, c2, c3
