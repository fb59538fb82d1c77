"""Rules for the fraction of jobs that look at queues which are some time away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from atlas import OPTIMAL_DELAY_GAIN

from .._checks import check_positive
from .._system import System


class BalancingRule(ABC):
    """How many jobs go by information, the others without: a fraction chi of all."""

    @abstractmethod
    def chi(self, system: System) -> float:
        """The fraction for `system`, from 0 to 1."""


@dataclass(frozen=True)
class RootOfExcess(BalancingRule):
    """chi = factor sqrt(1 - load), at most 1: the root of the excess capacity.

    Arguments:
        factor: > 0.
    Raises: ValueError that names the argument.
    Source: [P4], the first rule of thumb.
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        factor = check_positive("factor", self.factor, remedy="a finite factor > 0")
        object.__setattr__(self, "factor", factor)

    def chi(self, system: System) -> float:
        """The fraction for `system`."""
        return min(1.0, self.factor * sqrt(max(1.0 - system.load, 0.0)))


@dataclass(frozen=True)
class ReciprocalRootOfDelay(BalancingRule):
    """chi = factor / sqrt(Lambda d), at most 1, Lambda d the mean number of jobs on their way.

    d is the mean travel time of a job that goes to stations in proportion to their rates.

    Arguments:
        factor: > 0.
    Raises: ValueError that names the argument.
    Source: [P4], the second rule of thumb.
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        factor = check_positive("factor", self.factor, remedy="a finite factor > 0")
        object.__setattr__(self, "factor", factor)

    def chi(self, system: System) -> float:
        """The fraction for `system`."""
        return min(1.0, self.factor * _reciprocal_root(system))


@dataclass(frozen=True)
class DelayOptimum(BalancingRule):
    r"""The fraction that keeps the delayed difference of queues small, at most 1.

        chi = kappa sqrt( (1 + c_s^2) H_{K-1} / (Lambda d) )

    For two symmetric stations the difference obeys dD = -Lambda chi sgn(D(t - d)) dt + sigma dW,
    sigma^2 = Lambda (1 + c_s^2), and E|D| is least at kappa = Lambda chi sqrt(d)/sigma =
    `atlas.OPTIMAL_DELAY_GAIN` (flat).  Waits are least at a smaller kappa, because queues are not
    negative: about 1/sqrt(2) in simulations, from which the harmonic number for K stations is too.

    Arguments:
        kappa: > 0; the optimum of E|D| by default, 0.71 for waits.
    Raises: ValueError that names the argument.
    Source: our derivation and simulations; the order is that of [P4].
    """

    kappa: float = float(OPTIMAL_DELAY_GAIN.value)

    def __post_init__(self) -> None:
        kappa = check_positive("kappa", self.kappa, remedy="a finite number > 0, about 1")
        object.__setattr__(self, "kappa", kappa)

    def chi(self, system: System) -> float:
        """The fraction for `system`."""
        if system.num_servers == 1:
            return 0.0
        harmonic = sum(1.0 / k for k in range(1, system.num_servers))
        variance = 1.0 + service_scv(system)
        return min(1.0, self.kappa * sqrt(variance * harmonic) * _reciprocal_root(system))


def service_scv(system: System) -> float:
    """The scv of services, weighted by the stations' rates."""
    scvs = np.array([law.scv for law in system.laws])
    return float(system.service_rates @ scvs) / system.total_service_rate


def mean_travel_time(system: System) -> float:
    """Of a job that goes to stations in proportion to their rates."""
    if system.travel_times is None or system.origin_probs is None:
        return 0.0
    shares = system.service_rates / system.total_service_rate
    return float(system.origin_probs @ system.travel_times @ shares)


def _reciprocal_root(system: System) -> float:
    travelling = system.arrival_rate * mean_travel_time(system)
    return 1.0 / sqrt(travelling) if travelling > 0.0 else inf
