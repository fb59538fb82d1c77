"""Quantiles from a distribution function, by bisection."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Enough to leave neighbouring floats, also for quantiles far below the upper end.
_HALVINGS = 120

Cdf = Callable[[np.ndarray], np.ndarray]


def invert_cdf(cdf: Cdf, p: np.ndarray) -> np.ndarray:
    """(m,) the least x >= 0 with cdf(x) >= p, inf for p = 1; about 130 evaluations.

    Arguments:
        cdf: distribution function of (m,) points >= 0, of unbounded support.
        p: (m,) probabilities.
    """
    high = np.where(p < 1.0, 1.0, np.inf)
    while (short := cdf(high) < p).any():
        high[short] *= 2.0
    return bisect_cdf(cdf, p, np.zeros_like(p), high)


def bisect_cdf(cdf: Cdf, p: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(m,) the least x in [low, high] with cdf(x) >= p, where cdf(high) >= p."""
    high = np.where(cdf(low) >= p, low, high)
    low = np.where(np.isfinite(high), low, high)
    for _ in range(_HALVINGS):
        middle = 0.5 * low + 0.5 * high
        reached = cdf(middle) >= p
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle)
    return high
