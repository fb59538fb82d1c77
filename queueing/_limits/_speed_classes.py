"""Classes of servers by speed: rates and shares, checked once for all limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_nonnegative, check_vector

_RATES = "positive rates, one per class or one per server, such as [1.5, 0.5]"
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class SpeedClasses:
    """Servers in classes, as given: (C,) rates and the (C,) shares of the servers, sum 1."""

    rates: np.ndarray
    shares: np.ndarray

    @property
    def capacity(self) -> float:
        """Mean service rate of a server."""
        return float(self.rates @ self.shares)

    def normalised(self) -> SpeedClasses:
        """The same in the unit of time in which a server has mean rate 1."""
        return SpeedClasses(self.rates / self.capacity, self.shares)

    def merged(self) -> tuple[SpeedClasses, np.ndarray]:
        """Classes of different rates, the fastest first, and which of them each given one is in."""
        slowest_first, index = np.unique(self.rates, return_inverse=True)
        shares = np.bincount(index, self.shares)
        return SpeedClasses(slowest_first[::-1], shares[::-1]), slowest_first.size - 1 - index


def speed_classes(service_rates: ArrayLike | None, shares: ArrayLike | None) -> SpeedClasses:
    """Check rates and shares.

    Arguments:
        service_rates: (C,) positive rates; None: one class of rate 1.
        shares: (C,) nonnegative shares of the servers that sum to 1; None: equal ones.

    Raises: ValueError that names the argument, its value and the remedy.
    """
    if service_rates is None:
        service_rates = [1.0]
    rates = check_vector("service_rates", service_rates, remedy=_RATES)
    idle = np.flatnonzero(rates == 0.0)
    if idle.size:
        raise ValueError(f"service_rates[{idle[0]}] is 0; give {_RATES}")
    if shares is None:
        return SpeedClasses(rates, np.full(rates.size, 1.0 / rates.size))
    remedy = f"{rates.size} shares of the servers, one per rate, that sum to 1"
    checked = check_vector("shares", shares, remedy=remedy)
    if checked.size != rates.size:
        raise ValueError(f"shares has {checked.size} entries; give {remedy}")
    if abs(float(checked.sum()) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"shares sums to {float(checked.sum())!r}; give {remedy}")
    return SpeedClasses(rates, checked)


def check_load(load: object, *, below_one: bool = True) -> float:
    """`load`, arrivals over capacity, in [0, 1), or any number >= 0."""
    remedy = "a number in [0, 1), arrivals over capacity" if below_one else "a finite number >= 0"
    number = check_nonnegative("load", load, remedy=remedy)
    if below_one and number >= 1.0:
        raise ValueError(f"load is {load!r}; give {remedy}: at 1 and above queues grow")
    return number
