"""The law of observed times, each equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ._law_checks import check_sampling
from ._unit_mean import ObservedTimes


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Empirical(ObservedTimes):
    """Each of the given times with equal probability, divided by their mean.

    Two such laws are equal if they were made of the same times, in whatever order.

    Arguments:
        values: (m,) times >= 0 in any unit, not all of them 0.

    Attributes:
        values: (m,) the times in units of their mean, ascending, read-only.
        original_mean: the mean of the times as they were given; a server of rate 1/original_mean
            takes just such times.

    Raises: ValueError that names the argument.
    """

    def __init__(self, values: ArrayLike) -> None:
        super().__init__(values)
        ascending = np.sort(self.values)
        ascending.flags.writeable = False
        object.__setattr__(self, "values", ascending)

    @cached_property
    def scv(self) -> float:
        """The squared coefficient of variation: the mean square of the deviations from 1."""
        return float(np.mean(np.square(self.values - 1.0)))

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Times drawn with replacement, as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        return self.values[generator.integers(0, self.values.size, shape)]

    def _moment(self, order: int) -> float:
        with np.errstate(over="ignore"):
            return float(np.mean(self.values**order))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.values, x, side="right") / self.values.size

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        # Rounding must not push p = i/m above i/m.
        rank = np.ceil(p * self.values.size * (1.0 - 1e-15)).astype(np.int64) - 1
        return self.values[np.clip(rank, 0, self.values.size - 1)]

    def __repr__(self) -> str:
        return (
            f"Empirical({self.values.size} values of mean {self.original_mean:.6g}, "
            f"scv {self.scv:.6g})"
        )
