"""A full step of each scheme against the noise alone: 128 particles x 1024 replicas, two cores.

The baseline draws a normal for each particle and step and does nothing else; a scheme draws the
same number of normals, moves the particles by rank and reflects them at the floor, through
`atlas.simulate` with all that it does before and after.
"""

import atlas

from ._harness import Case, Comparison
from ._noise_alone import noise_alone

NUM_PARTICLES, NUM_REPLICAS, STEP = 128, 1024, 0.02


def _cases(quick: bool) -> list[Case]:
    num_steps = 600 if quick else 1000
    model = atlas.reflected_atlas(NUM_PARTICLES, a=2.0, b=1.0)
    work = float(NUM_PARTICLES * NUM_REPLICAS * num_steps)

    def run(scheme):
        return atlas.simulate(
            model, scheme, horizon=num_steps * STEP, replicas=NUM_REPLICAS, key=0, num_ranks=4
        )

    noise = Case(
        "jax.random.normal (philox4x32) alone",
        noise_alone(NUM_PARTICLES, NUM_REPLICAS, num_steps),
        work,
    )
    bounds = {"Splitting": 1.5}
    return [noise] + [
        Case(
            f"{scheme.__name__}, full step",
            lambda scheme=scheme: run(scheme(step=STEP)),
            work,
            at_most=bounds.get(scheme.__name__, float("inf")),
        )
        for scheme in atlas.SCHEMES
    ]


COMPARISON = Comparison(unit="particle step", cases=_cases)
