"""Remote stations: a fraction of the jobs goes where the queue was shortest when they set out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from numpy.typing import ArrayLike

from .._checks import check_nonnegative
from .._distribution import Distribution
from .._information import Information
from .._policy import JSQ, Marginal, Policy, RateProportional, check_policy
from .._system import System
from ._balancing import BalancingRule, mean_travel_time, service_scv
from ._base import Regime, Scaling


@dataclass(frozen=True)
class Remote(Regime):
    """The regime of [P4] at one load; made by `remote`, where everything is explained."""

    stations: System
    chi: float | BalancingRule
    base: Policy

    def __post_init__(self) -> None:
        remedy = (
            "a fraction from 0 to 1, or a rule such as RootOfExcess(), ReciprocalRootOfDelay() or "
            "DelayOptimum() (an instance)"
        )
        if not isinstance(self.chi, BalancingRule):
            if isinstance(self.chi, type):
                raise ValueError(f"chi is {self.chi!r}; give {remedy}")
            chi = check_nonnegative("chi", self.chi, remedy=remedy)
            if chi > 1.0:
                raise ValueError(f"chi is {self.chi!r}; give {remedy}")
            object.__setattr__(self, "chi", chi)
        check_policy(self.base, self.stations)

    @property
    def fraction(self) -> float:
        """chi as a number."""
        return self.chi.chi(self.stations) if isinstance(self.chi, BalancingRule) else self.chi

    @property
    def system(self) -> System:
        """The stations with their travel times."""
        return self.stations

    @property
    def policy(self) -> Marginal:
        """A fraction chi to the shortest queue, the rest by `base`."""
        return Marginal(JSQ(), fraction=self.fraction, base=self.base)

    @property
    def scaling(self) -> Scaling:
        """Lengths over 1/(1 - load), times over its square."""
        length = 1.0 / (1.0 - self.stations.load)
        return Scaling(length=length, time=length**2)

    @property
    def mean_travel_time(self) -> float:
        """Of a job that goes to stations in proportion to their rates."""
        return mean_travel_time(self.stations)

    @property
    def pooled_wait(self) -> float:
        r"""The mean wait at one server of all the capacity, in heavy traffic.

            (c_a^2 + c_s^2)/2 load / ((1 - load) sum_k mu_k)

        Source: [P4], the benchmark of complete resource pooling; Kingman's formula.
        """
        system = self.stations
        variability = 0.5 * (system.arrivals.asymptotic_scv + service_scv(system))
        return variability * system.load / ((1.0 - system.load) * system.total_service_rate)

    @property
    def _what_is_proved(self) -> str:
        return (
            "within a range of chi the queues pool completely: their differences vanish on the "
            "scale 1/(1 - load), and waits are those of one server, see pooled_wait"
        )

    def stationary_start(self) -> NoReturn:
        """Refused: the stationary law is not known."""
        raise ValueError(
            "initial is 'stationary', whose law is not known with jobs on their way; start 'empty' "
            "with warmup='mser5'"
        )


def remote(
    service_rates: ArrayLike,
    load: float,
    travel_times: ArrayLike,
    chi: float | BalancingRule,
    *,
    service: Distribution | Sequence[Distribution] | None = None,
    base: Policy | None = None,
    origin_probs: ArrayLike | None = None,
    travel_law: Distribution | None = None,
    count_travelling: bool = False,
    information: Information | None = None,
) -> Remote:
    r"""Stations that jobs reach some time after they were routed: randomised JSQ.

    A job goes to station k with probability

        (1 - chi) mu_k / sum mu + chi 1{k is the shortest when it sets out} ,

    ties uniform, and reaches it d_k later.  With chi = 1 the queues oscillate and waits grow; with
    n^{-1/2} << chi << 1, n = (1 - load)^{-2}, the queues pool completely, best at the order
    n^{-1/4}, about sqrt(1 - load) or 1/sqrt(Lambda d).

    Arguments:
        service_rates: (K,) rates mu_k, finite and >= 0, not all 0.
        load: Lambda / sum mu, from 0 to below 1.
        travel_times: d; one for all, (K,) per station, or (origins, K).
        chi: the fraction that looks, from 0 to 1; or a rule: `RootOfExcess`,
            `ReciprocalRootOfDelay`, `DelayOptimum`.
        service: law of the service times (mean 1), or one per station; None: exponential.
        base: how the other jobs go; None: `RateProportional()`; `Nearest()` to plan with origins.
        origin_probs, travel_law, count_travelling, information: as in `System`.

    Returns:
        The regime.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P4].
    """
    remedy = "a load from 0 to below 1, which the capacity sum mu can carry"
    carried = check_nonnegative("load", load, remedy=remedy)
    if carried >= 1.0:
        raise ValueError(f"load is {load!r}; give {remedy}")
    capacity = System(service_rates, 0.0).total_service_rate
    if capacity == 0.0:
        raise ValueError(f"service_rates is {service_rates!r}, all 0; give a positive rate")
    if travel_times is None:
        raise ValueError("travel_times is None; give times >= 0, 0 for stations that are at hand")
    system = System(
        service_rates,
        carried * capacity,
        service=service,
        travel_times=travel_times,
        origin_probs=origin_probs,
        travel_law=travel_law,
        count_travelling=count_travelling,
        information=information,
    )
    return Remote(system, chi, RateProportional() if base is None else base)
