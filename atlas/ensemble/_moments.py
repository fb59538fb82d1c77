"""Streaming moments: mean and variance of ever more samples in fixed memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_axis, check_integer, check_numbers
from ._estimate import Estimate


@dataclass(frozen=True, eq=False)
class StreamingMoments:
    """Count, mean and sum of squared deviations of samples of equal shape.

        merge: n = n_1 + n_2,  d = mean_2 - mean_1,  mean = mean_1 + d n_2/n,
               square_sum = square_sum_1 + square_sum_2 + d^2 n_1 n_2/n

    Merged in the order of chunks, never of completion, the result is the same bit for bit for any
    number of threads; another chunking changes it by rounding only.

    Arguments:
        count: number of samples.
        mean, square_sum: arrays of the shape of one sample, float64.
    Source: [ChanGolubLeVeque1983].
    """

    count: int
    mean: np.ndarray
    square_sum: np.ndarray

    @classmethod
    def from_samples(cls, samples: ArrayLike, axis: int = 0) -> StreamingMoments:
        """Moments of `samples`, which lie along `axis` (the replicas); none is allowed."""
        array = check_numbers("samples", samples)
        array = np.moveaxis(array, check_axis(axis, array, "samples"), 0)
        count = array.shape[0]
        mean = array.sum(axis=0) / max(count, 1)
        with np.errstate(invalid="ignore"):
            # An infinite sample has an infinite mean, whose error is nan.
            return cls(count, mean, np.square(array - mean).sum(axis=0))

    @classmethod
    def merge_all(cls, parts: Iterable[StreamingMoments]) -> StreamingMoments:
        """All of `parts`, merged from the first to the last; ValueError if there is none."""
        result: StreamingMoments | None = None
        for part in parts:
            result = part if result is None else result.merge(part)
        if result is None:
            raise ValueError("parts must hold at least one StreamingMoments, got none")
        return result

    def merge(self, other: StreamingMoments) -> StreamingMoments:
        """These samples followed by those of `other`; ValueError for another shape."""
        if self.mean.shape != other.mean.shape:
            raise ValueError(
                f"other must have samples of shape {self.mean.shape}, got {other.mean.shape}"
            )
        count = self.count + other.count
        share = other.count / max(count, 1)
        shift = other.mean - self.mean
        square_sum = self.square_sum + other.square_sum + np.square(shift) * (self.count * share)
        return StreamingMoments(count, self.mean + shift * share, square_sum)

    @property
    def variance(self) -> np.ndarray:
        """The unbiased variance of one sample; nan for fewer than two samples."""
        if self.count < 2:
            return np.full(np.shape(self.mean), np.nan)
        return self.square_sum / (self.count - 1)

    def estimate(self) -> Estimate:
        """The mean as an Estimate with count - 1 degrees of freedom."""
        if self.count == 0:
            raise ValueError("an estimate needs at least one sample, got none")
        error = np.sqrt(self.variance / self.count)
        return Estimate(self.mean, error, self.count - 1.0)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The fields as arrays, for a ChunkStore."""
        return {
            "count": np.asarray(self.count),
            "mean": np.asarray(self.mean),
            "square_sum": np.asarray(self.square_sum),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> StreamingMoments:
        """What `to_arrays` gave."""
        count = check_integer("count", arrays["count"], 0)
        return cls(count, np.asarray(arrays["mean"]), np.asarray(arrays["square_sum"]))
