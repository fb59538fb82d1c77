"""Streaming quantiles: a log-spaced histogram with a stated relative error, in fixed memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_axis, check_flag, check_fraction, check_numbers, check_sizes
from ._real_numbers import real_scalar

# 80 MB for one quantity: more are a slip of the relative error.
_MOST_BINS = 10_000_000


@dataclass(frozen=True, eq=False)
class StreamingQuantiles:
    """Counts of samples in bins whose width is proportional to their value.

        bin j >= 1 holds  smallest g^(j-1) < |x| <= smallest g^j ,   g = (1 + eps)/(1 - eps)

    Any sample with smallest < |x| <= largest is represented within a relative error of `eps`;
    up to `smallest` it counts as zero (absolute error `smallest`), above `largest` as infinite.
    Along the last axis of `counts` the bins ascend:

        unsigned: zero, 1, ..., num_bins, overflow
        signed:   -overflow, -num_bins, ..., -1, zero, 1, ..., num_bins, overflow

    Arguments:
        counts: int64, shape (..., size), `size` as the property; from `empty` and `add`, or
            from an engine's own loop (see `log_growth`).
        relative_error: eps, in (0, 1).
        smallest, largest: range of magnitudes, 0 < smallest < largest.
        signed: whether negative samples occur; refused otherwise.
    Raises: ValueError for bad settings.
    Source: the bins of DDSketch [MassonRimLee2019], with a fixed range.
    Cost: memory independent of the number of samples: 1200 counts at the defaults.
    """

    counts: np.ndarray
    relative_error: float = field(default=0.01, kw_only=True)
    smallest: float = field(default=1e-4, kw_only=True)
    largest: float = field(default=1e6, kw_only=True)
    signed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_flag("signed", self.signed)
        _num_bins(self.relative_error, self.smallest, self.largest)
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu" or counts.ndim == 0 or counts.shape[-1] != self.size:
            raise ValueError(
                f"counts must be integers with a last axis of {self.size} bins, "
                f"got shape {counts.shape} of {counts.dtype}"
            )
        object.__setattr__(self, "counts", counts.astype(np.int64))

    @classmethod
    def empty(
        cls,
        shape: tuple[int, ...] = (),
        *,
        relative_error: float = 0.01,
        smallest: float = 1e-4,
        largest: float = 1e6,
        signed: bool = False,
    ) -> StreamingQuantiles:
        """No samples yet, for samples of `shape`."""
        shape = check_sizes("shape", shape)
        size = _num_bins(relative_error, smallest, largest)
        size = 2 * size + 3 if check_flag("signed", signed) else size + 2
        return cls(
            np.zeros((*shape, size), np.int64),
            relative_error=relative_error,
            smallest=smallest,
            largest=largest,
            signed=signed,
        )

    @property
    def num_bins(self) -> int:
        """Number of magnitude bins between `smallest` and `largest`."""
        return _num_bins(self.relative_error, self.smallest, self.largest)

    @property
    def size(self) -> int:
        """Length of the last axis of `counts`."""
        return 2 * self.num_bins + 3 if self.signed else self.num_bins + 2

    @property
    def log_growth(self) -> float:
        """log g; an engine's loop counts x > smallest in bin ceil(log(x/smallest) / log_growth)."""
        return _log_growth(self.relative_error)

    @property
    def values(self) -> np.ndarray:
        """The value that stands for each bin, ascending, shape (size,)."""
        growth = math.exp(self.log_growth)
        middle = self.smallest * np.exp(self.log_growth * np.arange(1, self.num_bins + 1))
        middle *= 2.0 / (growth + 1.0)
        upper = np.concatenate([middle, [np.inf]])
        lower = -upper[::-1] if self.signed else []
        return np.concatenate([lower, [0.0], upper])

    @property
    def count(self) -> np.ndarray:
        """Number of samples, shape of one sample."""
        return self.counts.sum(axis=-1)

    def indices(self, samples: ArrayLike) -> np.ndarray:
        """The position along the last axis of `counts` of each sample; nan is refused."""
        values = check_numbers("samples", samples)
        if np.isnan(values).any():
            raise ValueError("samples must not hold nan: leave out what was not observed")
        if not self.signed and np.any(values < 0):
            raise ValueError(f"samples must not be negative, got {values.min()}: use signed=True")
        magnitude = np.clip(np.abs(values), self.smallest, 2.0 * self.largest)
        bins = np.ceil(np.log(magnitude / self.smallest) / self.log_growth)
        bins = np.where(np.abs(values) > self.largest, self.num_bins + 1, bins).astype(np.int64)
        bins = np.minimum(bins, self.num_bins + (np.abs(values) > self.largest))
        return np.where(values < 0, -bins, bins) + (self.num_bins + 1 if self.signed else 0)

    def add(self, samples: ArrayLike, axis: int = 0) -> StreamingQuantiles:
        """With `samples` added, which lie along `axis`; the other axes are those of `counts`."""
        indices = self.indices(samples)
        indices = np.moveaxis(indices, check_axis(axis, indices, "samples"), 0)
        if indices.shape[1:] != self.counts.shape[:-1]:
            raise ValueError(
                f"samples must have shape {self.counts.shape[:-1]} beside axis {axis}, "
                f"got {indices.shape[1:]}"
            )
        rows = np.arange(math.prod(indices.shape[1:]))
        flat = rows * self.size + indices.reshape(len(indices), rows.size)
        added = np.bincount(flat.ravel(), minlength=rows.size * self.size)
        return self._with(self.counts + added.reshape(self.counts.shape))

    def merge(self, other: StreamingQuantiles) -> StreamingQuantiles:
        """These samples and those of `other`: exact and in any order."""
        mine, theirs = self._settings(), other._settings()
        if mine != theirs or self.counts.shape != other.counts.shape:
            raise ValueError(
                f"other must have settings {mine} and shape {self.counts.shape}, "
                f"got {theirs} and {other.counts.shape}"
            )
        return self._with(self.counts + other.counts)

    def quantile(self, prob: ArrayLike) -> np.ndarray:
        """The samples' quantiles (least x with a fraction `prob` at or below), within the error.

        Arguments:
            prob: probabilities in [0, 1], any shape.
        Returns: shape `prob.shape` + shape of one sample; inf beyond `largest`.
        Raises: ValueError for a probability outside [0, 1] or where there is no sample.
        """
        probs = check_numbers("prob", prob)
        if not np.all((probs >= 0) & (probs <= 1)):
            raise ValueError(f"prob must lie in [0, 1], got {prob}")
        total = self.count
        if np.any(total == 0):
            raise ValueError("a quantile needs at least one sample, got none")
        below = np.cumsum(self.counts, axis=-1)
        at = probs.reshape((*probs.shape, *[1] * total.ndim))
        # The rounding of prob * total must not push a quantile to the next sample.
        needed = np.maximum(np.ceil(at * total * (1.0 - 4e-16)), 1.0)
        index = (below < needed[..., None]).sum(axis=-1)
        return self.values[index]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Counts and settings as arrays, for a ChunkStore."""
        return {"counts": self.counts, **{k: np.asarray(v) for k, v in self._settings().items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> StreamingQuantiles:
        """What `to_arrays` gave."""
        return cls(
            arrays["counts"],
            relative_error=float(arrays["relative_error"]),
            smallest=float(arrays["smallest"]),
            largest=float(arrays["largest"]),
            signed=bool(arrays["signed"]),
        )

    def _settings(self) -> dict[str, float | bool]:
        return {
            "relative_error": self.relative_error,
            "smallest": self.smallest,
            "largest": self.largest,
            "signed": self.signed,
        }

    def _with(self, counts: np.ndarray) -> StreamingQuantiles:
        return StreamingQuantiles(
            counts,
            relative_error=self.relative_error,
            smallest=self.smallest,
            largest=self.largest,
            signed=self.signed,
        )


def _log_growth(relative_error: float) -> float:
    return math.log1p(relative_error) - math.log1p(-relative_error)


def _num_bins(relative_error: float, smallest: float, largest: float) -> int:
    growth = _log_growth(check_fraction("relative_error", relative_error))
    low, high = real_scalar(smallest), real_scalar(largest)
    if low is None or high is None or not (0 < low < high and high / low < math.inf):
        raise ValueError(
            "smallest and largest must satisfy 0 < smallest < largest < inf, with a finite ratio, "
            f"got {smallest!r} and {largest!r}"
        )
    count = math.log(high / low) / growth if growth > 0 else math.inf
    if count > _MOST_BINS:
        raise ValueError(
            f"relative_error = {relative_error} between smallest = {smallest} and largest = "
            f"{largest} takes {count:.3g} bins, more than {_MOST_BINS}: raise it"
        )
    return math.ceil(count)
