"""The length of a given rank, without sorting."""

from __future__ import annotations

import numba


@numba.njit(nogil=True)
def select_rank(lengths, rank, scratch):
    """The length that `rank` others, ties aside, do not exceed: Hoare's quickselect, O(K).

    Arguments:
        lengths: (K,) int64.
        rank: 0 for the shortest.
        scratch: (K,) int64, overwritten.
    """
    for i in range(lengths.shape[0]):
        scratch[i] = lengths[i]
    low, high = 0, lengths.shape[0] - 1
    while low < high:
        pivot = scratch[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while scratch[left] < pivot:
                left += 1
            while scratch[right] > pivot:
                right -= 1
            if left <= right:
                scratch[left], scratch[right] = scratch[right], scratch[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            return scratch[rank]
    return scratch[rank]
