"""Long runs of a few stations with general arrivals and services at one slack r."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import queueing
from atlas.ensemble import Estimate
from queueing import (
    Distribution,
    Erlang,
    Exponential,
    Hyperexponential,
    Lognormal,
    Pareto,
    Policy,
    Uniform,
    Weibull,
)

from ._frame import controlled
from ._own_mean import tails_over_exponential

# Where the law of r (Z + U) over its limit mean is compared, U uniform on [0, 1).
POINTS = np.array([0.5, 1.0, 2.0])
_LONGEST = 12.0  # lengths up to so many limit means are told apart


@dataclass(frozen=True)
class Pair:
    """Laws of interarrival and service times.

    Arguments:
        name: for people.
        arrival, service: the laws.
        power: of r in the first correction to the limit law; 1 if both have three moments.
    """

    name: str
    arrival: Distribution
    service: Distribution
    power: float = 1.0


PAIRS = (
    Pair("Erlang 2, hyperexp. 4", Erlang(2), Hyperexponential(4.0)),
    # 2.5 moments: P(residual > x) falls like x^-1.5, which shifts the law by a share r^0.5.
    Pair("Pareto 2.5, Pareto 2.5", Pareto(2.5), Pareto(2.5), power=0.5),
    Pair("exponential, exponential", Exponential(), Exponential()),
    Pair("hyperexp. 3, uniform", Hyperexponential(3.0), Uniform()),
    Pair("Weibull 0.7, Erlang 3", Weibull(0.7), Erlang(3)),
    Pair("lognormal 2, lognormal 2", Lognormal(2.0), Lognormal(2.0)),
)

RegimeFactory = Callable[..., Any]


@dataclass(frozen=True)
class Stations:
    """One pair of laws under one policy at one slack.

    Arguments:
        r: the slack.
        limit_mean: m of the theorem.
        lengths: (replica, station) time averages of the lengths.
        occupancy: (replica, level) shares of time and stations with at least 1, 2, ... jobs.
        imbalance: (replica,) time averages of max - min.
        idle: (replica,) time averages of the capacity that is idle; its mean is r.
    """

    r: float
    limit_mean: float
    lengths: np.ndarray
    occupancy: np.ndarray
    imbalance: np.ndarray
    idle: np.ndarray

    @cached_property
    def means(self) -> Estimate:
        """r E Z_j over m, (station,)."""
        return self._estimate(self.r * self.lengths / self.limit_mean)

    @cached_property
    def overall(self) -> Estimate:
        """The mean over stations of r E Z_j / m."""
        return self._estimate(self.r * self.lengths.mean(axis=1) / self.limit_mean)

    @cached_property
    def spread(self) -> Estimate:
        """The largest less the smallest r E Z_j / m, stations in the order of their means."""
        order = np.argsort(self.lengths.mean(axis=0))
        return self._estimate(
            self.r * (self.lengths[:, order[-1]] - self.lengths[:, order[0]]) / self.limit_mean
        )

    @cached_property
    def mean_imbalance(self) -> Estimate:
        """E(max - min)."""
        return Estimate.from_samples(self.imbalance)

    def tails(self, points: np.ndarray) -> Estimate:
        """P(r (Z + U) > m x) at the points x, Z the length of a station taken at random."""
        return self._estimate(self._tails(points))

    def tails_over_exponential(self, points: np.ndarray) -> Estimate:
        """The same over that of the exponential law whose mean is r (E Z + 1/2)."""
        means = self.r * (self.lengths.mean(axis=1) + 0.5) / self.limit_mean
        return self._estimate(tails_over_exponential(self._tails(points), means, points))

    def _tails(self, points: np.ndarray) -> np.ndarray:
        levels = np.arange(self.occupancy.shape[1] + 1)
        at_least = np.column_stack([np.ones(len(self.occupancy)), self.occupancy])
        lengths = points * self.limit_mean / self.r
        return np.array([np.interp(lengths, levels, each) for each in at_least])

    def _estimate(self, samples: np.ndarray) -> Estimate:
        """The mean, with the idle capacity as control."""
        control = np.broadcast_to(self.idle.reshape(-1, *[1] * (samples.ndim - 1)), samples.shape)
        return Estimate.from_samples(controlled(samples, control, np.full((), self.r)))


def run_stations(
    pair: Pair,
    rates: tuple[float, ...],
    policy: Policy,
    r: float,
    *,
    events: float,
    replicas: int,
    seed: int,
    regime: RegimeFactory = queueing.routing,
) -> Stations:
    """Run all replicas from the limit law, the first tenth of the time left out.

    Arguments:
        pair, rates, policy, r: the regime.
        events: arrivals and departures of all replicas together.
        replicas, seed: of the run.
        regime: what makes the system that is simulated.
    """
    theory = queueing.routing(rates, pair.arrival, pair.service, r, policy)
    simulated = regime(rates, pair.arrival, pair.service, r, policy)
    capacity = sum(rates)
    horizon = events / (2.0 * (capacity - r) * replicas)
    run = queueing.long_run(
        simulated,
        horizon=horizon,
        warmup=0.1 * horizon,
        initial="stationary",
        replicas=replicas,
        num_levels=int(_LONGEST * theory.limit_mean / r) + 10,
        seed=seed,
    )
    idle = (1.0 - run.values("utilisation")) @ np.array(rates)
    return Stations(
        r,
        theory.limit_mean,
        run.values("lengths"),
        run.values("occupancy"),
        run.values("imbalance"),
        idle,
    )
