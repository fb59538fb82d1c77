"""The exact flow of the rank drifts.

An Atlas drift is water filling at the lowest and its mirror at the highest. Under drift b on the
lowest particle alone, the lowest rises until it meets the next, and then they rise together: after
time h, x -> max(x, L) with sum_i max(L - x_i, 0) = b h. The drift -a on the highest mirrors it.
Fill, cut, then the drift common to all and the floor; in this order the result equals max(isotonic
regression of (ranked x + h drift), 0), which is the flow of any rank drifts.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ._isotonic import isotonic_slots
from ._noise import WORDS, from_slots, to_slots
from ._problem import Problem
from ._sorting_network import sort_arrays

# Up to this many particles are sorted by a network, which makes all levels a closed form.
_MAX_SORTED = 8

# Of more, the levels are found from this many lowest values; where others are needed, which is
# rare, an iteration finds them.
_NUM_VALUES = 4


def drift_flow(problem: Problem, positions: Array, length) -> Array:
    """Positions after the drift alone has acted for `length` units of time.

    Drifts by name are left out. Cost: nine reductions over the particles where both ends have a
    drift, five with one; a sorting network for up to eight particles. Other rank drifts: sixteen
    means for each particle, and a full sort where particles are kept by name.
    """
    if problem.atlas is None:
        return _flow_of_ranks(problem, positions, length)
    return flow_to_levels(problem, positions, length, atlas_levels(problem, positions, length))


def atlas_levels(problem: Problem, positions: Array, length) -> tuple[Array | float, Array | float]:
    """Levels of an Atlas drift: the lowest are filled up to the one, the highest cut to the other.

    They are -inf and inf where that end has no drift.
    """
    assert problem.atlas is not None
    low_mass, high_mass = problem.atlas.lowest * length, problem.atlas.highest * length
    find = _levels_by_sorting if problem.num_particles <= _MAX_SORTED else _levels_by_values
    return find(problem, positions, low_mass, high_mass)


def flow_to_levels(problem: Problem, positions: Array, length, levels) -> Array:
    """The flow of an Atlas drift whose levels are known."""
    assert problem.atlas is not None
    if problem.has_lowest:
        positions = jnp.maximum(positions, levels[0])
    if problem.has_highest:
        positions = jnp.minimum(positions, levels[1])
    positions = positions + problem.atlas.common * length
    return jnp.maximum(positions, 0) if problem.floor else positions


def _flow_of_ranks(problem: Problem, positions: Array, length) -> Array:
    if problem.is_sorted:
        return _flow_of_sorted(problem, positions, length)
    order = problem.order(positions)
    by_name = from_slots(positions, problem.num_particles)
    ranked = to_slots(jnp.take_along_axis(by_name, order, axis=0))
    moved = from_slots(_flow_of_sorted(problem, ranked, length), problem.num_particles)
    return to_slots(jnp.take_along_axis(moved, jnp.argsort(order, axis=0), axis=0))


def _flow_of_sorted(problem: Problem, ranked: Array, length) -> Array:
    moved = isotonic_slots(ranked + length * problem.drifts, problem.num_particles)
    moved = problem.fill_empty_slots(moved, jnp.inf)
    return jnp.maximum(moved, 0) if problem.floor else moved


def _levels_by_sorting(problem: Problem, positions: Array, low_mass, high_mass):
    """As `_levels_by_values`, from all values in order: min over k of (mass + S_k) / k."""
    low, high = -jnp.inf, jnp.inf
    ranked = [positions[i % WORDS, i // WORDS] for i in range(problem.num_particles)]
    if not problem.is_sorted:
        ranked = sort_arrays(ranked)
    if problem.has_lowest:
        low = _level(ranked, low_mass)
        ranked = [jnp.maximum(value, low) for value in ranked]
    if problem.has_highest:
        high = -_level([-value for value in reversed(ranked)], high_mass)
    return low, high


def _level(ascending, mass):
    lowest = ascending[0]
    level, excess = mass, jnp.zeros_like(lowest)
    for count, value in enumerate(ascending[1:], start=2):
        excess = excess + (value - lowest)
        level = jnp.minimum(level, (mass + excess) / count)
    return lowest + level


def _levels_by_values(problem: Problem, positions: Array, low_mass, high_mass):
    """The level of the filling from below and, after it, that of the cut from above."""
    low, high = -jnp.inf, jnp.inf
    num_moved = 0
    if problem.has_lowest:
        low, num_low = _level_of_lowest(problem, positions, low_mass)
        num_moved += num_low
    if problem.has_highest:
        negative_level, num_high = _level_of_lowest(problem, -positions, high_mass)
        high = -negative_level
        num_moved += num_high
    if not (problem.has_lowest or problem.has_highest):
        return low, high
    # The closed form counted num_moved particles beyond the levels. If there are more, by ties, or
    # because it needed more values than it had, or because the two ends meet, iterate.
    beyond = (problem.fill_empty_slots(positions, low) < low) | (
        problem.fill_empty_slots(positions, high) > high
    )
    count = problem.total(beyond.astype(positions.dtype))
    is_rough = count != num_moved

    def iterate():
        filled = positions
        exact_low, exact_high = low, high
        if problem.has_lowest:
            exact_low = _iterate_level(problem, positions, low_mass, low, is_rough)
            filled = jnp.maximum(positions, exact_low)
        if problem.has_highest:
            exact_high = -_iterate_level(problem, -filled, high_mass, -high, is_rough)
        return exact_low, exact_high

    return lax.cond(jnp.any(is_rough), iterate, lambda: (low, high))


def _level_of_lowest(problem: Problem, positions: Array, mass):
    """min over k of (mass + sum of the k lowest values) / k, and the k that attains it.

    An upper bound of the true level, equal to it if the k lowest are distinct and the next value
    lies above.
    """
    candidates = problem.fill_empty_slots(positions, jnp.inf)
    lowest = value = problem.least(candidates)
    level, num_moved = mass + jnp.zeros_like(lowest), jnp.ones_like(lowest)
    excess = jnp.zeros_like(lowest)
    for count in range(2, min(_NUM_VALUES, problem.num_particles) + 1):
        value = problem.least(jnp.where(candidates > value, candidates, jnp.inf))
        excess = excess + (value - lowest)
        mean_level = (mass + excess) / count
        num_moved = jnp.where(mean_level < level, count, num_moved)
        level = jnp.minimum(level, mean_level)
    return lowest + level, num_moved


def _iterate_level(problem: Problem, positions: Array, mass, level, is_rough):
    """Descend to the level L with sum_i max(L - x_i, 0) = mass, in the rough replicas only.

    Newton's iteration from above on a convex piecewise linear function ends after finitely many
    steps. Replicas that are done or were never rough do not change, so each result is the
    replica's own, whatever the batch.
    """
    candidates = problem.fill_empty_slots(positions, jnp.inf)

    def is_active(carry):
        return jnp.any(carry[1])

    def descend(carry):
        level, active = carry
        depth = jnp.maximum(level - candidates, 0)
        count = problem.total((depth > 0).astype(depth.dtype))
        surplus = problem.total(depth) - mass
        lower = level - surplus / jnp.maximum(count, 1)
        lower = jnp.where(active & (count > 0) & (lower < level), lower, level)
        return lower, lower < level

    start = problem.least(candidates) + mass
    level = jnp.where(
        is_rough, jnp.where(jnp.isfinite(level), jnp.minimum(level, start), start), level
    )
    return lax.while_loop(is_active, descend, (level, is_rough))[0]
