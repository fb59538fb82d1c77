"""A million particles: splitting on two scales against plain splitting at the same step.

The baseline makes every step of every particle, 16 replicas at a time, as many as fill the lanes of
a processor; the two-scale scheme makes them at the ends of the system only, where the rank drifts
act. Both run in float64, which positions up to 5e5 need, start from the same positions in
stationarity, and solve the same equations to the same bias: the law of a path differs by less than
the violation bound, 1e-9.
"""

import numpy as np

import atlas

from ._harness import Case, Comparison

STEP, REPLICAS = 0.02, 16


def _positions(num_particles: int) -> np.ndarray:
    """Ranked positions in the mean of the stationary law."""
    law = atlas.stationary_gaps(atlas.reflected_atlas(num_particles, a=2.0, b=1.0))
    return np.cumsum(law.mean)


def splitting_case(num_particles: int, scheme, horizon: float, replicas: int, **bounds) -> Case:
    """`scheme` over `horizon`; work is counted in units of time of one system."""
    model = atlas.reflected_atlas(num_particles, a=2.0, b=1.0)
    positions = _positions(num_particles)

    def run():
        return atlas.simulate(
            model,
            scheme,
            horizon=horizon,
            initial=positions,
            replicas=replicas,
            key=0,
            num_ranks=4,
            dtype="float64",
            num_threads=1,
        )

    name = f"{type(scheme).__name__}, N = {num_particles:.0e}".replace("e+0", "e")
    return Case(name, run, horizon * replicas, **bounds)


def _cases(quick: bool) -> list[Case]:
    num_particles = 100_000 if quick else 1_000_000
    plain = atlas.Splitting(step=STEP)
    fast = atlas.TwoScaleSplitting(step=STEP)
    bounds = {} if quick else {"at_most": 1 / 100}
    return [
        splitting_case(num_particles, plain, 5 * STEP if quick else 25 * STEP, REPLICAS),
        splitting_case(num_particles, fast, 200.0 if quick else 400.0, 1, **bounds),
    ]


COMPARISON = Comparison(unit="unit of time of one system", cases=_cases, rounds=3)
