"""Regulators of a step: the push at the floor and those of the collisions between ranks.

Summing the ranked equations over the ranks above k,

    (1/2) dl_k = d(sum_{i > k} X_(i)) - (drift and noise of those particles) dt ,

and l_0 is all that was pushed up at the floor. So each flow only has to say where its particles
would be without pushes.
"""

import jax.numpy as jnp
from jaxtyping import Array


def count_pushes(before: Array, after: Array, floor: bool) -> Array:
    """Increments of the regulators of one flow, shape (regulator, group, lane).

    Arguments: `before`, positions by starting rank moved by drift and noise alone; `after`, ranked
    positions at the end of the flow; both (rank, group, lane); collisions are symmetric. With a
    floor the first regulator is
    its own; the others are the collisions' l_k, Skorokhod pushes (half the right local times).
    """
    above = jnp.cumsum((after - before)[::-1], axis=0)[::-1]
    collisions = 2 * above[1:]
    if not floor:
        return collisions
    return jnp.concatenate([above[:1], collisions])
