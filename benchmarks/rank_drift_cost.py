"""Cost of mean gaps within 1 % under arbitrary rank drifts, at 128 particles, against diffrax.

Every rank has another drift, and neither rises nor falls with the rank. Each scheme runs at the
step at which the largest relative bias of its three lowest mean gaps is 1 % in stationarity, found
as in `cost_to_bias`, with 6 particles whose lowest gaps have the same law. Cost is time per
particle and unit of simulated time.

Against: Euler with projection in diffrax, driven by `VirtualBrownianTree`. Particles are sorted
after each step, so that the drift is a constant vector; ranks by two argsorts cost more.
"""

import jax.numpy as jnp
import numpy as np

import atlas

from ._diffrax_peer import brownian_tree, diffrax_euler
from ._harness import Case, Comparison
from .cost_to_bias import step_for_accuracy
from .rank_drifts import irregular_drifts

NUM_PARTICLES, FEW, VARIANCE = 128, 6, 2.0
STEPS_OF_DIFFRAX, REPLICAS_OF_DIFFRAX = 50, 64


def irregular_model(num_particles: int) -> atlas.RankDiffusion:
    """Irregular drifts, a floor; the gaps have the same laws for every number of particles."""
    drifts = irregular_drifts(num_particles)
    return atlas.first_order(drifts, np.full(num_particles, VARIANCE), floor=True)


def sorted_diffrax_euler(model: atlas.RankDiffusion, step: float, num_steps: int, replicas: int):
    """Ranked particles from the stationary law, sorted after each step of diffrax's Euler."""
    drifts = jnp.asarray(model.drifts, jnp.float32)
    return diffrax_euler(
        np.cumsum(atlas.stationary_gaps(model).sample(0, replicas), axis=1),
        drift=lambda positions: drifts,
        variance=VARIANCE,
        project=lambda positions: jnp.sort(jnp.maximum(positions, 0)),
        make_path=brownian_tree,
        horizon=1.01 * num_steps * step,
        step=step,
        num_steps=num_steps,
    )


def _cases(quick: bool) -> list[Case]:
    replicas = 40_000 if quick else 200_000
    few, model = irregular_model(FEW), irregular_model(NUM_PARTICLES)
    fine = step_for_accuracy(few, atlas.ProjectedEuler, [0.02, 0.01, 0.005], replicas // 2)
    coarse = step_for_accuracy(few, atlas.Splitting, [0.2, 0.14, 0.1], 4 * replicas)
    num_steps, batch = 100, 2048

    def splitting():
        return atlas.simulate(
            model,
            atlas.Splitting(step=coarse),
            horizon=num_steps * coarse,
            replicas=batch,
            key=0,
            num_ranks=4,
        )

    return [
        Case(
            f"atlas.Splitting, step {coarse:.3g}",
            splitting,
            NUM_PARTICLES * batch * num_steps * coarse,
        ),
        Case(
            f"diffrax Euler, VirtualBrownianTree, step {fine:.3g}",
            sorted_diffrax_euler(model, fine, STEPS_OF_DIFFRAX, REPLICAS_OF_DIFFRAX),
            NUM_PARTICLES * REPLICAS_OF_DIFFRAX * STEPS_OF_DIFFRAX * fine,
            at_least=1000,
        ),
    ]


COMPARISON = Comparison(unit="particle and unit of time within 1 %", cases=_cases, rounds=5)
