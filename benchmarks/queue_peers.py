"""Ten servers under join-the-shortest-queue at load .9: this project against Ciw and SimPy.

The peers' models are written here. Ciw's own JoinShortestQueue leaves out the job in service, so
its count is replaced by one that does not; SimPy has a process per customer and a Resource per
server. An event is an arrival or a departure that happens. Before anything is timed
each program has to give the exact mean number of jobs within its own error.
"""

import math
import random
from collections.abc import Callable

import numpy as np

import queueing
from queueing._subject import resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

NUM_SERVERS = 10
LOAD = 0.9
ARRIVAL_RATE = LOAD * NUM_SERVERS
# Time that is left out of the averages.
WARM_UP = 50.0


def ciw_mean(horizon: float, seed: int) -> float:
    """The mean number of jobs on [WARM_UP, horizon] by Ciw, from Little's law."""
    import ciw
    from ciw import dists, routing

    class ShortestWithService(routing.JoinShortestQueue):
        def get_queue_size(self, node_index):
            return self.simulation.nodes[node_index].number_of_individuals

    network = ciw.create_network(
        arrival_distributions=[dists.Exponential(ARRIVAL_RATE)] + [None] * NUM_SERVERS,
        service_distributions=[dists.Deterministic(0.0)] + [dists.Exponential(1.0)] * NUM_SERVERS,
        number_of_servers=[math.inf] + [1] * NUM_SERVERS,
        routing=routing.NetworkRouting(
            routers=[
                ShortestWithService(
                    destinations=list(range(2, NUM_SERVERS + 2)), tie_break="random"
                )
            ]
            + [routing.Leave()] * NUM_SERVERS
        ),
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(horizon)
    times = [
        record.exit_date - record.arrival_date
        for record in simulation.get_all_records()
        if record.node > 1 and record.arrival_date > WARM_UP
    ]
    return ARRIVAL_RATE * float(np.mean(times))


def simpy_mean(horizon: float, seed: int) -> float:
    """The same by SimPy: the time integral of the number of jobs."""
    import simpy

    generator = random.Random(seed)
    environment = simpy.Environment()
    servers = [simpy.Resource(environment) for _ in range(NUM_SERVERS)]
    lengths = [0] * NUM_SERVERS
    times: list[float] = []

    def customer():
        arrival = environment.now
        shortest = min(lengths)
        chosen = generator.choice([i for i, length in enumerate(lengths) if length == shortest])
        lengths[chosen] += 1
        with servers[chosen].request() as turn:
            yield turn
            yield environment.timeout(generator.expovariate(1.0))
        lengths[chosen] -= 1
        if arrival > WARM_UP:
            times.append(environment.now - arrival)

    def source():
        while True:
            yield environment.timeout(generator.expovariate(ARRIVAL_RATE))
            environment.process(customer())

    environment.process(source())
    environment.run(until=horizon)
    return ARRIVAL_RATE * float(np.mean(times))


def check_peers(horizon: float = 3000.0, seeds: int = 4) -> dict[str, tuple[float, float]]:
    """Mean number of jobs and its error by each program.

    Raises: RuntimeError if a peer differs from the event loop by more than 5 joint errors.
    """
    system = queueing.System(np.ones(NUM_SERVERS), ARRIVAL_RATE)
    run = queueing.long_run(system, queueing.JSQ(), horizon=1e5, replicas=8, seed=1, progress=False)
    own = run.estimate("total")
    found = {"queueing": (float(own.value), float(own.std_error))}
    peers: dict[str, Callable[[float, int], float]] = {"Ciw": ciw_mean, "SimPy": simpy_mean}
    for name, mean in peers.items():
        values = np.array([mean(horizon, seed) for seed in range(seeds)])
        found[name] = (float(values.mean()), float(values.std(ddof=1) / math.sqrt(seeds)))
        difference = abs(found[name][0] - float(own.value))
        if difference > 5.0 * math.hypot(found[name][1], float(own.std_error)):
            raise RuntimeError(f"{name} has mean {found[name]}, the event loop {own}")
    return found


def _cases(quick: bool) -> list[Case]:
    system = queueing.System(np.ones(NUM_SERVERS), ARRIVAL_RATE)
    check_peers(*((500.0, 3) if quick else (3000.0, 4)))
    subject = resolve_subject(system, queueing.JSQ())
    averaging = start_run(subject, "markov", np.full(NUM_SERVERS, 2), averages=True)
    num_events = 3e6
    duration = num_events / (2.0 * ARRIVAL_RATE)
    slow = 2e3 if quick else 2e4
    return [
        Case("event loop, all averages", lambda: averaging.average(duration), num_events),
        Case("Ciw", lambda: ciw_mean(slow / 18.0 + WARM_UP, 5), slow + 18 * WARM_UP, at_least=500),
        Case(
            "SimPy", lambda: simpy_mean(slow / 18.0 + WARM_UP, 5), slow + 18 * WARM_UP, at_least=50
        ),
    ]


COMPARISON = Comparison(unit="event", cases=_cases, rounds=5)
