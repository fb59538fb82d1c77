"""Ranks of lengths that have changed little since they were last sorted."""

from __future__ import annotations

import numba
import numpy as np

# Moves per entry after which sorting from afar is cheaper.
_MOVES_PER_ENTRY = 8


@numba.njit(nogil=True)
def rank_nearly_sorted(lengths, order, ranked):
    """Write the ascending lengths into `ranked` and the servers into `order`.

    Insertion sort of the former order, which costs O(K + inversions); if those are many, Shell's
    sort (gaps 1, 4, 13, ...).

    Arguments:
        lengths: (K,) int64 by server.
        order: (K,) int64, a permutation of the servers, best the order of a little while ago.
        ranked: (K,) int64, overwritten.
    """
    size = lengths.shape[0]
    for k in range(size):
        ranked[k] = lengths[order[k]]
    if _insert(order, ranked, 1, _MOVES_PER_ENTRY * size):
        return
    gap = 1
    while 3 * gap + 1 < size:
        gap = 3 * gap + 1
    while gap > 0:
        _insert(order, ranked, gap, np.iinfo(np.int64).max)
        gap //= 3


@numba.njit(nogil=True)
def _insert(order, ranked, gap, budget):
    """Sort entries that are `gap` apart by insertion; False past `budget` moves."""
    for k in range(gap, ranked.shape[0]):
        length, server = ranked[k], order[k]
        place = k
        while place >= gap and ranked[place - gap] > length:
            ranked[place] = ranked[place - gap]
            order[place] = order[place - gap]
            place -= gap
        ranked[place] = length
        order[place] = server
        budget -= (k - place) // gap
        if budget < 0:
            return False
    return True
