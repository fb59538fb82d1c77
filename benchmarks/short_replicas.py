"""Many short replicas on one core: what starting and looking at each costs beside its events.

Marginal JSQ (P0, a = 2, b = 1) at n = 16 from the stationary start, 512 events in a unit of time.
The baseline is the event loop in one long replica; then the same events in replicas of one unit
each, with their starts, seeds and observables: in blocks, as `simulate` runs them, and one by one.
"""

import numpy as np

import queueing
from atlas.ensemble import resolve_seed
from queueing._engine import ENGINES
from queueing._engine._base import OneByOne
from queueing._state_view import StateView
from queueing._subject import resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

_SIZE = 16
_MOST_RATIO = 8.0


def _cases(quick: bool) -> list[Case]:
    regime = queueing.extreme_congestion(n=_SIZE, a=2.0, b=1.0)
    subject = resolve_subject(regime, None)
    num_replicas = 200 if quick else 2000
    rate = regime.system.arrival_rate + regime.system.total_service_rate
    num_events = num_replicas * rate
    lengths = regime.initial_lengths("stationary", replicas=num_replicas, seed=1)
    long = start_run(subject, "markov", lengths[0])
    start = ENGINES["markov"].prepare(subject, None)
    view = StateView(5, False, 1, None, {})

    def in_blocks():
        queueing.simulate(
            regime,
            times=[1.0],
            initial="stationary",
            replicas=num_replicas,
            num_threads=1,
            seed=1,
            num_ranks=5,
            num_levels=1,
            engine="markov",
        )

    def one_by_one():
        runs = OneByOne(start, lengths, resolve_seed(1), range(num_replicas))
        for _, states in runs.states(np.ones(1)):
            view.of(states)

    in_blocks()
    return [
        Case("events of one long replica", lambda: long.advance(num_replicas), num_events),
        Case("short replicas, in blocks", in_blocks, num_events, at_most=_MOST_RATIO),
        Case("short replicas, one by one", one_by_one, num_events),
    ]


COMPARISON = Comparison(unit="event", cases=_cases)
