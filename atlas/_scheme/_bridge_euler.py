"""Euler's scheme with the floor treated exactly by Brownian bridges."""

from typing import ClassVar

import jax.numpy as jnp

from ._base import NEEDS_SYMMETRY, AbstractScheme, rise_from_minimum, settle


class BridgeEuler(AbstractScheme):
    """x' = x + S + max(0, -(x + I)) = max(x + S, S - I), S increment and I minimum of the path.

    The free path has the drift and the variance of the particle's rank at the start of the step;
    I is the minimum of the Brownian bridge to S. Exact for one particle; weak order 1 with ranks.
    Solves every model with symmetric collisions: variances by rank and drifts by name included.
    """

    order: ClassVar[float] = 1.0

    def refusal(self, model):
        return None if model.has_symmetric_collisions else NEEDS_SYMMETRY

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        x = state.positions
        sigma = problem.sigma_of(x) * jnp.sqrt(length)
        z, uniform = noise.step_pairs(plan, j)
        increment = problem.drift_of(x) * length + sigma * z
        after = before = x + increment
        if problem.floor:
            after = jnp.maximum(before, rise_from_minimum(increment, sigma**2, uniform))
        return settle(problem, state, before, after)
