"""Quantiles of jobs' times with their errors, from histograms of groups of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from atlas.ensemble import Estimate

from ._batch_estimates import NUM_BATCHES, Batches
from ._checks import check_array
from ._engine import upper_edges

_REMEDY = "one probability or a list of them, each in (0, 1)"


def num_histograms(num_replicas: int) -> int:
    """How many histograms a replica keeps: twice as many as its errors need, for the warm-up."""
    enough = 2 * max(1, round(NUM_BATCHES / num_replicas))
    return next((count for count in (2, 4, 10) if count >= enough), NUM_BATCHES)


def grouped_histograms(counts: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """(R, G, bins) histograms of successive groups after the warm-up.

    Arguments:
        counts: (R, H, bins), each of NUM_BATCHES / H batches.
        cuts: (R,) batches that are left out; a histogram with one of them is left out whole.
    """
    kept, enough = counts.shape[1], num_histograms(len(counts))
    if kept > enough and kept % enough == 0:
        # More were kept for a store than so many replicas need.
        counts = counts.reshape(len(counts), enough, kept // enough, -1).sum(axis=2)
    size = NUM_BATCHES // counts.shape[1]
    batches = Batches(-(-cuts // size), np.ones(counts.shape[:2]))
    return batches.grouped(counts)


def job_quantiles(histograms: np.ndarray, unit: float, probs: np.ndarray) -> Estimate:
    """Quantiles of the jobs of all replicas together.

    With F_g the share of the jobs of group g at or below the estimate x, the error of F(x) is that
    of a ratio of means over groups and replicas, and

        std_error = ( x(p + s) - x(p - s) ) / 2 ,   s the error of F(x) .

    Arguments:
        histograms: (R, G, bins) counts, expected ones or true ones.
        unit: of the bins' times.
        probs: (m,) in (0, 1).
    Returns: (m,); infinite beyond the range of the bins.
    """
    pooled = _CumulativeCounts(histograms.sum(axis=(0, 1)))
    values, errors, dofs = [], [], []
    for prob in probs:
        value = pooled.quantile(prob)
        share = _share_below(histograms, value)
        # Without an error of its own the interval is unknown; see Estimate.
        spread = 0.0 if not share.dof > 0.0 else float(share.std_error)
        lower, upper = (
            pooled.quantile(np.clip(prob + sign * spread, 0.0, 1.0)) for sign in (-1.0, 1.0)
        )
        values.append(unit * value)
        errors.append(unit * (upper - lower) / 2.0 if upper > lower else 0.0)
        dofs.append(float(share.dof))
    return Estimate(values, errors, dofs)


def check_probs(probs: Any) -> np.ndarray:
    """`probs` as float64 of any shape.

    Raises: ValueError with the remedy.
    """
    asked = check_array("probs", probs, remedy=_REMEDY)
    if asked.size == 0 or not np.all((asked > 0.0) & (asked < 1.0)):
        raise ValueError(f"probs is {probs!r}; give {_REMEDY}")
    return asked


def _share_below(histograms: np.ndarray, value: float) -> Estimate:
    """The share of jobs at or below `value`, by groups and replicas."""
    below = np.array(
        [[_CumulativeCounts(counts).share(value) for counts in row] for row in histograms]
    )
    count = histograms.sum(axis=-1)
    # Over (R,): each replica's ratio, then pooled as every other observable.
    each = Estimate.from_ratio(below * count, count, axis=1)
    return Estimate.pooled(each.value, np.nan_to_num(each.std_error), each.dof)


class _CumulativeCounts:
    """A distribution function that is linear in the logarithm inside every bin."""

    def __init__(self, counts: ArrayLike) -> None:
        self._below = np.cumsum(counts, dtype=np.float64)
        self._total = max(self._below[-1], 1e-300)

    def quantile(self, prob: float) -> float:
        needed = prob * self._total
        place = int(np.searchsorted(self._below, needed))
        edges = _EDGES
        if place == 0:
            return 0.0
        if place >= edges.size:
            return np.inf
        before = self._below[place - 1]
        inside = (needed - before) / (self._below[place] - before)
        return float(edges[place - 1] * (edges[place] / edges[place - 1]) ** inside)

    def share(self, value: float) -> float:
        if np.isinf(value):
            return self._below[-1] / self._total
        if value <= 0.0:
            return self._below[0] / self._total
        shares = np.interp(np.log(value), np.log(_EDGES), self._below[:-1])
        return float(shares) / self._total


_EDGES = upper_edges()
