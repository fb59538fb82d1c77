"""Euler's scheme on the gaps, each reflected by its Brownian bridge, pushes solved together."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from .._gap_process import GapProcess
from .._noise import from_slots, to_slots
from .._problem import Problem, State
from .._ranked_slots import next_block, previous_block
from ._base import AbstractScheme, rise_from_minimum

# Stands for the infinite gap where there is none.
_FAR = 1e30
# Of exponents at corners, whose angles are rounded.
_TOLERANCE = 1e-9


class CollisionBridge(AbstractScheme):
    """Ranked increments S, marginal bridge minima I of the gaps, and the least pushes l >= 0 with

        l = max(0, -(z + I) + (Id - R) l) ,   z' = z + S + R l ,

    z the gaps, S their increments with the drifts and variances of the ranks, I_k the minimum of
    the bridge of gap k alone, R the reflection matrix. Ranked particles move by their own increment
    plus q_plus l_{k-1} minus q_minus l_k. The minima are taken for independent, which they are not
    where two neighbouring gaps are small at once; how often that is decides the weak order,

        1 - max(alpha, 0) / 2 ,   alpha the largest of `GapProcess.corner_exponents` ,

    so `weak_order` depends on the model (with I replaced by S it would be 1/2):

    * order 1 where alpha <= 0: every model with a product law, so equal variances at a floor,
      variances affine in the rank and symmetric collisions without one; and with symmetric
      collisions wherever sigma_2 <= sigma_1 at the floor and variances are concave in the rank;
    * less where alpha > 0: at a floor with sigma_2 > sigma_1, and around a rank whose variance is
      below the mean of its neighbours'. Variances 1 and 3 at a floor have alpha = 1/2, order 3/4;
      0.763 (standard error 0.002) was fitted to steps from 0.1 to 0.0125.

    The second is a heuristic of ours, tried by the experiment `rank_bias`: the density is of order
    r^-alpha near the corner, so that steps of length h begin within sqrt(h) of it a share
    h^{1 - alpha/2} of the time, and are then off by as much as they move.

    The gaps that are pushed are found by growing their set, from below, in each replica by itself.
    Solves every model without name drifts, asymmetric collisions and rank variances included.
    """

    order: ClassVar[float] = 1.0
    keeps_order: ClassVar[bool] = True

    def refusal(self, model):
        if model.has_names:
            return "particles have drifts of their own, which ranks do not know; BridgeEuler"
        return None

    def weak_order(self, model):
        """1 - alpha/2, alpha the worst exponent of the density at a corner, if positive."""
        exponents = np.zeros(1)
        if model.num_gaps > 1:
            exponents = GapProcess.from_model(model).corner_exponents()
        # What rounding leaves of 0 is 0.
        worst = float(np.max(exponents))
        return self.order - worst / 2 if worst > _TOLERANCE else self.order

    def advance(self, problem, noise, state, plan, j):
        length = plan.length(j)
        z, uniform = noise.step_pairs(plan, j)
        sigma = problem.sigmas * jnp.sqrt(length)
        ranked = state.positions
        moved = ranked + (problem.drifts * length + sigma * z)
        variance = sigma**2 + _lower(sigma, 0.0) ** 2
        push = _least_push(problem, _least_gaps(problem, ranked, moved, variance, uniform))
        shares = problem.collisions
        after = moved + (shares.up * push - shares.down * _upper(push, 0.0))
        if problem.floor:
            after = jnp.maximum(after, 0)
        regulators = state.regulators
        if regulators is not None:
            pushes = from_slots(push, problem.num_particles)
            regulators = regulators + (pushes if problem.floor else pushes[1:])
        return State(problem.sort(after), regulators, state.peaks)


def _lower(slots, fill):
    """The value of the rank below, `fill` below the lowest."""
    return jnp.stack([previous_block(slots[3], fill), *slots[:3]])


def _upper(slots, fill):
    """The value of the rank above, `fill` above the highest."""
    return jnp.stack([*slots[1:], next_block(slots[0], fill)])


def _least_gaps(problem: Problem, ranked, moved, variance, uniform):
    """z + I, the least value of each gap along its bridge, in the slot of its upper particle."""
    start, end = ranked - _lower(ranked, 0.0), moved - _lower(moved, 0.0)
    least = end - rise_from_minimum(end - start, variance, uniform)
    least = problem.fill_empty_slots(least, _FAR)
    if not problem.floor:
        least = least.at[0, 0].set(_FAR)
    return least


def _least_push(problem: Problem, least):
    """The least l >= 0 with least + R l >= 0: the set of gaps that are pushed grows until it does.

    Each turn solves for the pushes of the set and adds the gaps that are still negative; a replica
    that is done solves the same system again. Cost: few tridiagonal systems.
    """
    count = problem.num_particles
    wanted = from_slots(-least, count)
    from_below = from_slots(_lower(problem.collisions.up, 0.0), count)
    from_above = from_slots(problem.collisions.down, count)
    # What rounding leaves of a gap that is closed is no reason to push.
    slack = 16 * jnp.finfo(least.dtype).eps * jnp.max(jnp.maximum(wanted, 0), axis=0)

    def grow(carry):
        pushed, push, _ = carry
        push = _solve_tridiagonal(from_below, from_above, wanted, pushed)
        lacking = wanted + from_below * _up(push) + from_above * _down(push) - push
        added = ~pushed & (lacking > slack)
        return pushed | added, push, jnp.any(added)

    pushed = wanted > 0
    start = (pushed, jnp.zeros_like(wanted), jnp.any(pushed))
    push = lax.while_loop(lambda carry: carry[2], grow, start)[1]
    return to_slots(jnp.maximum(push, 0))


def _up(ranks):
    return jnp.concatenate([jnp.zeros_like(ranks[:1]), ranks[:-1]])


def _down(ranks):
    return jnp.concatenate([ranks[1:], jnp.zeros_like(ranks[:1])])


def _solve_tridiagonal(below, above, right, in_use):
    """l_k - below_k l_{k-1} - above_k l_{k+1} = right_k where `in_use`, 0 elsewhere."""
    zero = jnp.zeros_like(right[0])

    def eliminate(carry, row):
        factor, value = carry
        lower, upper, wanted, used = row
        pivot = jnp.where(used, 1 / (1 - lower * factor), 0)
        factor, value = upper * pivot, (wanted + lower * value) * pivot
        return (factor, value), (factor, value)

    def substitute(push, row):
        factor, value = row
        push = value + factor * push
        return push, push

    rows = (below, above, right, in_use)
    eliminated = lax.scan(eliminate, (zero, zero), rows)[1]
    return lax.scan(substitute, zero, eliminated, reverse=True)[1]
