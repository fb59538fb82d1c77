"""Cost of one unit of time against the number of servers and particles, 10^2 to 10^6, one core.

Marginal JSQ in extreme congestion from its stationary start, event by event, by leaps and
by leaps on two scales; the reflected Atlas diffusion at step .02 by splitting and by splitting on
two scales. A system's unit of time has about 2 n^2 events, and 50 steps of N particles; the fitted
exponents say how each engine's cost grows with it. The event loop stops at 10^4 servers and plain
splitting at 10^5 particles, where one run takes seconds.
"""

from collections.abc import Callable

import numpy as np

import atlas
import queueing
from atlas._two_scale_chunk import MANY_PARTICLES
from queueing._subject import resolve_subject

from ._harness import Case, Comparison
from .queue_engines import start_run

STEP = 0.02

# Units of time that take a good part of a second each, by size.
_HORIZONS: dict[str, dict[int, float]] = {
    "markov": {10**2: 200.0, 10**3: 4.0, 10**4: 0.04},
    "leap": {10**2: 1e4, 10**3: 1e3, 10**4: 100.0, 10**5: 5.0, 10**6: 0.1},
    "two_scale": {10**2: 1e4, 10**3: 2e3, 10**4: 400.0, 10**5: 80.0, 10**6: 10.0},
    "Splitting": {10**2: 1e3, 10**3: 100.0, 10**4: 5.0, 10**5: 0.4},
    "TwoScaleSplitting": {10**2: 500.0, 10**3: 50.0, 10**4: 500.0, 10**5: 500.0, 10**6: 800.0},
}
_NAMES = {
    "markov": "queues, event by event",
    "leap": "queues, leaps",
    "two_scale": "queues, two scales",
    "Splitting": "diffusion, splitting",
    "TwoScaleSplitting": "diffusion, two scales",
}


def _queues(num_servers: int, engine: str, horizon: float) -> Callable[[], object]:
    regime = queueing.extreme_congestion(n=num_servers, a=2.0, b=1.0)
    lengths = regime.initial_lengths("stationary", replicas=1, seed=1)[0]
    run = start_run(resolve_subject(regime, None), engine, lengths)
    return lambda: run.advance(horizon)


def _diffusion(
    num_particles: int, scheme: str, horizon: float, replicas: int
) -> Callable[[], object]:
    model = atlas.reflected_atlas(num_particles, a=2.0, b=1.0)
    positions = np.cumsum(atlas.stationary_gaps(model).mean)

    def run():
        return atlas.simulate(
            model,
            getattr(atlas, scheme)(step=STEP),
            horizon=horizon,
            initial=positions,
            replicas=replicas,
            num_ranks=5,
            num_threads=1,
            key=0,
        )

    return run


def _cases(quick: bool) -> list[Case]:
    cases = []
    for kind, horizons in _HORIZONS.items():
        for size, horizon in list(horizons.items())[: 3 if quick else None]:
            length = horizon / 10 if quick else horizon
            # Splitting fills the lanes of a processor with replicas, on two scales with particles.
            replicas = 1
            if kind.endswith("Splitting"):
                replicas = 16 if kind == "Splitting" or size < MANY_PARTICLES else 1
                run = _diffusion(size, kind, length, replicas)
            else:
                run = _queues(size, kind, length)
            power = round(np.log10(size))
            cases.append(
                Case(
                    f"{_NAMES[kind]}, 10^{power}",
                    run,
                    length * replicas,
                    series=_NAMES[kind],
                    size=size,
                )
            )
    return cases


COMPARISON = Comparison(unit="unit of time of one system", cases=_cases, rounds=3)
