"""The calendar engine on one core against Ciw, on the same system with general laws.

Ten stations at load .9 under JSQ (the job in service counts), Erlang-2 interarrival times and
hyperexponential services of scv 4, all averages and histograms of waits kept; an event is an
arrival or a departure. Then a thousand stations, and ten with a travel time of 20 under randomised
JSQ.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

import queueing
from queueing._subject import resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

NUM_STATIONS = 10
LOAD = 0.9
SCV = 4.0


def _ciw(num_events: float) -> Callable[[], None]:
    """The same system in Ciw: a gate without service, whence jobs go to the shortest of all."""
    import ciw
    from ciw import dists

    prob = 0.5 * (1.0 + sqrt((SCV - 1.0) / (SCV + 1.0)))
    rate = LOAD * NUM_STATIONS
    service = dists.HyperExponential([2.0 * prob, 2.0 - 2.0 * prob], [prob, 1.0 - prob])
    stations = list(range(2, NUM_STATIONS + 2))
    network = ciw.create_network(
        arrival_distributions=[dists.Erlang(2.0 * rate, 2), *[None] * NUM_STATIONS],
        service_distributions=[dists.Deterministic(0.0), *[service] * NUM_STATIONS],
        number_of_servers=[float("inf"), *[1] * NUM_STATIONS],
        routing=ciw.routing.NetworkRouting(
            routers=[
                ciw.routing.LoadBalancing(destinations=stations),
                *[ciw.routing.Leave()] * NUM_STATIONS,
            ]
        ),
    )

    def run() -> None:
        ciw.seed(1)
        ciw.Simulation(network).simulate_until_max_time(num_events / (2.0 * rate))

    return run


def _calendar(num_stations: int, num_events: float, travels: bool = False) -> Callable[[], object]:
    rate = LOAD * num_stations
    system = queueing.System(
        np.ones(num_stations),
        rate,
        service=queueing.Hyperexponential(scv=SCV),
        arrivals=queueing.Erlang(2),
        travel_times=20.0 if travels else None,
    )
    looks = queueing.JSQ()
    policy = queueing.Marginal(looks, fraction=0.15) if travels else looks
    subject = resolve_subject(system, policy)
    run = start_run(subject, "calendar", np.ones(num_stations, np.int64), averages=True)
    return lambda: run.average(num_events / (2.0 * rate))


def _cases(quick: bool) -> list[Case]:
    peer = 4e3 if quick else 2e4
    own = 2e5 if quick else 2e6
    return [
        Case("Ciw, 10 stations", _ciw(peer), peer),
        Case("calendar, the same", _calendar(NUM_STATIONS, own), own, at_most=1.0 / 100.0),
        Case("calendar, 1000 stations", _calendar(1000, own), own, at_most=1.0 / 100.0),
        Case("calendar, travel", _calendar(NUM_STATIONS, own, True), own, at_most=1.0 / 100.0),
    ]


COMPARISON = Comparison(unit="event", cases=_cases)
