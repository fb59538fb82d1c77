"""Euler's scheme, projected to the floor: the baseline."""

from typing import ClassVar

import jax.numpy as jnp

from ._base import NEEDS_SYMMETRY, AbstractScheme, settle


class ProjectedEuler(AbstractScheme):
    """x' = max(x + drift_by_rank h + sigma_by_rank sqrt(h) Z, 0).

    Weak order 1/2 at a floor: the lowest gap comes out low by about 0.5826 sigma sqrt(h), on one
    particle E X_k = sum_{j <= k} E[S_j^+] / j exactly (Spitzer). Kept as the baseline that others
    use and that tests reject. Solves every model with symmetric collisions.
    """

    order: ClassVar[float] = 0.5

    def refusal(self, model):
        return None if model.has_symmetric_collisions else NEEDS_SYMMETRY

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        x = state.positions
        sigma = problem.sigma_of(x) * jnp.sqrt(length)
        z = noise.step_normals(plan, j)
        before = x + (problem.drift_of(x) * length + sigma * z)
        after = jnp.maximum(before, 0) if problem.floor else before
        return settle(problem, state, before, after)
