"""The parallel servers, their common arrivals and their waiting rooms, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_integer, check_nonnegative, check_vector
from ._distribution import Distribution, Exponential

_RATES = "one finite rate >= 0 per server, such as [1.0, 0.5]"
_ARRIVALS = "a finite number >= 0, jobs per unit of time"


@dataclass(frozen=True, eq=False, init=False)
class System:
    r"""Parallel servers, each with its own queue in order of arrival, and one Poisson stream.

    Jobs arrive at total rate `arrival_rate`; a policy sends each to a server on arrival.  Server i
    works at rate `service_rates[i]`: a service takes S / mu_i, S of the law `service` (mean 1).
    With a `buffer` B a server holds at most B jobs, the one in service included, and a job that is
    sent to a full server is lost.  The load is

        load = arrival_rate / sum_i mu_i .

    A server of rate 0 is legal: its jobs never leave, so that a stationary law may not exist.

    Arguments:
        service_rates: (K,) rates per unit of time, finite and >= 0; all 0 only without arrivals.
        arrival_rate: jobs per unit of time for the whole system, finite and >= 0.
        service: law of a service time, mean 1; None: exponential.
        buffer: most jobs at a server, in service included, or None for no limit.
        travel_times: None; jobs reach their server at once.

    Raises:
        ValueError: naming the argument, its value and the remedy.
    """

    service_rates: np.ndarray
    arrival_rate: float
    service: Distribution
    buffer: int | None
    travel_times: None

    def __init__(
        self,
        service_rates: ArrayLike,
        arrival_rate: float,
        service: Distribution | None = None,
        buffer: int | None = None,
        travel_times: None = None,
    ) -> None:
        set_field = partial(object.__setattr__, self)
        set_field("service_rates", check_vector("service_rates", service_rates, remedy=_RATES))
        set_field("arrival_rate", check_nonnegative("arrival_rate", arrival_rate, remedy=_ARRIVALS))
        set_field("service", _checked_service(service))
        set_field("buffer", _checked_buffer(buffer))
        set_field("travel_times", None)
        if self.arrival_rate > 0.0 and not self.service_rates.any():
            raise ValueError(
                f"service_rates are all 0 with arrival_rate = {arrival_rate}; "
                "give at least one positive service rate, or arrival_rate=0"
            )
        if travel_times is not None:
            raise ValueError(
                f"travel_times is {travel_times!r}; only None is supported: "
                "every job reaches its server at once"
            )

    @property
    def num_servers(self) -> int:
        """The number K of servers."""
        return self.service_rates.size

    @cached_property
    def total_service_rate(self) -> float:
        """The capacity sum_i mu_i, jobs per unit of time."""
        return float(self.service_rates.sum())

    @property
    def load(self) -> float:
        """Arrival rate over capacity; 0 when both are 0."""
        return self.arrival_rate / self.total_service_rate if self.arrival_rate > 0.0 else 0.0

    @cached_property
    def is_exchangeable(self) -> bool:
        """Whether all servers work at the same rate, so that the ranked lengths are Markov."""
        return bool(np.all(self.service_rates == self.service_rates[0]))

    @property
    def is_markov(self) -> bool:
        """Whether the lengths alone form a Markov process: exponential services, no travel."""
        return isinstance(self.service, Exponential) and self.travel_times is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, System):
            return NotImplemented
        return np.array_equal(self.service_rates, other.service_rates) and all(
            getattr(self, field.name) == getattr(other, field.name)
            for field in fields(self)
            if field.name != "service_rates"
        )

    def __hash__(self) -> int:
        return hash((self.service_rates.tobytes(), self.arrival_rate, self.service, self.buffer))


def _checked_service(service: Distribution | None) -> Distribution:
    if service is None:
        return Exponential()
    if not isinstance(service, Distribution):
        raise ValueError(
            f"service is {service!r}; give a law of mean 1, such as Exponential() "
            "(an instance, not the class)"
        )
    return service


def _checked_buffer(buffer: int | None) -> int | None:
    if buffer is None:
        return None
    remedy = "an int >= 1 (the job in service counts), or None"
    return check_integer("buffer", buffer, minimum=1, remedy=remedy)
