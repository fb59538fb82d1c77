"""The parallel servers, their common arrivals and their waiting rooms, as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrivals import ArrivalProcess, Poisson, Renewal, resolve_arrivals
from ._checks import check_integer, check_nonnegative, check_vector
from ._distribution import Distribution, Exponential, check_law
from ._information import Information, checked_information
from ._travel import checked_origin_probs, checked_travel_times

_RATES = "one finite rate >= 0 per server, such as [1.0, 0.5]"
_ARRIVALS = "a finite number >= 0, jobs per unit of time"


@dataclass(frozen=True, eq=False, init=False)
class System:
    r"""Parallel servers, each with its own queue in order of arrival, and one stream of jobs.

    Jobs arrive at total rate `arrival_rate`; a policy sends each to a server on arrival.  Server i
    works at rate `service_rates[i]`: a service takes S / mu_i, S of the law `service` (mean 1).
    With a `buffer` B a server holds at most B jobs, the one in service included, and a job that
    finds its server full is lost.  The load is

        load = arrival_rate / sum_i mu_i .

    With `travel_times` a job reaches its server so much later than it was routed, and is lost
    there if it is then full.  A server of rate 0 is legal: its jobs never leave, so that a
    stationary law may not exist.

    Arguments:
        service_rates: (K,) rates per unit of time, finite and >= 0; all 0 only without arrivals.
        arrival_rate: jobs per unit of time for the whole system, finite and >= 0.
        service: law of a service time, mean 1, or a sequence of one law per server; None:
            exponential.
        buffer: most jobs at a server, in service included, or None for no limit.
        travel_times: None, jobs reach their server at once; or times >= 0: one for all, one per
            server (K,), or one row per origin (origins, K).
        arrivals: an `ArrivalProcess` of rate 1, which `arrival_rate` scales, or a law of mean 1,
            which is that of the interarrival times; None: Poisson.
        origin_probs: (origins,) law of a job's origin, a row of `travel_times`; None: uniform.
        travel_law: law of mean 1 that multiplies the travel time of each job; None: constant times.
        count_travelling: whether the lengths that a policy sees count the jobs on their way.
        information: `Refreshed(period)` or `Delayed(delay)`, the lengths that a policy sees; None:
            the present ones.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: travel and origins [P4].
    """

    service_rates: np.ndarray
    arrival_rate: float
    service: Distribution | tuple[Distribution, ...]
    buffer: int | None
    travel_times: np.ndarray | None
    arrivals: ArrivalProcess
    origin_probs: np.ndarray | None
    travel_law: Distribution | None
    count_travelling: bool
    information: Information | None

    def __init__(
        self,
        service_rates: ArrayLike,
        arrival_rate: float,
        service: Distribution | Sequence[Distribution] | None = None,
        buffer: int | None = None,
        travel_times: ArrayLike | None = None,
        arrivals: ArrivalProcess | Distribution | None = None,
        *,
        origin_probs: ArrayLike | None = None,
        travel_law: Distribution | None = None,
        count_travelling: bool = False,
        information: Information | None = None,
    ) -> None:
        set_field = partial(object.__setattr__, self)
        set_field("service_rates", check_vector("service_rates", service_rates, remedy=_RATES))
        set_field("arrival_rate", check_nonnegative("arrival_rate", arrival_rate, remedy=_ARRIVALS))
        set_field("service", _checked_service(service, self.num_servers))
        set_field("buffer", _checked_buffer(buffer))
        set_field("travel_times", checked_travel_times(travel_times, self.num_servers))
        set_field("arrivals", resolve_arrivals(arrivals))
        set_field("origin_probs", checked_origin_probs(origin_probs, self.travel_times))
        set_field("travel_law", self._checked_travel_law(travel_law))
        set_field("count_travelling", self._checked_switch(count_travelling))
        set_field("information", checked_information(information))
        if not np.isfinite(self.total_service_rate):
            raise ValueError("service_rates sum to inf; give rates in a larger unit of time")
        if self.arrival_rate > 0.0 and not self.service_rates.any():
            raise ValueError(
                f"service_rates are all 0 with arrival_rate = {arrival_rate}; "
                "give at least one positive service rate, or arrival_rate=0"
            )

    @property
    def num_servers(self) -> int:
        """The number K of servers."""
        return self.service_rates.size

    @property
    def num_origins(self) -> int:
        """The number of places that jobs come from, 1 without travel."""
        return 1 if self.travel_times is None else len(self.travel_times)

    @cached_property
    def total_service_rate(self) -> float:
        """The capacity sum_i mu_i, jobs per unit of time."""
        with np.errstate(over="ignore"):
            return float(self.service_rates.sum())

    @property
    def load(self) -> float:
        """Arrival rate over capacity; 0 when both are 0."""
        return self.arrival_rate / self.total_service_rate if self.arrival_rate > 0.0 else 0.0

    @property
    def laws(self) -> tuple[Distribution, ...]:
        """(K,) the law of the service times, mean 1, of each server."""
        if isinstance(self.service, tuple):
            return self.service
        return (self.service,) * self.num_servers

    @cached_property
    def is_exchangeable(self) -> bool:
        """Whether all servers are alike, so that ranked lengths say all that lengths do."""
        same_rate = bool(np.all(self.service_rates == self.service_rates[0]))
        same_way = self.travel_times is None or bool(np.ptp(self.travel_times, axis=1).max() == 0.0)
        return same_rate and same_way and not isinstance(self.service, tuple)

    @property
    def is_markov(self) -> bool:
        """Whether the lengths alone form a Markov process, see `beyond_lengths`."""
        return self.beyond_lengths is None

    @property
    def beyond_lengths(self) -> str | None:
        """What the future depends on beside the present lengths, with the remedy; None: nothing."""
        if not isinstance(self.service, Exponential):
            return f"service is {self.service!r}; give service=Exponential()"
        poisson = (Poisson(), Renewal(Exponential()))
        if self.arrivals not in poisson:
            return f"arrivals is {self.arrivals!r}; give arrivals=None, a Poisson stream"
        if self.travel_times is not None:
            return (
                "travel_times is given, and jobs on their way are no part of the lengths; give None"
            )
        if self.information is not None:
            return f"information is {self.information!r}; give None, the present lengths"
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, System):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
        )

    def __hash__(self) -> int:
        times = None if self.travel_times is None else self.travel_times.tobytes()
        return hash(
            (self.service_rates.tobytes(), self.arrival_rate, self.service, self.buffer, times)
        )

    def _checked_travel_law(self, law: Any) -> Distribution | None:
        if law is None:
            return None
        if not isinstance(law, Distribution):
            raise ValueError(
                f"travel_law is {law!r}; give a law of mean 1 (an instance, not the class), or None"
            )
        if self.travel_times is None:
            raise ValueError(f"travel_law is {law!r} without travel_times, which it multiplies")
        return law

    def _checked_switch(self, count_travelling: Any) -> bool:
        if not isinstance(count_travelling, bool):
            raise ValueError(f"count_travelling is {count_travelling!r}; give True or False")
        if count_travelling and self.travel_times is None:
            raise ValueError(
                "count_travelling is True without travel_times; nobody is on the way: give "
                "travel_times, or False"
            )
        return count_travelling


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    return bool(one == other)


def _checked_service(service: Any, num_servers: int) -> Distribution | tuple[Distribution, ...]:
    """One law, or a tuple of one per server where they are not all the same."""
    if service is None:
        return Exponential()
    remedy = "a law of mean 1, such as Exponential() (an instance, not the class)"
    if isinstance(service, Distribution):
        check_law("service", service, remedy=remedy)
        return service
    if isinstance(service, str | type) or not isinstance(service, Sequence):
        raise ValueError(f"service is {service!r}; give {remedy}, or one per server")
    for server, law in enumerate(service):
        if not isinstance(law, Distribution):
            raise ValueError(f"service[{server}] is {law!r}; give {remedy}")
        check_law(f"service[{server}]", law, remedy=remedy)
    if len(service) != num_servers:
        raise ValueError(
            f"service has {len(service)} laws for {num_servers} servers; give one law for all, or "
            "one per server"
        )
    return service[0] if all(law == service[0] for law in service) else tuple(service)


def _checked_buffer(buffer: int | None) -> int | None:
    if buffer is None:
        return None
    remedy = "an int >= 1 (the job in service counts), or None"
    return check_integer("buffer", buffer, minimum=1, remedy=remedy)
