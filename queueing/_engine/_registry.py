"""The engines that exist, and the rule of "auto"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._base import Engine
from ._batched import BatchedEngine
from ._calendar import CalendarEngine
from ._classes import server_classes
from ._leap import LeapEngine
from ._markov import MarkovEngine
from ._pauses import PausesEngine
from ._two_scale import TwoScaleEngine

if TYPE_CHECKING:
    from .._subject import Subject

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        MarkovEngine(),
        LeapEngine(),
        TwoScaleEngine(),
        PausesEngine(),
        CalendarEngine(),
        BatchedEngine(),
    )
}

# Seconds, as measured; only their ratios matter.
_PER_EVENT = 10e-9
_PER_CLASS = 3e-6
_PER_QUEUE = 4e-9
# Leaping has to be so much cheaper, because events show more observables.
_ADVANTAGE = 4.0
# From so many servers on far queues, which need no leap at every arrival by rank, are most.
_MANY_SERVERS = 2_000
# A long run has up to a hundred windows, and so many events of each take 0.1 s.
_MOST_EVENTS = 1e7


def choose_engine(engine: Any, subject: Subject, window: float | None = None) -> Engine:
    """The engine of that name, or the one that "auto" stands for.

    "auto": "pauses" for a system with pauses; "leap" where it is at least four times cheaper than
    events, by (3 us per class of servers + 4 ns per server) against 10 ns per event between two
    special arrivals, and then "two_scale" from 2 000 servers on; "markov" if lengths alone are a
    Markov chain; else "calendar".  Windows of averages that hold too few arrivals by rank for
    leaps, but at most 1e7 events, are left to "markov".

    Arguments:
        engine: a name, or "auto".
        subject: what is simulated.
        window: the length of the windows to average over; None without averages.
    Raises: ValueError if the name is unknown, listing the engines, or if the engine refuses.
    """
    if isinstance(engine, str) and engine == "auto":
        chosen = _cheapest(subject)
        return chosen if window is None else _for_windows(chosen, subject, window)
    if not isinstance(engine, str) or engine not in ENGINES:
        known = ", ".join(repr(name) for name in ("auto", *ENGINES))
        raise ValueError(f"engine is {engine!r}; give one of {known}")
    refusal = ENGINES[engine].refusal(subject)
    if refusal is not None:
        raise ValueError(f"engine {engine!r} cannot simulate this: {refusal}")
    _check_window(ENGINES[engine], subject, window)
    return ENGINES[engine]


def _check_window(engine: Engine, subject: Subject, window: float | None) -> None:
    refusal = None if window is None else engine.window_refusal(subject, window)
    if refusal is not None:
        raise ValueError(refusal)


def _for_windows(chosen: Engine, subject: Subject, window: float) -> Engine:
    """The engine chosen by its cost, or "markov" for windows that are too short for it."""
    if chosen.window_refusal(subject, window) is not None:
        system, _ = subject.routed
        events = window * (system.arrival_rate + system.total_service_rate)
        markov = ENGINES["markov"]
        if events <= _MOST_EVENTS and markov.refusal(subject) is None:
            return markov
    _check_window(chosen, subject, window)
    return chosen


def _cheapest(subject: Subject) -> Engine:
    if subject.policy is None:
        return ENGINES["pauses"]
    if ENGINES["leap"].refusal(subject) is None and _leap_advantage(subject) >= _ADVANTAGE:
        is_large = subject.num_servers >= _MANY_SERVERS
        is_served = is_large and ENGINES["two_scale"].refusal(subject) is None
        return ENGINES["two_scale" if is_served else "leap"]
    return ENGINES["markov" if ENGINES["markov"].refusal(subject) is None else "calendar"]


def _leap_advantage(subject: Subject) -> float:
    """Time of the events between two special arrivals over the time of one leap."""
    system, policy = subject.routed
    law = policy.law(system)
    assert law is not None
    special_rate = system.arrival_rate * float(law.by_rank.sum())
    if special_rate == 0.0:
        return 0.0
    num_events = (system.arrival_rate + system.total_service_rate) / special_rate
    num_classes = len(server_classes(law.by_server, system.service_rates)[0])
    leap = _PER_CLASS * num_classes + _PER_QUEUE * system.num_servers
    return _PER_EVENT * num_events / leap
