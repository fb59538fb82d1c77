"""Join the fastest of the shortest among 10^5 servers, one core: the cost of an event.

P2's regime at alpha = 1/2, buffer 5, from one job at each server. The baseline is the plain event
loop on two classes of servers; the other cases have all averages and the law of waits, and as many
speeds as servers. An event is an arrival or a departure that happens.
"""

import numpy as np

import queueing
from queueing._subject import resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

NUM_SERVERS = 100_000


def _cases(quick: bool) -> list[Case]:
    num_events = 1e6 if quick else 1e7
    cases = []
    for profile in ("two_classes", "linear", "few_fast", "homogeneous"):
        regime = queueing.zero_waiting(NUM_SERVERS, 0.5, profile, buffer=5)
        subject = resolve_subject(regime, None)
        duration = num_events / (2.0 * regime.system.arrival_rate)
        lengths = np.ones(NUM_SERVERS, np.int64)
        plain = start_run(subject, "markov", lengths)
        averaging = start_run(subject, "markov", lengths, averages=True)
        cases += [
            Case(f"{profile}", lambda run=plain, d=duration: run.advance(d), num_events),
            Case(
                f"{profile}, averages and waits",
                lambda run=averaging, d=duration: run.average(d),
                num_events,
            ),
        ]
    return cases


COMPARISON = Comparison(unit="event", cases=_cases, rounds=5)
