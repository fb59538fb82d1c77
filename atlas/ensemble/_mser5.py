"""MSER-5: where the warm-up of a series ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_series

_BATCH = 5


def mser5(series: ArrayLike) -> Any:
    """The number of samples to cut at the start, by the least marginal standard error.

        cut = 5 argmin_d  sum_{j >= d} (Z_j - mean_{j >= d} Z)^2 / (k - d)^2 ,   d <= k/2

    Z_1 ... Z_k are means of five successive samples. At most half of the series is cut; a cut of
    (nearly) half says that the series is too short to tell.

    Arguments:
        series: shape (time, ...), equally spaced; at least 10 samples. For several observables of
            one run cut the largest of their cuts.
    Returns: the cut, an int for a one-dimensional series, else an int64 array of shape
        `series.shape[1:]`.
    Raises: ValueError for a short or non-finite series.
    Source: [White1997], [WhiteCobbSpratt2000].
    Cost: one pass.
    """
    values = check_series(series, min_length=2 * _BATCH)
    k = len(values) // _BATCH
    batches = values[: k * _BATCH].reshape(k, _BATCH, *values.shape[1:]).mean(axis=1)
    # Sums over j >= d of deviations from the mean of the second half: well conditioned there.
    deviations = (batches - batches[k // 2 :].mean(axis=0))[::-1]
    sums = np.cumsum(deviations, axis=0)
    left = np.arange(1.0, k + 1.0).reshape(k, *[1] * (values.ndim - 1))
    spread = np.cumsum(np.square(deviations), axis=0) - np.square(sums) / left
    criterion = (np.maximum(spread, 0.0) / left**2)[::-1][: k // 2 + 1]
    cut = _BATCH * np.argmin(criterion, axis=0)
    return int(cut) if np.ndim(cut) == 0 else cut.astype(np.int64)
