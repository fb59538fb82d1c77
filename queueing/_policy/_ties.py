"""How many servers are shorter than each, and how many are not longer."""

from __future__ import annotations

import numpy as np


def rank_ranges(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The ranks that each server shares with the servers it ties with.

    Arguments:
        lengths: (..., K).
    Returns: two (..., K) integer arrays: the number of servers that are shorter, and the number
        that are not longer; server i holds one of the ranks shorter + 1 ... not_longer.
    Cost: O(K^2) per state.
    """
    own, others = lengths[..., :, None], lengths[..., None, :]
    return (others < own).sum(axis=-1), (others <= own).sum(axis=-1)
