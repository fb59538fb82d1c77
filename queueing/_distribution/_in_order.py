"""Observed times in the order in which they were observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._empirical import Empirical
from ._law_checks import check_generator
from ._stream import Stream
from ._unit_mean import ObservedTimes, read_in_order


@dataclass(frozen=True, eq=False, init=False, repr=False)
class InOrder(ObservedTimes):
    """The given times in units of their mean, one after the other, and from the front again.

    Servers with this law take successive times as they begin to serve, so that what depends on
    the order of the times is kept; every replica reads the same ones.  Single times, by `sample`,
    `cdf` and the moments, are those of `Empirical`: each equally likely.

    Arguments:
        values: (m,) times >= 0 in any unit, not all of them 0.

    Attributes:
        values: (m,) the times in units of their mean, in order, read-only.
        original_mean: the mean of the times as they were given.

    Raises: ValueError that names the argument.
    """

    @cached_property
    def marginal(self) -> Empirical:
        """The law of one time, without the order."""
        return Empirical(self.values * self.original_mean)

    @property
    def scv(self) -> float:
        """The squared coefficient of variation of the times."""
        return self.marginal.scv

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Times drawn with replacement, out of order; `start` keeps the order."""
        return self.marginal.sample(generator, size)

    def start(self, generator: np.random.Generator) -> Stream:
        """The times in order, over and over; the generator is not used."""
        check_generator(generator)
        return _Repeated(self.values)

    def _moment(self, order: int) -> float:
        return self.marginal.moment(order)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return self.marginal.cdf(x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.marginal.quantile(p)

    def __repr__(self) -> str:
        return f"InOrder({self.values.size} values of mean {self.original_mean:.6g})"


class _Repeated(Stream):
    """Times from front to back, and again."""

    def __init__(self, times: np.ndarray) -> None:
        self._times, self._position = times, 0

    def fill(self, out: np.ndarray) -> None:
        """Write the next `out.size` times into `out`."""
        self._position = read_in_order(self._times, self._position, out)
