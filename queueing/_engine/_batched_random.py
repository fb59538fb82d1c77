"""Uniform numbers of 64 bits that belong to (replica, step, server), for engines on JAX."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from atlas.ensemble import philox4x32

# The last word of the counter keeps the independent uses of one seed apart.
STREAM_COUNTS = np.uint32(16)
STREAM_MINIMA = np.uint32(17)
STREAM_CLOCK = np.uint32(18)
STREAM_CHOICE = np.uint32(19)
STREAM_EVENT = np.uint32(20)


class Streams(NamedTuple):
    """The seed's two words, and the index of each replica (R,), uint32."""

    key: Array
    replicas: Array


def uniform_pair(streams: Streams, step: Array, num_servers: int, stream) -> tuple[Array, Array]:
    """Two independent uniforms on (0, 1] for each replica and server, (R, K) float64.

    Arguments: `step`, (R,) uint32, the number of the draw, each replica's own. A uniform is made of
    64 bits: close to 0 its spacing is 2^-64, while one of 32 bits never falls below 2.3e-10, and a
    table of probabilities has many smaller ones. Source: [Salmon2011]. Cost: one Philox call.
    """
    shape = (len(streams.replicas), num_servers)
    server = lax.broadcasted_iota(jnp.uint32, shape, 1)
    replica = jnp.broadcast_to(streams.replicas[:, None], shape)
    number = jnp.broadcast_to(step[:, None], shape)
    counter = (server, replica, number, jnp.broadcast_to(stream, shape))
    first, second, third, fourth = philox4x32((streams.key[0], streams.key[1]), counter)
    return _uniform(first, second), _uniform(third, fourth)


def _uniform(high: Array, low: Array) -> Array:
    return high.astype(jnp.float64) * 2.0**-32 + (low.astype(jnp.float64) + 0.5) * 2.0**-64
