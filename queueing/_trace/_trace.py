"""Interarrival and service times of a farm, as they were observed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from atlas.ensemble import check_path, write_atomically

from .._arrivals import ArrivalProcess, Renewal, TraceArrivals, index_of_dispersion
from .._checks import check_integer, check_vector
from .._distribution import Distribution, Empirical, InOrder

_TIMES = "a vector of at least one finite time >= 0, not all of them 0"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Trace:
    """Interarrival and service times in order of arrival, in one unit of time.

    Made by `from_trace`.  A farm of K servers that replays it:

        System([1 / trace.service_mean] * K, trace.arrival_rate,
               service=trace.service(), arrivals=trace.arrivals())

    Attributes:
        interarrivals: (n,) times >= 0, read-only.
        services: (n,) times >= 0, or (n + 1,) if the first job's interarrival time is unknown.

    Raises: ValueError that names the argument.
    """

    interarrivals: np.ndarray
    services: np.ndarray

    def __init__(self, interarrivals: ArrayLike, services: ArrayLike) -> None:
        set_field = partial(object.__setattr__, self)
        for name, values in (("interarrivals", interarrivals), ("services", services)):
            times = check_vector(name, values, remedy=_TIMES)
            if not times.any():
                raise ValueError(f"{name} are all 0; give {_TIMES}")
            if not 1e-290 <= times.max() <= 1e290:
                raise ValueError(
                    f"{name} are up to {times.max():.6g}, out of range; give them in another unit"
                )
            set_field(name, times)
        if self.services.size - self.interarrivals.size not in (0, 1):
            raise ValueError(
                f"services has {self.services.size} times for {self.interarrivals.size} "
                "interarrivals; give one per job, or one more if the first job's is unknown"
            )

    @property
    def num_jobs(self) -> int:
        """The number of jobs."""
        return self.services.size

    @cached_property
    def arrival_rate(self) -> float:
        """One over the mean interarrival time, jobs per unit of time."""
        return 1.0 / float(self.interarrivals.mean())

    @cached_property
    def service_mean(self) -> float:
        """The mean service time; a server of rate 1/service_mean works as in the trace."""
        return float(self.services.mean())

    @cached_property
    def interarrival_scv(self) -> float:
        """The squared coefficient of variation of the interarrival times."""
        return index_of_dispersion(self.interarrivals, 1)

    @cached_property
    def service_scv(self) -> float:
        """The squared coefficient of variation of the service times."""
        return index_of_dispersion(self.services, 1)

    def interarrival_dispersion(self, together: int) -> float:
        """k Var(mean of k successive interarrival times) / mean^2; the scv of all k if renewal.

        Arguments:
            together: k, from 1 to their number.
        Raises: ValueError for another k.
        """
        return index_of_dispersion(self.interarrivals, together)

    def interarrival_autocorrelation(self, max_lag: int) -> np.ndarray:
        """(max_lag + 1,) correlations of interarrival times that are 0, 1, ... apart.

        Arguments:
            max_lag: int >= 0, below their number.
        Raises: ValueError for another lag.
        Cost: O(n log n).
        """
        return _autocorrelation(self.interarrivals, max_lag)

    def service_autocorrelation(self, max_lag: int) -> np.ndarray:
        """(max_lag + 1,) correlations of service times that are 0, 1, ... jobs apart; see above."""
        return _autocorrelation(self.services, max_lag)

    def arrivals(self, *, repeat: bool = False, random_start: bool = False) -> TraceArrivals:
        """The arrivals just as they were; `TraceArrivals` explains the arguments."""
        return TraceArrivals(self.interarrivals, repeat=repeat, random_start=random_start)

    def service(self, *, in_order: bool = False) -> Distribution:
        """The law of a service time, `Empirical`: each of the times equally likely.

        Arguments:
            in_order: `InOrder` instead: servers take the times one after the other as they begin
                to serve, first the one of the first job whose interarrival time is known.
        Raises: ValueError for anything but True and False.
        """
        if not isinstance(in_order, bool):
            raise ValueError(f"in_order is {in_order!r}; give True or False")
        if not in_order:
            return Empirical(self.services)
        return InOrder(self.services[-self.interarrivals.size :])

    def renewal_surrogate(self) -> ArrivalProcess:
        """Independent interarrival times with the trace's law: same mean and scv, no memory."""
        return Renewal(Empirical(self.interarrivals))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write columns `interarrival` and `service` as CSV, each number in full.

        Raises: ValueError if the path does not end in .csv, or if the first job's interarrival
            time is unknown.
        """
        if check_path("path", path).suffix.lower() != ".csv":
            raise ValueError(f"path is {str(path)!r}; give one that ends in .csv")
        if self.services.size != self.interarrivals.size:
            raise ValueError(
                "services has one time more than interarrivals, so the columns differ in length; "
                "save Trace(trace.interarrivals, trace.services[1:])"
            )

        def write(file: Path) -> None:
            with open(file, "w", encoding="utf-8", newline="") as stream:
                stream.write("interarrival,service\n")
                rows = zip(self.interarrivals.tolist(), self.services.tolist(), strict=True)
                stream.writelines(f"{gap!r},{time!r}\n" for gap, time in rows)

        return write_atomically(path, write)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        same_gaps = np.array_equal(self.interarrivals, other.interarrivals)
        return same_gaps and np.array_equal(self.services, other.services)

    def __hash__(self) -> int:
        return hash((self.interarrivals.tobytes(), self.services.tobytes()))

    def __repr__(self) -> str:
        return (
            f"Trace({self.num_jobs} jobs, arrival_rate={self.arrival_rate:.6g}, "
            f"service_mean={self.service_mean:.6g}, scv={self.interarrival_scv:.6g} and "
            f"{self.service_scv:.6g})"
        )


def _autocorrelation(times: np.ndarray, max_lag: int) -> np.ndarray:
    remedy = f"an int from 0 to {times.size - 1}, below the number of times"
    max_lag = check_integer("max_lag", max_lag, minimum=0, remedy=remedy)
    if max_lag >= times.size:
        raise ValueError(f"max_lag is {max_lag}; give {remedy}")
    deviations = times - times.mean()
    if not deviations.any():
        # A constant sequence has no spread to correlate.
        return np.concatenate([[1.0], np.zeros(max_lag)])
    spectrum = np.fft.rfft(deviations, 1 << int(2 * times.size - 1).bit_length())
    products = np.fft.irfft(np.square(np.abs(spectrum)))[: max_lag + 1]
    return products / products[0]
