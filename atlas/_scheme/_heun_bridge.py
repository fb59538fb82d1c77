"""Heun's average of the drift over start and predicted end, bridges at the floor."""

from typing import ClassVar

import jax.numpy as jnp

from ._base import NEEDS_ONE_VARIANCE, NEEDS_SYMMETRY, AbstractScheme, rise_from_minimum, settle


class HeunBridge(AbstractScheme):
    """BridgeEuler with the drift averaged over the rank at the start and the predicted one.

        x~ = bridge step with the drift of the starting rank,
        x' = bridge step, same noise, with the mean drift of the ranks of x and of x~ .

    Exact for one particle; where drifts differ by rank its bias lies between those of BridgeEuler
    and Splitting for the lowest gap and can be below Splitting's for higher gaps. Solves models
    with equal variances and symmetric collisions.
    """

    order: ClassVar[float] = 1.5

    def refusal(self, model):
        if not model.has_symmetric_collisions:
            return NEEDS_SYMMETRY
        return None if model.has_equal_variances else NEEDS_ONE_VARIANCE

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        x = state.positions
        sigma = problem.sigma_of(x) * jnp.sqrt(length)
        z, uniform = noise.step_pairs(plan, j)
        drift = problem.drift_of(x)
        increment = drift * length + sigma * z
        predicted = _bridge_step(problem, x, increment, sigma, uniform)
        mean_drift = (drift + problem.drift_of_predicted(predicted)) / 2
        corrected = mean_drift * length + sigma * z
        after = _bridge_step(problem, x, corrected, sigma, uniform)
        # Half the drift goes with the rank at the end, so over ranks it is that of the start.
        return settle(problem, state, x + increment, after)


def _bridge_step(problem, x, increment, sigma, uniform):
    after = x + increment
    if not problem.floor:
        return after
    return jnp.maximum(after, rise_from_minimum(increment, sigma**2, uniform))
