"""Poisson arrivals at a rate that varies in time, by thinning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_positive, check_vector
from .._distribution import BlockStream, Stream, check_generator
from ._base import ArrivalProcess

_BLOCK = 2048
_GRID = 1 << 16
_ROUNDING = 1e-12


@dataclass(frozen=True, init=False)
class TimeVarying(ArrivalProcess):
    """Poisson arrivals at the periodic rate r(t), from t = 0 on.

    The rate may be in any unit of time; the process is that of r on a clock that ticks in mean
    interarrival times, the mean being taken over a period: E N(period) = period * mean_rate.  A
    system with `arrival_rate=process.mean_rate` has it on the clock of r.  Candidates come at
    the rate `bound` and are kept with probability r(t)/bound.  Over many periods
    Var N(t) / E N(t) is 1, as for any Poisson process.

    Arguments:
        rate: r, a function of (m,) times in [0, period) that returns (m,) rates from 0 to `bound`.
        period: > 0; after it the rate repeats.
        bound: > 0, at least every value of r; the closer, the faster.

    Attributes:
        mean_rate: the mean of r over a period, by the midpoint rule with 65536 points (exact for
            `from_levels`).

    Raises: ValueError that names the argument; from a stream where r leaves [0, bound].
    Source: [LewisShedler1979].
    """

    rate: Callable[[np.ndarray], ArrayLike]
    period: float
    bound: float
    mean_rate: float

    def __init__(
        self, rate: Callable[[np.ndarray], ArrayLike], period: float, bound: float
    ) -> None:
        if not callable(rate) or isinstance(rate, type):
            raise ValueError(
                f"rate is {rate!r}; give a function of a vector of times, or take "
                "TimeVarying.from_levels"
            )
        remedy = "a finite number > 0, in units of time of the rate"
        period = check_positive("period", period, remedy=remedy)
        bound = check_positive("bound", bound, remedy="a finite number > 0 that no rate exceeds")
        if isinstance(rate, _Levels):
            mean = float(np.mean(rate.levels))
        else:
            middles = (np.arange(_GRID) + 0.5) * (period / _GRID)
            mean = float(_rates_within(rate, middles, bound).mean())
        if mean == 0.0:
            raise ValueError(
                f"rate is {rate!r}, 0 at all times; give one that is positive somewhere"
            )
        set_field = partial(object.__setattr__, self)
        set_field("rate", rate)
        set_field("period", period)
        set_field("bound", bound)
        set_field("mean_rate", mean)

    @classmethod
    def from_levels(cls, levels: ArrayLike, period: float) -> TimeVarying:
        """The rate levels[i] during the i-th of equal parts of the period, such as hours of a day.

        Arguments:
            levels: (m,) rates >= 0, not all of them 0.
            period: > 0.
        """
        remedy = "one finite rate >= 0 per part of the period, not all of them 0"
        values = check_vector("levels", levels, remedy=remedy)
        if not values.any():
            raise ValueError(f"levels is {levels!r}; give {remedy}")
        period = check_positive("period", period, remedy="a finite number > 0, in units of time")
        return cls(_Levels(tuple(values.tolist()), period), period, float(values.max()))

    @property
    def asymptotic_scv(self) -> float:
        """1: over whole periods the counts are Poisson."""
        return 1.0

    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream from the beginning of a period."""
        return _ThinnedStream(self, check_generator(generator))


@dataclass(frozen=True)
class _Levels:
    """A rate that is constant on equal parts of its period."""

    levels: tuple[float, ...]
    period: float

    def __call__(self, times: np.ndarray) -> np.ndarray:
        count = len(self.levels)
        part = np.floor(times * (count / self.period)).astype(np.int64)
        return np.array(self.levels)[np.minimum(part, count - 1)]


class _ThinnedStream(BlockStream):
    """Candidates at the bound of the rate, kept or not."""

    def __init__(self, process: TimeVarying, generator: np.random.Generator) -> None:
        super().__init__()
        self._process, self._generator = process, generator
        self._phase = 0.0  # within the period: a clock that runs on would lose digits
        self._elapsed = 0.0

    def _next_block(self) -> np.ndarray:
        while True:
            times = self._thinned()
            if times.size:
                return times

    def _thinned(self) -> np.ndarray:
        process = self._process
        clock = np.cumsum(self._generator.standard_exponential(_BLOCK)) / process.bound
        phases = (self._phase + clock) % process.period
        rates = _rates_within(process.rate, phases, process.bound)
        kept = clock[self._generator.random(_BLOCK) * process.bound < rates]
        self._phase = float(phases[-1])
        if kept.size == 0:
            self._elapsed += clock[-1]
            return kept
        times = np.diff(kept, prepend=0.0)
        times[0] += self._elapsed
        self._elapsed = float(clock[-1] - kept[-1])
        return times * process.mean_rate


def _rates_within(
    rate: Callable[[np.ndarray], ArrayLike], times: np.ndarray, bound: float
) -> np.ndarray:
    """(m,) the rates at (m,) times; a ValueError where one is no number in [0, bound]."""
    values = np.asarray(rate(times))
    if values.dtype.kind not in "iuf" or values.shape not in ((), times.shape):
        raise ValueError(
            f"rate returns {values!r} for {times.size} times; give a function that returns one "
            "rate per time"
        )
    values = np.broadcast_to(values, times.shape).astype(np.float64)
    wrong = ~((values >= 0.0) & (values <= bound * (1.0 + _ROUNDING)))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"rate is {values[place]} at time {times[place]}, outside [0, bound = {bound}]; "
            "give a larger bound, or a rate that is never negative"
        )
    return values
