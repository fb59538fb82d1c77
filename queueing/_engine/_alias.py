"""Alias tables: a finite law from which one uniform number draws in constant time."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True)
def fill_alias(weights: np.ndarray, cut: np.ndarray, alias: np.ndarray, stack: np.ndarray) -> None:
    """The alias table of the law proportional to `weights`, written into `cut` and `alias`.

    Cell i keeps its own value with probability cut[i] and else stands for alias[i].

    Arguments:
        weights: (m,) >= 0, not all 0 unless m = 0; m may be smaller than the tables, whose other cells are
            given away.
        cut: (M,) float64.
        alias: (M,) int64.
        stack: (M,) int64, scratch.

    Source: [Vose1991].  Cost O(M).
    """
    size = cut.shape[0]
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i]
    scale = size / total if total > 0.0 else 0.0
    num_small, first_large = 0, size
    for i in range(size):
        cut[i] = weights[i] * scale if i < weights.shape[0] else 0.0
        alias[i] = i
        if cut[i] < 1.0:
            stack[num_small] = i
            num_small += 1
        else:
            # Large cells grow from the other end of the same scratch.
            first_large -= 1
            stack[first_large] = i
    while num_small > 0 and first_large < size:
        small, large = stack[num_small - 1], stack[first_large]
        num_small -= 1
        alias[small] = large
        cut[large] -= 1.0 - cut[small]
        if cut[large] < 1.0:
            first_large += 1
            stack[num_small] = large
            num_small += 1
    # What is left differs from 1 by rounding only.
    for k in range(num_small):
        cut[stack[k]] = 1.0
    for k in range(first_large, size):
        cut[stack[k]] = 1.0


@numba.njit(forceinline=True)
def draw_alias(uniform: float, cut: np.ndarray, alias: np.ndarray, start: int, size: int) -> int:
    """The value that a number in [0, 1) stands for, in the `size` cells from `start` on."""
    scaled = uniform * size
    cell = np.int64(scaled)
    index = np.uintp(start + cell)
    return cell if scaled - cell < cut[index] else alias[index]


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`cut` and `alias` of the law proportional to `weights`, with as many cells."""
    size = weights.shape[0]
    cut, alias = np.empty(size), np.empty(size, np.int64)
    fill_alias(np.ascontiguousarray(weights, np.float64), cut, alias, np.empty(size, np.int64))
    return cut, alias
