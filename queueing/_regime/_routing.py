"""Few stations with general arrivals and services, loaded up to a small slack: one exponential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isinf

import numpy as np
from numpy.typing import ArrayLike

from atlas import ProductExponential

from .._arrivals import ArrivalProcess
from .._checks import check_integer, check_positive
from .._distribution import Distribution
from .._policy import JSQ, Policy, PowerOfD, check_policy
from .._system import System
from ._base import Regime, Scaling
from ._start import RoundedExponentialStart


@dataclass(frozen=True)
class Routing(Regime):
    """The regime of [P3] at one slack r; made by `routing`, where everything is explained."""

    loaded_system: System
    r: float
    join: Policy

    def __post_init__(self) -> None:
        policy = check_policy(self.join, self.loaded_system)
        if not isinstance(policy, JSQ | PowerOfD) or policy == PowerOfD(1):
            raise ValueError(
                f"policy is {policy!r}; the theorem is about JSQ() and PowerOfD(num_choices=2): "
                "give one of them, or simulate the System under this policy"
            )
        self._check_capacities(policy)

    def _check_capacities(self, policy: Policy) -> None:
        """Refuse stations too slow for what they are sent whatever the lengths, as r -> 0."""
        law = policy.law(self.loaded_system)
        assert law is not None
        rates = np.sort(self.loaded_system.service_rates)
        shares = np.cumsum(np.sort(law.by_rank))[:-1]
        capacities = np.cumsum(rates)[:-1] / rates.sum()
        over = np.flatnonzero((capacities <= shares) & (shares > 0.0))
        if over.size:
            count = int(over[0]) + 1
            raise ValueError(
                f"policy is {policy!r}, which sends at least {shares[over[0]]:.6g} of all jobs to "
                f"the {count} slowest stations, whose rates {rates[:count].tolist()} are "
                f"{capacities[over[0]]:.6g} of the capacity: no stationary law as r -> 0; raise "
                "these service_rates, or use JSQ()"
            )

    @property
    def system(self) -> System:
        """The stations, with arrival rate sum mu - r."""
        return self.loaded_system

    @property
    def policy(self) -> Policy:
        """JSQ, or the better of two."""
        return self.join

    @property
    def scaling(self) -> Scaling:
        """Lengths over 1/r, times over 1/r^2."""
        return Scaling(length=1.0 / self.r, time=1.0 / self.r**2)

    @property
    def _what_is_proved(self) -> str:
        return (
            "r times every queue tends to the same exponential variable (state-space collapse), "
            "see limit_law and limit_mean"
        )

    @cached_property
    def limit_mean(self) -> float:
        r"""The mean m of the limit of r Q_j, the same for every station j.

            m = (1/(2 J)) sum_j mu_j (c_e^2 + c_{s,j}^2)

        Raises:
            ValueError: an infinite squared coefficient of variation, of which no limit is known.

        Source: [P3].
        """
        system = self.loaded_system
        arrivals = system.arrivals.asymptotic_scv
        services = np.array([law.scv for law in system.laws])
        if isinf(arrivals) or np.isinf(services).any():
            raise ValueError(
                f"arrivals is {system.arrivals!r} and service is {system.service!r}, whose scv is "
                "infinite; the limit needs moments above the second: give such laws, or simulate"
            )
        return float(system.service_rates @ (arrivals + services)) / (2.0 * system.num_servers)

    def limit_law(self, num_gaps: int | None = None) -> ProductExponential:
        """The limit law of r times the lowest queue, Exp of mean `limit_mean`: one gap.

        The other gaps vanish in the limit, because all queues become one.

        Arguments:
            num_gaps: None or 1.

        Raises:
            ValueError: more gaps, or no limit.

        Source: [P3].
        """
        if num_gaps is not None:
            remedy = "1 or None: above the lowest gap all vanish, the queues become one"
            if check_integer("num_gaps", num_gaps, minimum=1, remedy=remedy) > 1:
                raise ValueError(f"num_gaps is {num_gaps}; give {remedy}")
        return ProductExponential(np.array([1.0 / self.limit_mean]))

    def stationary_start(self) -> RoundedExponentialStart:
        """All queues floor(E), E the limit law over r: near the stationary law, not equal to it.

        Raises:
            ValueError: no limit, see `limit_mean`.
        """
        rates = np.full(self.loaded_system.num_servers, np.inf)
        rates[0] = self.r / self.limit_mean
        return RoundedExponentialStart(rates)


def routing(
    service_rates: ArrayLike,
    arrival: ArrivalProcess | Distribution | None = None,
    service: Distribution | Sequence[Distribution] | None = None,
    r: float = 0.1,
    policy: Policy | None = None,
) -> Routing:
    r"""Stations with general services and one renewal stream, routed to the shortest queue.

    J stations of rates mu_j receive sum_j mu_j - r jobs per unit of time.  As r -> 0, r times
    every queue tends to the same exponential variable of mean

        m = (1/(2 J)) sum_j mu_j (c_e^2 + c_{s,j}^2) ,

    while the largest difference of queues stays bounded in probability.  The better of two sampled
    stations needs, for the s slowest, s = 2, ..., J-1, that their share of the capacity exceeds
    C(s, 2)/C(J, 2), what they are sent at least.

    Arguments:
        service_rates: (J,) rates mu_j > 0.
        arrival: law of the interarrival times (mean 1, scaled), or an `ArrivalProcess`, whose
            asymptotic scv is then c_e^2; None: Poisson.
        service: law of the service times (mean 1, scaled), or one per station; None: exponential.
        r: slack of the arrival rate, 0 < r < sum mu.
        policy: `JSQ()` (None) or `PowerOfD(num_choices=2)`.

    Returns:
        The regime.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P3].
    """
    capacity = System(service_rates, 0.0).total_service_rate
    slack = check_positive("r", r, remedy="a slack > 0 of the arrival rate, below the capacity")
    if slack < 1e-150:
        raise ValueError(
            f"r is {r}; give at least 1e-150, so that the unit of time 1/r^2 is finite"
        )
    if slack >= capacity:
        raise ValueError(
            f"r is {r}; give less than the capacity sum mu = {capacity:.6g}, so that jobs arrive"
        )
    system = System(service_rates, capacity - slack, service=service, arrivals=arrival)
    return Routing(system, slack, JSQ() if policy is None else policy)
