"""Effective sample size by Geyer's initial monotone sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_series


def effective_sample_size(series: ArrayLike) -> Any:
    """The number of independent samples whose mean would have the same variance.

        ESS = n gamma_0 / sigma^2 ,   sigma^2 = -gamma_0 + 2 sum_k Gamma_k ,
        Gamma_k = gamma_{2k} + gamma_{2k+1}

    gamma_k is the autocovariance at lag k; the Gamma_k are cut at the first that is not positive
    and replaced by their running minimum, as those of a reversible chain fall. Alternating
    series can have ESS > n; it is bounded by n log10(n). For independent samples keep every
    ceil(n/ESS)-th.

    Arguments:
        series: shape (time, ...), equally spaced and stationary; at least 4 samples.
    Returns: ESS, a float for a one-dimensional series, else an array of shape `series.shape[1:]`;
        nan for a constant series, whose correlation cannot be known.
    Raises: ValueError for a short or non-finite series.
    Source: [Geyer1992], the bound [VehtariEtAl2021].
    Cost: two FFTs of two to four times the length.
    """
    values = check_series(series, min_length=4)
    n = len(values)
    deviations = values - values.mean(axis=0)
    covariances = _autocovariances(deviations)
    pairs = covariances[: n - n % 2].reshape(n // 2, 2, *values.shape[1:]).sum(axis=1)
    # Once a pair is not positive, all later ones count as zero.
    positive = np.cumprod(pairs > 0, axis=0)
    monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    variance = covariances[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        size = n * variance / (2.0 * monotone.sum(axis=0) - variance)
    bound = n * max(np.log10(n), 1.0)
    size = np.where((size > 0) & (size < bound), size, bound)
    size = np.where(np.ptp(values, axis=0) > 0, size, np.nan)
    return float(size) if np.ndim(size) == 0 else size


def _autocovariances(deviations: np.ndarray) -> np.ndarray:
    n = len(deviations)
    padded = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(deviations, padded, axis=0)
    return np.fft.irfft(np.abs(spectrum) ** 2, padded, axis=0)[:n] / n
