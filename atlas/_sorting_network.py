"""Sorting a few arrays elementwise by a fixed network of exchanges."""

from functools import cache

import jax.numpy as jnp


@cache
def sorting_network(size: int) -> tuple[tuple[int, int], ...]:
    """Pairs (i, j), i < j, to be put in order one after the other: Batcher's odd-even merge sort.

    Source: [Knuth1998], section 5.2.2, algorithm M. About size (log2 size)^2 / 4 exchanges.
    """
    exchanges = []
    power = 1
    while power < size:
        power *= 2
    p = power // 2
    while p > 0:
        q, r, distance = power // 2, 0, p
        while True:
            exchanges += [(i, i + distance) for i in range(size - distance) if i & p == r]
            if q == p:
                break
            distance, q, r = q - p, q // 2, p
        p //= 2
    return tuple(exchanges)


def sort_arrays(arrays):
    """The arrays, put in ascending order elementwise."""
    values = list(arrays)
    for i, j in sorting_network(len(values)):
        values[i], values[j] = jnp.minimum(values[i], values[j]), jnp.maximum(values[i], values[j])
    return values
