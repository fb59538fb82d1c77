"""Batch means: a standard error for the mean of one stationary, correlated series."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ._checks import check_integer, check_series
from ._estimate import Estimate


def batch_means(series: ArrayLike, num_batches: int = 30) -> Estimate:
    """The mean of a stationary series, with the error of its means over equal batches.

        value = mean of the batch means,   std_error^2 = var(batch means) / num_batches,
        dof = num_batches - 1

    The interval is valid when a batch is many autocorrelation times long.

    Arguments:
        series: shape (time, ...), equally spaced, the warm-up already cut; entries of the other
            axes are analysed one by one.
        num_batches: between 2 and the number of samples; 10 to 30 serve nearly every purpose.
            What does not fill a batch is dropped at the beginning.
    Returns: an Estimate of shape `series.shape[1:]`.
    Raises: ValueError for a short or non-finite series or a bad number of batches.
    Source: [Schmeiser1982].
    Cost: one pass.
    """
    values = check_series(series, min_length=2)
    count = check_integer("num_batches", num_batches, 2, len(values))
    length = len(values) // count
    used = values[len(values) - count * length :]
    return Estimate.from_samples(used.reshape(count, length, *values.shape[1:]).mean(axis=1))
