"""Alias tables: a finite law from which one uniform number draws in constant time."""

from __future__ import annotations

import numba
import numpy as np

from ._inlined import inlined


@numba.njit(nogil=True)
def fill_alias(weights: np.ndarray, cut: np.ndarray, alias: np.ndarray) -> None:
    """The alias table of the law proportional to `weights`, written into `cut` and `alias`.

    Cell k keeps its own value with probability cut[k] and else stands for alias[k]. Light cells
    (below the mean) and heavy ones are swept in their order: the present heavy cell fills up light
    ones until it is light itself, and is then filled up by the next heavy one.

    Arguments:
        weights: (m,) >= 0, not all 0 unless m = 0; they stay as they are.
        cut: (m,) float64.
        alias: (m,) int64.

    Source: [HubschleSchneiderSanders2022].  Cost: O(m), about 4 ns per cell.
    """
    size = weights.shape[0]
    total = 0.0
    for k in range(size):
        total += weights[k]
        # What is left over in the end differs from this by rounding only.
        cut[k] = 1.0
        alias[k] = k
    scale = size / total if total > 0.0 else 0.0
    light = _next_light(weights, scale, 0)
    heavy = _next_heavy(weights, scale, 0)
    left = weights[heavy] * scale if heavy < size else 0.0
    while heavy < size:
        if left < 1.0:
            following = _next_heavy(weights, scale, heavy + 1)
            if following == size:
                break
            cut[heavy] = left
            alias[heavy] = following
            left += weights[following] * scale - 1.0
            heavy = following
        elif light < size:
            cut[light] = weights[light] * scale
            alias[light] = heavy
            left += cut[light] - 1.0
            light = _next_light(weights, scale, light + 1)
        else:
            break


@inlined
def _next_light(weights, scale, k):
    while k < weights.shape[0] and weights[k] * scale >= 1.0:
        k += 1
    return k


@inlined
def _next_heavy(weights, scale, k):
    while k < weights.shape[0] and weights[k] * scale < 1.0:
        k += 1
    return k


@inlined
def draw_alias(
    uniform: float, cut: np.ndarray, alias: np.ndarray, start: int, size: int
) -> np.int64:
    """The value that a number in [0, 1) stands for, in the `size` cells from `start` on."""
    scaled = uniform * size
    cell = np.int64(scaled)
    index = np.uintp(start + cell)
    return cell if scaled - cell < cut[index] else alias[index]


def alias_table(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`cut` and `alias` of the law proportional to `weights`, with as many cells."""
    cut, alias = np.empty(weights.size), np.empty(weights.size, np.int64)
    fill_alias(np.ascontiguousarray(weights, np.float64), cut, alias)
    return cut, alias
