"""How far a law is from the exponential one of the same mean."""

from __future__ import annotations

import numpy as np


def tails_over_exponential(tails: np.ndarray, means: np.ndarray, points: np.ndarray) -> np.ndarray:
    """P(X > x) exp(x / E X), which is 1 for all x if X is exponential, whatever its mean.

    A run that happens to be high has more in its tails and a larger mean, so that the product
    varies much less than either.

    Arguments:
        tails: P(X > x) in each replica, (replica, ..., point).
        means: E X in each replica, (replica, ...).
        points: x, (point,).

    Returns:
        (replica, ..., point), linearised at the means over replicas: their mean is the product of
        the pooled numbers, their deviations are what each replica adds to it to first order.
    """
    tail, mean = tails.mean(axis=0), means.mean(axis=0)[..., None]
    moved = tails / tail - 1.0 - points / mean**2 * (means[..., None] - mean)
    return tail * np.exp(points / mean) * (1.0 + moved)
