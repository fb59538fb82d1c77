"""Strang splitting of the reflected diffusion and the drift flow, each solved exactly."""

from typing import ClassVar

import jax.numpy as jnp

from .._drift_flow import drift_flow
from .._problem import atlas_drift
from ._base import AbstractScheme, rise_from_minimum, settle


class Splitting(AbstractScheme):
    """Half a step of driftless reflected diffusion, the drift flow, half a step of diffusion.

    Diffusion: x -> |x + sigma sqrt(h) Z|, exact in law for a floor at 0. Drift flow: water filling
    at the lowest, its mirror at the highest, then the common drift and the floor, exact. Weak
    order 3/2; for a bias of about 1 % take lambda_max sigma sqrt(2 h) <= 0.6, with the largest gap
    rate lambda_max.

    Consecutive half steps are merged into full ones, which keeps the law but not the path; the
    last half step is made before every output. |x + ...| shows no push, so a run that asks for
    regulators takes the bridge form, which has another path for the same key.

    Solves models with equal variances whose drifts are the same for all ranks but the lowest
    (higher) and the highest (lower).
    """

    order: ClassVar[float] = 1.5
    extra_draws: ClassVar[int] = 1

    def refusal(self, model):
        if not model.has_equal_variances:
            return "variances differ between ranks, so the diffusion flow is not exact; BridgeEuler"
        if atlas_drift(model) is None:
            return (
                "drifts must agree on all ranks but a higher one on the lowest and a lower one on "
                "the highest; BridgeEuler"
            )
        return None

    def begin(self, problem, noise, state, plan):
        return _diffuse(problem, noise, state, plan, 0)

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        moved = drift_flow(problem, state.positions, length)
        before = moved
        if problem.is_sorted:
            before = state.positions + problem.rank_drifts(state.positions) * length
        state = settle(problem, state, before, moved)
        return _diffuse(problem, noise, state, plan, j + 1)


def _diffuse(problem, noise, state, plan, j):
    """Reflected Brownian motion over the flow `j` of the segment."""
    x = state.positions
    sigma = problem.rank_sigmas() * jnp.sqrt(plan.flow_length(j))
    if state.regulators is None or not problem.floor:
        before = x + sigma * problem.arrange(noise.flow_normals(plan, j))
        after = jnp.abs(before) if problem.floor else before
        return settle(problem, state, before, after)
    z, uniform = (problem.arrange(draw) for draw in noise.flow_pairs(plan, j))
    increment = sigma * z
    before = x + increment
    after = jnp.maximum(before, rise_from_minimum(increment, sigma**2, uniform))
    return settle(problem, state, before, after)
