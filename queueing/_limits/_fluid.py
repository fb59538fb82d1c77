"""Fluid limits of JFSQ and of JSQ: many servers of different speeds at a fixed load."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ._fast_idle import excess_idle_rate
from ._speed_classes import SpeedClasses, check_load, speed_classes


@dataclass(frozen=True, eq=False)
class FluidLimit:
    """Which servers are busy when there are many, none of them with a second job.

    Attributes:
        service_rates, shares: (C,) rates of the classes and their shares of the servers.
        load: arrivals over capacity.
        busy: (C,) fraction of each class's servers that are busy.
        response: mean time in system, here the mean service, in the unit of the rates.
        extra_busy: next order, busy servers = N busy_servers + extra_busy + o(1); nan where we
            have no formula.
    """

    service_rates: np.ndarray
    shares: np.ndarray
    load: float
    busy: np.ndarray
    response: float
    extra_busy: float

    @property
    def arrival_rate(self) -> float:
        """Jobs per server and unit of time."""
        return self.load * float(self.service_rates @ self.shares)

    @property
    def busy_servers(self) -> float:
        """Busy servers over all servers."""
        return float(self.busy @ self.shares)


def jfsq_fluid(
    service_rates: ArrayLike | None = None, shares: ArrayLike | None = None, *, load: float
) -> FluidLimit:
    r"""JFSQ at a fixed load: the fastest servers are busy, up to what the load needs.

        busy_c = min(1, max(0, lambda - sum_{faster j} w_j mu_j) / (w_c mu_c)) ,
        response = sum_c w_c busy_c / lambda ,   lambda = load sum_j w_j mu_j ,
        busy servers = N sum_c w_c busy_c + c / mu_K + o(1) ,

    K the class that is partly busy and c the `fast_idle_rate`.

    Arguments:
        service_rates: (C,) rates of classes of servers, or one per server; None: one class.
        shares: (C,) shares of the servers, sum 1; None: equal ones.
        load: in [0, 1).

    Returns: `FluidLimit`.

    Raises: ValueError that names the argument, its value and the remedy.

    Source: [P2] for the policy, formulas ours.  Cost O(C log C).
    """
    classes, load = speed_classes(service_rates, shares), check_load(load)
    merged, index = classes.merged()
    work = merged.rates * merged.shares
    wanted = load * classes.capacity
    left = wanted - np.concatenate(([0.0], np.cumsum(work)[:-1]))
    busy = np.clip(_ratio(left, work), 0.0, 1.0)
    response = float(busy @ merged.shares) / wanted if load > 0.0 else 1.0 / merged.rates[0]
    excess, slowest = excess_idle_rate(classes.normalised(), load)
    return FluidLimit(
        classes.rates, classes.shares, load, busy[index], float(response), excess / slowest
    )


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Elementwise; a class of no servers counts as one that is just used up or not at all."""
    return np.divide(above, below, out=(above > 0.0).astype(float), where=below > 0.0)


def jsq_fluid(
    service_rates: ArrayLike | None = None, shares: ArrayLike | None = None, *, load: float
) -> FluidLimit:
    r"""JSQ, blind to speed, at a fixed load: a job goes to an idle server at random.

    Each server is busy with probability theta / (theta + mu_c), theta the rate at which an idle
    server gets a job, from

        sum_c w_c mu_c theta / (theta + mu_c) = lambda ,
        response = sum_c w_c busy_c / lambda ,   lambda = load sum_j w_j mu_j .

    Arguments, returns, raises: as `jfsq_fluid`, which this is compared with.

    Source: our derivation.  Cost O(C) and a root in one dimension.
    """
    classes, load = speed_classes(service_rates, shares), check_load(load)
    rates, weights = classes.rates, classes.shares
    wanted = load * classes.capacity
    if load == 0.0:
        response = float(np.sum(weights / rates))
        return FluidLimit(rates, weights, load, np.zeros(rates.size), response, nan)
    busy = _busy_blind(classes, wanted)
    return FluidLimit(rates, weights, load, busy, float(busy @ weights) / wanted, nan)


def _busy_blind(classes: SpeedClasses, wanted: float) -> np.ndarray:
    """(C,) theta / (theta + mu_c) with the wanted throughput per server."""
    rates, work = classes.rates, classes.rates * classes.shares

    def surplus(log_rate: float) -> float:
        return float(work @ (1.0 / (1.0 + rates / np.exp(log_rate)))) - wanted

    # Bounds from one class at the slowest or the fastest rate, with room to round.
    load = wanted / classes.capacity
    odds = np.log(load) - np.log1p(-load)
    low, high = odds + np.log(rates.min()) - 1.0, odds + np.log(rates.max()) + 1.0
    root = brentq(surplus, low, high, xtol=1e-14)
    return 1.0 / (1.0 + rates / np.exp(root))  # type: ignore[arg-type]
