"""A full step with arbitrary rank drifts against the noise alone: 8, 32, 128 particles, two cores.

Every rank has another drift, and neither rises nor falls with the rank, so nothing but sorting and
isotonic regression moves the particles exactly. The baseline draws a normal for each particle and
step and does nothing else; `atlas.Splitting` runs through `atlas.simulate` with all that it does
before and after. Each number of particles is compared with the noise of its own shape.
"""

import numpy as np

import atlas

from ._harness import Case, Comparison
from ._noise_alone import noise_alone

NUM_PARTICLES, NUM_REPLICAS, STEP = (8, 32, 128), 1024, 0.02
AT_MOST = 3.0


def irregular_drifts(num_particles: int) -> np.ndarray:
    """Rank drifts under which the gaps have rates between 1.5 and 2.5, irregularly."""
    rates = 2 + 0.5 * np.sin(np.arange(num_particles + 1.0) ** 2)
    rates[-1] = 0
    return np.diff(rates)


def _full_step(num_particles: int, num_steps: int):
    model = atlas.first_order(
        irregular_drifts(num_particles), np.full(num_particles, 2.0), floor=True
    )
    scheme = atlas.Splitting(step=STEP)

    def run():
        return atlas.simulate(
            model, scheme, horizon=num_steps * STEP, replicas=NUM_REPLICAS, key=0, num_ranks=4
        )

    return run


def _cases(quick: bool) -> list[Case]:
    cases = []
    base = 128 * (60 if quick else 600)
    for num_particles in reversed(NUM_PARTICLES):
        num_steps = base // num_particles
        work = float(num_particles * NUM_REPLICAS * num_steps)
        noise = noise_alone(num_particles, NUM_REPLICAS, num_steps)
        cases.append(Case(f"jax.random.normal (philox4x32), {num_particles} x 1024", noise, work))
        step = _full_step(num_particles, num_steps)
        name = f"Splitting, {num_particles} particles, full step"
        cases.append(Case(name, step, work, at_most=AT_MOST))
    return cases


COMPARISON = Comparison(unit="particle step", cases=_cases)
