"""Euler's scheme on the gaps, each reflected by its Brownian bridge, pushes solved together."""

from typing import ClassVar

import jax.numpy as jnp
from jax import lax

from .._noise import from_slots, to_slots
from .._problem import Problem, State
from .._ranked_slots import next_block, previous_block
from ._base import AbstractScheme, rise_from_minimum

# Stands for the infinite gap where there is none.
_FAR = 1e30


class CollisionBridge(AbstractScheme):
    """Ranked increments S, marginal bridge minima I of the gaps, and the least pushes l >= 0 with

        l = max(0, -(z + I) + (Id - R) l) ,   z' = z + S + R l ,

    z the gaps, S their increments with the drifts and variances of the ranks, I_k the minimum of
    the bridge of gap k alone, R the reflection matrix. Ranked particles move by their own increment
    plus q_plus l_{k-1} minus q_minus l_k. Weak order 1 (with I replaced by S it would be 1/2).

    The gaps that are pushed are found by growing their set, from below, in each replica by itself.
    Solves every model without name drifts, asymmetric collisions and rank variances included.
    """

    order: ClassVar[float] = 1.0
    keeps_order: ClassVar[bool] = True

    def refusal(self, model):
        if model.has_names:
            return "particles have drifts of their own, which ranks do not know; BridgeEuler"
        return None

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
