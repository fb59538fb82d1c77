"""Euler with projection in diffrax, as one would write it for particles."""

from collections.abc import Callable

import diffrax
import jax
import jax.numpy as jnp
import lineax
import numpy as np

MakePath = Callable[..., diffrax.AbstractBrownianPath]


def brownian_tree(count: int, horizon: float, step: float, key) -> diffrax.AbstractBrownianPath:
    """diffrax's path that can be asked at any time."""
    return diffrax.VirtualBrownianTree(0.0, horizon, step / 2, (count,), key)


def unsafe_path(count: int, horizon: float, step: float, key) -> diffrax.AbstractBrownianPath:
    """diffrax's path that is asked once for each step, in order."""
    return diffrax.UnsafeBrownianPath((count,), key)


def diffrax_euler(
    starts: np.ndarray,
    *,
    drift: Callable[[jax.Array], jax.Array],
    variance: float,
    project: Callable[[jax.Array], jax.Array],
    make_path: MakePath,
    horizon: float,
    step: float,
    num_steps: int,
) -> Callable[[], jax.Array]:
    """A run of all replicas that returns the particles at its end.

    Arguments:
        starts: (replica, particle) positions.
        drift: of the particles, from their positions.
        variance: of each particle per unit of time.
        project: what is done with the positions after each step.
        make_path: `brownian_tree` or `unsafe_path`.
        horizon: the time that the path is made for, which a tree's cost depends on.
    """
    replicas, count = starts.shape
    scales = jnp.full(count, np.sqrt(variance), jnp.float32)

    class ProjectedEuler(diffrax.Euler):
        """diffrax's Euler, its result projected."""

        def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
            y1, *rest = super().step(terms, t0, t1, y0, args, solver_state, made_jump)
            return project(y1), *rest

    def solve(start, key):
        path = make_path(count, horizon, step, key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: drift(y)),
            # Diagonal noise: one scale for each particle's own Brownian motion.
            diffrax.ControlTerm(lambda t, y, args: lineax.DiagonalLinearOperator(scales), path),
        )
        return diffrax.diffeqsolve(
            terms,
            ProjectedEuler(),
            0.0,
            num_steps * step,
            step,
            start,
            saveat=diffrax.SaveAt(t1=True),
            max_steps=num_steps + 1,
            adjoint=diffrax.DirectAdjoint(),
        ).ys

    solve_all = jax.jit(jax.vmap(solve))
    keys = jax.random.split(jax.random.key(0), replicas)
    at_start = jnp.asarray(starts, jnp.float32)
    return lambda: solve_all(at_start, keys).block_until_ready()
