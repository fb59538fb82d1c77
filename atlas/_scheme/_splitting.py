"""Strang splitting of the reflected diffusion and the drift flow, each solved exactly."""

from typing import ClassVar

import jax.numpy as jnp

from .._drift_flow import drift_flow
from ._base import NEEDS_ONE_VARIANCE, NEEDS_SYMMETRY, AbstractScheme, rise_from_minimum, settle


class Splitting(AbstractScheme):
    """Half a step of driftless reflected diffusion, the drift flow, half a step of diffusion.

    Diffusion: x -> |x + sigma sqrt(h) Z|, exact in law for a floor at 0. Drift flow, exact: max of
    0 and the isotonic regression of (ranked x + h drift), which is water filling at the lowest and
    its mirror at the highest where the others share one drift. Weak order 3/2; for a bias of about
    1 % take lambda_max sigma sqrt(2 h) <= 0.6, with the largest gap rate lambda_max.

    Consecutive half steps are merged into full ones, which keeps the law but not the path; the
    last half step is made before every output. |x + ...| shows no push, so a run that asks for
    regulators takes the bridge form, which has another path for the same key. Drifts by name
    belong to the diffusion, which then takes the bridge form too.

    Solves models with equal variances and symmetric collisions.
    """

    order: ClassVar[float] = 1.5
    extra_draws: ClassVar[int] = 1

    def refusal(self, model):
        if not model.has_symmetric_collisions:
            return NEEDS_SYMMETRY
        return None if model.has_equal_variances else NEEDS_ONE_VARIANCE

    def begin(self, problem, noise, state, plan):
        return _diffuse(problem, noise, state, plan, 0)

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        moved = drift_flow(problem, state.positions, length)
        before = moved
        if problem.is_sorted:
            before = state.positions + problem.drifts * length
        state = settle(problem, state, before, moved)
        return _diffuse(problem, noise, state, plan, j + 1)


def _diffuse(problem, noise, state, plan, j):
    """Reflected Brownian motion over the flow `j` of the segment."""
    x = state.positions
    length = plan.flow_length(j)
    sigma = problem.sigma_of(x) * jnp.sqrt(length)
    drift = 0 if problem.name_drifts is None else problem.name_drifts * length
    needs_bridge = state.regulators is not None or problem.name_drifts is not None
    if not (needs_bridge and problem.floor):
        before = x + (drift + sigma * noise.flow_normals(plan, j))
        after = jnp.abs(before) if problem.floor else before
        return settle(problem, state, before, after)
    z, uniform = noise.flow_pairs(plan, j)
    increment = drift + sigma * z
    before = x + increment
    after = jnp.maximum(before, rise_from_minimum(increment, sigma**2, uniform))
    return settle(problem, state, before, after)
