"""A million queues on one core: near queues leap, far ones wait, against the project's event loop.

Marginal JSQ (P0, a = 2, b = 1) from the stationary start: leaps on two scales at n = 10^6, charged
with the chain's events, about 2 n^2 per unit of time, against the event loop at n = 10^4, whose
table of lengths would not fit a larger system and which is no faster there. Then the two parts
alone against n: the near part, 64 queues, per arrival by rank, which should not depend on n; and
the far part per macro step, which should grow no faster than n.
"""

import numpy as np

import queueing
from queueing import JSQ, Marginal, Random, System
from queueing._engine._two_scale import TwoScaleEngine
from queueing._subject import Subject, resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

_LARGEST = 1_000_000
_FOR_EVENTS = 10_000
_SIZES = (1000, 10_000, 100_000, _LARGEST)
_NUM_NEAR = 64
_LEAST_RATIO = 1e6


def _start(subject: Subject, lengths: np.ndarray, macro_step: float | None = None):
    engine = TwoScaleEngine(macro_step=macro_step).configured(
        horizon=1e3, violation_budget=1e-9, num_threads=1
    )
    return engine.prepare(subject, None)(lengths, np.random.SeedSequence(1))


def _near_case(n: int) -> Case:
    """The shortest queues of a system of n servers, as if they were all."""
    num_arrivals = 3000.0
    duration = num_arrivals / np.sqrt(n)
    system = System(np.full(_NUM_NEAR, float(n)), _NUM_NEAR * (n - 2.0 / np.sqrt(n)) + np.sqrt(n))
    lengths = (np.arange(1, _NUM_NEAR + 1) * np.sqrt(n) / 2.0).astype(int)
    run = _start(resolve_subject(system, Marginal(JSQ(), rate=np.sqrt(n))), lengths, duration)
    name = f"near part, n = {n}, per arrival by rank"
    return Case(
        name,
        lambda: run.advance(duration),
        num_arrivals,
        series="near part, per arrival by rank",
        size=n,
    )


def _far_case(n: int) -> Case:
    """All servers of the same system, without arrivals by rank."""
    system = System(np.full(n, float(n)), n * n - 2.0 * np.sqrt(n))
    lengths = np.random.default_rng(1).integers(0, int(n**1.5), n)
    run = _start(resolve_subject(system, Random()), lengths, 1.0)
    num_steps = max(1, 100_000 // n)
    name = f"far part, n = {n}, per macro step"
    return Case(
        name, lambda: run.advance(num_steps), num_steps, series="far part, per macro step", size=n
    )


def _stationary(n: int) -> tuple[Subject, np.ndarray, float]:
    """Marginal JSQ, lengths by server, and the rate of events."""
    regime = queueing.extreme_congestion(n=n, a=2.0, b=1.0)
    lengths = regime.initial_lengths("stationary", replicas=1, seed=1)[0]
    rate = regime.system.arrival_rate + regime.system.total_service_rate
    return resolve_subject(regime, None), np.random.default_rng(1).permutation(lengths), rate


def _cases(quick: bool) -> list[Case]:
    num_events, duration = (3e5, 5.0) if quick else (3e6, 20.0)
    subject, lengths, event_rate = _stationary(_FOR_EVENTS)
    events = start_run(subject, "markov", lengths)
    subject, lengths, rate = _stationary(_LARGEST)
    both = _start(subject, lengths)
    return [
        Case(
            f"events, n = {_FOR_EVENTS}",
            lambda: events.advance(num_events / event_rate),
            num_events,
        ),
        Case(
            f"two scales, n = {_LARGEST}",
            lambda: both.advance(duration),
            duration * rate,
            at_most=1.0 / _LEAST_RATIO,
        ),
        *(_near_case(n) for n in _SIZES),
        *(_far_case(n) for n in _SIZES),
    ]


COMPARISON = Comparison(unit="event", cases=_cases)
