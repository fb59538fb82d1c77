"""Arrivals just as they were observed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from .._distribution import Stream, check_generator, read_in_order, scale_to_unit_mean
from ._base import ArrivalProcess
from ._dispersion import index_of_dispersion


@dataclass(frozen=True, eq=False, init=False, repr=False)
class TraceArrivals(ArrivalProcess):
    """The given interarrival times, one after the other, in units of their mean.

    A system with `arrival_rate=process.mean_rate` replays them on the clock of the trace.  After
    the last one no further job arrives, unless `repeat` begins again; every replica reads the
    same times, from the first one unless `random_start` picks one of them, all equally likely.

    Arguments:
        interarrivals: (m,) times >= 0 in any unit, not all of them 0; 0 are jobs that arrive
            together.
        repeat: begin again after the last one.
        random_start: each replica begins at an interarrival time of its own; needs `repeat`.

    Attributes:
        interarrivals: (m,) in units of their mean, read-only.
        mean_rate: one over their mean, jobs per unit of time of the trace.

    Raises: ValueError that names the argument.
    """

    interarrivals: np.ndarray
    mean_rate: float
    repeat: bool
    random_start: bool

    def __init__(
        self, interarrivals: ArrayLike, repeat: bool = False, random_start: bool = False
    ) -> None:
        times, mean = scale_to_unit_mean("interarrivals", interarrivals)
        if not math.isfinite(1.0 / mean):
            raise ValueError(
                f"interarrivals have the mean {mean:.6g}, whose rate overflows; give them in "
                "another unit of time"
            )
        for name, value in (("repeat", repeat), ("random_start", random_start)):
            if not isinstance(value, bool):
                raise ValueError(f"{name} is {value!r}; give True or False")
        if random_start and not repeat:
            raise ValueError("random_start is True without repeat; give repeat=True too")
        set_field = partial(object.__setattr__, self)
        set_field("interarrivals", times)
        set_field("mean_rate", 1.0 / mean)
        set_field("repeat", repeat)
        set_field("random_start", random_start)

    @cached_property
    def asymptotic_scv(self) -> float:
        """An estimate: the index of dispersion of sqrt(m) successive interarrival times."""
        together = max(1, math.isqrt(self.interarrivals.size))
        return index_of_dispersion(self.interarrivals, together)

    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream; the generator is used by `random_start` only."""
        check_generator(generator)
        count = self.interarrivals.size
        position = int(generator.integers(count)) if self.random_start else 0
        return _Playback(self.interarrivals, position, self.repeat)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TraceArrivals):
            return NotImplemented
        return self._settings == other._settings and np.array_equal(
            self.interarrivals, other.interarrivals
        )

    def __hash__(self) -> int:
        return hash((self.interarrivals.tobytes(), self._settings))

    def __repr__(self) -> str:
        count = self.interarrivals.size
        return (
            f"TraceArrivals({count} interarrivals of mean {1.0 / self.mean_rate:.6g}, "
            f"repeat={self.repeat}, random_start={self.random_start})"
        )

    @property
    def _settings(self) -> tuple[float, bool, bool]:
        return self.mean_rate, self.repeat, self.random_start


class _Playback(Stream):
    """Times from a position on, over and over or until the last one."""

    def __init__(self, times: np.ndarray, position: int, repeat: bool) -> None:
        self._times, self._position, self._repeat = times, position, repeat

    def fill(self, out: np.ndarray) -> None:
        """Write the next `out.size` times into `out`, inf past the end."""
        if self._repeat:
            self._position = read_in_order(self._times, self._position, out)
            return
        left = self._times[self._position : self._position + out.size]
        out[: left.size] = left
        out[left.size :] = np.inf
        self._position += left.size
