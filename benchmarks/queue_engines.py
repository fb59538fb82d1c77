"""Queue engines on one core, 1000 servers: leaping against events, and what exact averages cost.

The baseline is the project's own event loop on marginal JSQ (P0, a = 2, b = 1) from the stationary
start. Leaping is charged with the same events, which it leaps over; JSQ at load .99 with its real
events, without averages and with exact time averages of all ranks and servers.
"""

import numpy as np

import queueing
from queueing._engine import ENGINES
from queueing._sampling_plan import SamplingPlan
from queueing._subject import Subject, resolve_subject

from ._harness import Case, Comparison

NUM_SERVERS = 1000


def start_run(subject: Subject, engine: str, lengths: np.ndarray, averages: bool = False):
    """A replica of `subject` on one engine, compiled and ready."""
    plan = SamplingPlan(subject.num_servers, True, 32, subject.streams, {}) if averages else None
    run = ENGINES[engine].prepare(subject, plan)(lengths, np.random.SeedSequence(1))
    run.advance(1e-9)
    return run


def events_and_leaps(n: int, quick: bool, at_most: float) -> list[Case]:
    """Marginal JSQ from the stationary start: events, then leaps over as many."""
    regime = queueing.extreme_congestion(n=n, a=2.0, b=1.0)
    subject = resolve_subject(regime, None)
    lengths = regime.initial_lengths("stationary", replicas=1, seed=1)[0]
    num_events = 3e5 if quick else 3e6
    rate = regime.system.arrival_rate + regime.system.total_service_rate
    duration = num_events / rate
    events = start_run(subject, "markov", lengths)
    leaps = start_run(subject, "leap", lengths)
    # Leaps are so much shorter that they need a longer time to be measured.
    longer = 100.0
    return [
        Case(f"events, n = {n}", lambda: events.advance(duration), num_events),
        Case(
            f"leaps over events, n = {n}",
            lambda: leaps.advance(longer * duration),
            longer * num_events,
            at_most=at_most,
        ),
    ]


def _cases(quick: bool) -> list[Case]:
    load = 0.99
    system = queueing.System(np.ones(NUM_SERVERS), load * NUM_SERVERS)
    subject = resolve_subject(system, queueing.JSQ())
    num_events = 3e5 if quick else 3e6
    duration = num_events / (2.0 * load * NUM_SERVERS)
    filled = np.full(NUM_SERVERS, 2)
    plain = start_run(subject, "markov", filled)
    averaging = start_run(subject, "markov", filled, averages=True)
    return [
        *events_and_leaps(NUM_SERVERS, quick, at_most=1.0 / 100.0),
        Case("JSQ, events", lambda: plain.advance(duration), num_events),
        Case("JSQ, events, all averages", lambda: averaging.average(duration), num_events),
    ]


COMPARISON = Comparison(unit="event", cases=_cases)
