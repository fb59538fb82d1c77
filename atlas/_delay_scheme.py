"""Euler's scheme for delay diffusions: bridges at the floor, the delayed ranks at both ends."""

from typing import ClassVar

import jax.numpy as jnp
from jax import lax

from ._delay_model import DelayDiffusion
from ._delay_problem import DelayProblem, DelayState
from ._scheme import AbstractScheme
from ._scheme._base import rise_from_minimum


class DelayedBridge(AbstractScheme):
    """The drift of a step is that of the delayed ranks, averaged over the ends of the old step.

        mean = (drift by the ranks at t_k - d  +  drift by the ranks at t_{k+1} - d) / 2 ,
        x' = max(x + S, S - I) ,   S = (name drift + mean) h + sigma sqrt(h) Z ,

    I the minimum of the Brownian bridge to S, the max only with a floor. Given the past the law of
    a step is exact but for what the ranks do between two grid points of the past, of which the
    trapezoidal rule keeps the mean: weak order 3/2 where the rule's own h^2 does not dominate, and
    with the drift of one end alone it would be 1, the delay being h/2 too long. `step` must divide
    the delay; for delay 0 the drift is that of the ranks at t_k, weak order 1, and a
    `RankDiffusion` with `Splitting` is better. Solves every `DelayDiffusion`.
    """

    order: ClassVar[float] = 1.5
    has_regulators: ClassVar[bool] = False
    #: The past of so many still fits into the second-level cache, and their lanes are full.
    fewest_replicas: ClassVar[int] = 512

    def refusal(self, model):
        if not isinstance(model, DelayDiffusion):
            return "its drift has no delay; BridgeEuler"
        return None

    def advance(self, problem: DelayProblem, noise, state: DelayState, plan, j) -> DelayState:
        length = plan.length(j)
        x = state.positions
        old, state = _look_back(problem, state)
        drift = problem.name_drifts + old
        sigma = problem.sigmas * jnp.sqrt(length)
        push = _rounded(drift * length, state.count)
        if problem.floor:
            z, uniform = noise.step_pairs(plan, j)
            increment = push + sigma * z
            after = jnp.maximum(x + increment, rise_from_minimum(increment, sigma**2, uniform))
        else:
            after = x + (push + sigma * noise.step_normals(plan, j))
        # Save times between grid points cut a step into parts, which share its drift.
        fraction = state.fraction + length / plan.full
        is_done = fraction > 1 - 1e-3
        return DelayState(
            positions=after,
            history=state.history,
            latest=state.latest,
            count=state.count + is_done,
            fraction=jnp.where(is_done, 0, fraction),
        )


def _rounded(product, count):
    """`product`, rounded before it is added to anything, whichever way XLA lays out the loop.

    A compiler may round a product and a sum once, and does so in some layouts, so that a replica
    would depend on the batch. The sign of `count` is 0, but no compiler knows.
    """
    zero = lax.convert_element_type(count < 0, jnp.int32)
    bits = lax.bitcast_convert_type(
        product, jnp.int64 if product.dtype == jnp.float64 else jnp.int32
    )
    return lax.bitcast_convert_type(bits ^ zero.astype(bits.dtype), product.dtype)


def _look_back(problem: DelayProblem, state: DelayState):
    """The drift by rank over the step one delay ago, and the state with the ranks of now noted."""
    now = problem.drift_of(state.positions)
    if problem.lag == 0:
        return now, state
    is_grid_point = state.fraction == 0
    # Step count - 1 has its second end only now. Its entry held a drift that was used already.
    place = (state.count - 1) % problem.lag
    kept = lax.dynamic_index_in_dim(state.history, place, keepdims=False)
    entry = jnp.where(is_grid_point, jnp.stack([state.latest, now]), kept)
    history = lax.dynamic_update_index_in_dim(state.history, entry, place, 0)
    # The mean over an axis is a loop of its own to XLA, which would not vectorise the noise in one
    # loop with a slice that it cannot foresee.
    ends = lax.dynamic_index_in_dim(history, state.count % problem.lag, keepdims=False)
    latest = jnp.where(is_grid_point, now, state.latest)
    state = DelayState(state.positions, history, latest, state.count, state.fraction)
    return jnp.mean(ends, axis=0), state
