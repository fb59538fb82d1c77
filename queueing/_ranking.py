"""Ties among ranked lengths."""

from __future__ import annotations

import numpy as np


def tied_blocks(ranked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last index of the tied block that each rank belongs to.

    Arguments:
        ranked: (..., K) ascending.

    Returns:
        Two (..., K) integer arrays.
    """
    num_ranks = ranked.shape[-1]
    index = np.arange(num_ranks)
    is_new = np.ones(ranked.shape, dtype=bool)
    is_new[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    is_end = np.ones(ranked.shape, dtype=bool)
    is_end[..., :-1] = is_new[..., 1:]
    first = np.maximum.accumulate(np.where(is_new, index, 0), axis=-1)
    ends = np.where(is_end, index, num_ranks - 1)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    return first, last
