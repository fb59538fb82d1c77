"""Cost of mean gaps within 1 % under arbitrary rank drifts, at 128 particles, against diffrax.

Every rank has another drift, and neither rises nor falls with the rank. Each scheme runs at the
step at which the largest relative bias of its three lowest mean gaps is 1 % in stationarity, found
as in `cost_to_bias`, with 6 particles whose lowest gaps have the same law. Cost is time per
particle and unit of simulated time.

Against: Euler with projection in diffrax, driven by `VirtualBrownianTree`. Particles are sorted
after each step, so that the drift is a constant vector; ranks by two argsorts cost more.
"""

import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np

import atlas

from ._harness import Case, Comparison
from .cost_to_bias import step_for_accuracy
from .rank_drifts import irregular_drifts

NUM_PARTICLES, FEW, VARIANCE = 128, 6, 2.0
STEPS_OF_DIFFRAX, REPLICAS_OF_DIFFRAX = 50, 64


def irregular_model(num_particles: int) -> atlas.RankDiffusion:
    """Irregular drifts, a floor; the gaps have the same laws for every number of particles."""
    drifts = irregular_drifts(num_particles)
    return atlas.first_order(drifts, np.full(num_particles, VARIANCE), floor=True)


class SortedProjectedEuler(diffrax.Euler):
    """diffrax's Euler for ranked particles, its result projected to the floor and sorted."""

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        y1, *rest = super().step(terms, t0, t1, y0, args, solver_state, made_jump)
        return jnp.sort(jnp.maximum(y1, 0)), *rest


def diffrax_euler(model: atlas.RankDiffusion, step: float, num_steps: int, replicas: int):
    """A run from the stationary law that returns the ranked particles at its end."""
    count = model.num_particles
    drifts = jnp.asarray(model.drifts, jnp.float32)
    scales = jnp.full(count, np.sqrt(VARIANCE), jnp.float32)

    def solve(start, key):
        path = diffrax.VirtualBrownianTree(0.0, 1.01 * num_steps * step, step / 2, (count,), key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: drifts),
            # Diagonal noise: one scale for each particle's own Brownian motion.
            diffrax.ControlTerm(lambda t, y, args: lineax.DiagonalLinearOperator(scales), path),
        )
        return diffrax.diffeqsolve(
            terms,
            SortedProjectedEuler(),
            0.0,
            num_steps * step,
            step,
            start,
            saveat=diffrax.SaveAt(t1=True),
            max_steps=num_steps + 1,
            adjoint=diffrax.DirectAdjoint(),
        ).ys

    solve_all = jax.jit(jax.vmap(solve))
    ranked = np.cumsum(atlas.stationary_gaps(model).sample(0, replicas), axis=1)
    starts = jnp.asarray(ranked, jnp.float32)
    keys = jax.random.split(jax.random.key(0), replicas)
    return lambda: solve_all(starts, keys).block_until_ready()


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
            diffrax_euler(model, fine, STEPS_OF_DIFFRAX, REPLICAS_OF_DIFFRAX),
            NUM_PARTICLES * REPLICAS_OF_DIFFRAX * STEPS_OF_DIFFRAX * fine,
            at_least=1000,
        ),
    ]


COMPARISON = Comparison(unit="particle and unit of time within 1 %", cases=_cases, rounds=5)
