"""Which of many sources is due next, at logarithmic cost per change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._inlined import inlined


class Tournament(NamedTuple):
    """A binary tree over sources in which the earlier of two always moves up.

    Attributes:
        keys: (2 M,) due times: of source i at M + i, of the next of all at 1; inf: never.
        winners: (2 M,) int64, the source that each key belongs to.
    """

    keys: np.ndarray
    winners: np.ndarray


def hold_tournament(times: np.ndarray) -> Tournament:
    """The tree for given due times of each source; cost O(M), M the next power of two."""
    num_leaves = 1 << max(int(times.size - 1).bit_length(), 0)
    keys = np.full(2 * num_leaves, np.inf)
    winners = np.zeros(2 * num_leaves, np.int64)
    keys[num_leaves : num_leaves + times.size] = times
    winners[num_leaves:] = np.arange(num_leaves)
    width = num_leaves
    while width > 1:
        half = width // 2
        left, right = keys[width : 2 * width : 2], keys[width + 1 : 2 * width : 2]
        first = left <= right
        keys[half:width] = np.where(first, left, right)
        pair = winners[width : 2 * width]
        winners[half:width] = np.where(first, pair[::2], pair[1::2])
        width = half
    return Tournament(keys, winners)


@inlined
def set_due(tree, num_leaves, source, time):
    """Let `source` be due at `time`; of sources due at once the one of least index is next.

    The path to the root does not depend on who wins, so that loads do not wait for comparisons;
    bitwise operators, because branches on who wins would be mispredicted.
    """
    keys, winners = tree.keys, tree.winners
    node = np.uintp(num_leaves + source)
    keys[node] = time
    winner = np.int64(source)
    while node > np.uintp(1):
        other = node ^ np.uintp(1)
        rival, rival_source = keys[other], winners[other]
        loses = (rival < time) | ((rival == time) & (other < node))
        time = min(time, rival)
        winner += (rival_source - winner) * np.int64(loses)
        node >>= np.uintp(1)
        keys[node] = time
        winners[node] = winner
