"""Refusing runs that no computer would ever finish, and that Ctrl-C could not stop."""

from __future__ import annotations

from ._engine import Engine
from ._paused import PausedSystem
from ._subject import Subject

# At 10 ns each they take three years.
_MOST_EVENTS = 2.0**53
# A leap spans at most so many arrivals and services of a server.
_LONGEST_LEAP = 4096.0


def bounded(engine: Engine, subject: Subject, horizon: float) -> Engine:
    """The engine, unless a replica has more events in that time than an engine can count.

    Raises: ValueError with the remedy.
    """
    count = _event_rate(engine, subject) * horizon
    if count > _MOST_EVENTS:
        raise ValueError(
            f"the horizon {horizon:.6g} has about {count:.3g} events in each replica, more than "
            "2^53; give a shorter horizon or earlier times"
        )
    return engine


def _event_rate(engine: Engine, subject: Subject) -> float:
    """Events, or leaps, per unit of time."""
    if isinstance(subject.system, PausedSystem):
        return float(subject.system.arrival_rates.sum() + subject.system.service_rates.sum())
    system, policy = subject.routed
    law = policy.law(system)
    if engine.name not in ("leap", "two_scale") or law is None:
        return system.arrival_rate + system.total_service_rate
    fastest = system.arrival_rate * law.by_server.max() + system.service_rates.max()
    return float(system.arrival_rate * law.by_rank.sum() + fastest / _LONGEST_LEAP)
