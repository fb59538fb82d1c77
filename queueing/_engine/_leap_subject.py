"""What leaping engines make of a system: a thin stream by rank, and classes of servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._alias import alias_table
from ._classes import server_classes
from ._leap_loop import LeapSystem

if TYPE_CHECKING:
    from .._policy import RoutingLaw
    from .._subject import Subject


@dataclass(frozen=True, eq=False)
class LeapSubject:
    """What all replicas have in common.

    Attributes:
        leap_system: rates and classes, for compiled code.
        servers: (K,) the servers in the order of their classes.
        law: how jobs are routed.
        service_rates: (K,) by server.
    """

    leap_system: LeapSystem
    servers: np.ndarray
    law: RoutingLaw
    service_rates: np.ndarray

    def by_class(self, lengths: np.ndarray) -> np.ndarray:
        """A copy of lengths (..., K) by server, int64, in the order of the classes."""
        if self.leap_system.arrival_rates.size == 1:
            return np.array(lengths, np.int64, order="C")
        return np.take(lengths, self.servers, axis=-1).astype(np.int64, copy=False)

    def by_name(self, by_class: np.ndarray) -> np.ndarray:
        """A copy of values (..., K) by class of servers, in the order of the servers' names."""
        if self.leap_system.arrival_rates.size == 1:
            return by_class.copy()
        by_name = np.empty_like(by_class)
        by_name[..., self.servers] = by_class
        return by_name

    def job_sums(
        self, num_looks: float, ranks: np.ndarray, by_server: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Jobs are not seen one by one: for every look, one job as it would have fared (PASTA).

        Arguments:
            num_looks: looks at the state.
            ranks, by_server: (2, K) mean lengths, and shares of looks that found them positive.
        """
        law, rates = self.law, self.service_rates
        jobs = np.float64(num_looks)
        sums = {
            "accepted": jobs,
            "lost": np.float64(0.0),
            "waited": jobs * (law.by_rank @ ranks[1] + law.by_server @ by_server[1]),
        }
        if (rates == rates[0]).all() and rates[0] > 0.0:
            found = law.by_rank @ ranks[0] + law.by_server @ by_server[0]
            sums["wait"] = jobs * found / rates[0]
            sums["service"] = jobs / rates[0]
        return sums


def leap_subject(subject: Subject) -> LeapSubject:
    """The subject of a leaping engine that does not refuse it."""
    system, law = subject.routed[0], routing_law(subject)
    rates, servers, bounds = classes_of(subject)
    leap_system = LeapSystem(
        special_rate(subject),
        *alias_table(law.by_rank[: top_rank(subject)]),
        bounds,
        np.ascontiguousarray(rates[:, 0]),
        np.ascontiguousarray(rates[:, 1]),
        float(rates.max()),
    )
    return LeapSubject(leap_system, servers, law, system.service_rates)


def classes_of(subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates (C, 2), servers and bounds of the classes of servers; see `server_classes`."""
    system, law = subject.routed[0], routing_law(subject)
    return server_classes(system.arrival_rate * law.by_server, system.service_rates)


def routing_law(subject: Subject) -> RoutingLaw:
    """The routing law of a policy that has one."""
    system, policy = subject.routed
    law = policy.law(system)
    assert law is not None
    return law


def special_rate(subject: Subject) -> float:
    """The rate of the stream that is routed by rank."""
    return subject.routed[0].arrival_rate * float(routing_law(subject).by_rank.sum())


def top_rank(subject: Subject) -> int:
    """The highest rank that a special arrival may join, 0 without any."""
    by_rank = routing_law(subject).by_rank
    return int(np.flatnonzero(by_rank)[-1]) + 1 if by_rank.any() else 0


def leap_refusal(subject: Subject) -> str | None:
    """Why queues cannot be leapt over between special arrivals, with the remedy; None if they can.

    Buffers, other services, and policies that look at the state otherwise.
    """
    if subject.policy is None:
        return "a system with pauses has no special stream; use engine='pauses'"
    system, policy = subject.routed
    if not system.is_markov:
        return f"{system.beyond_lengths}, or use engine='calendar'"
    if system.buffer is not None:
        return f"buffer is {system.buffer}, felt between special arrivals; use engine='markov'"
    if policy.law(system) is None:
        return f"{policy!r} does not route by ranks; use engine='markov'"
    return None
