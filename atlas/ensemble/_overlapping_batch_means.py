"""Overlapping batch means: all windows of one length, for a steadier error than batch means."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_integer, check_series
from ._estimate import Estimate


def overlapping_batch_means(series: ArrayLike, batch_length: int) -> Estimate:
    """The mean of a stationary series, with the error of its means over all windows.

        std_error^2 = m / ((n - m + 1)(n - m)) sum_j (mean of window j - mean)^2,
        dof = (3/2)(n/m - 1)

    n samples, windows of m. The error has 2/3 of the variance of that of batch means.

    Arguments:
        series: shape (time, ...), equally spaced, the warm-up already cut.
        batch_length: m, between 1 and n/2; many autocorrelation times.
    Returns: an Estimate of shape `series.shape[1:]`.
    Raises: ValueError for a short or non-finite series or a bad batch length.
    Source: [MeketonSchmeiser1984].
    Cost: one cumulative sum.
    """
    values = check_series(series, min_length=2)
    n = len(values)
    m = check_integer("batch_length", batch_length, 1, n // 2)
    mean = values.mean(axis=0)
    # Sums of deviations, so that a large mean costs no digits.
    sums = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values - mean, axis=0)])
    deviations = (sums[m:] - sums[:-m]) / m
    variance = np.square(deviations).sum(axis=0) * m / ((n - m + 1.0) * (n - m))
    return Estimate(mean, np.sqrt(variance), 1.5 * (n / m - 1.0))
