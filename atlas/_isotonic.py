"""Isotonic regression of ranked slots: the drift flow for arbitrary rank drifts.

Drifts by rank move particles apart or press them together; those that meet go on as one block with
their mean drift. After time h ranked positions x have become the isotonic regression of
y = x + h drift (checked against the event-driven flow; our derivation), by the min-max formula

    iso_k = max_{i <= k} min_{j >= k} mean(y_i ... y_j) .

It is enough to look W ranks around k if every block has at most W: for a true block p ... q,
averages of its heads are at least, and of its tails at most, its own mean, so i = p and j = q solve
the problem and lie in the window. In a block of more than W ranks the mean of y_p ... y_{q-W} is
therefore at least that of y_{p+W} ... y_q, as many values, so y_i >= y_{i+W} for one of them.
Replicas in which there is such a pair are solved exactly by pooling.
"""

import jax.numpy as jnp
from jax import lax

from ._ranked_slots import neighbours

_WINDOW = 4

# Stands for an infinite value where sums must not become nan.
_FAR = 1e30

# Replicas that are pooled at a time.
_POOLED_AT_ONCE = 64


def isotonic_slots(moved, num_particles: int):
    """Isotonic regression of `moved`, along the ranks.

    Arguments: `moved`, slots (4, block, group, lane); what is in slots without a particle does not
    matter. Returns slots. Cost: 16 means for each rank; more in replicas with a block of more than
    four ranks.
    """
    num_slots = 4 * moved.shape[1]
    index = _rank_index(moved)
    if num_slots > num_particles:
        moved = jnp.where(index < num_particles, moved, _FAR)
    pooled = _windowed(moved)
    if num_particles <= _WINDOW:
        return pooled
    return _pool_exactly(pooled, moved, _may_have_wide_block(moved))


def _rank_index(slots):
    shape = (*slots.shape[:2], 1, 1)
    word = lax.broadcasted_iota(jnp.int32, shape, 0)
    return word + 4 * lax.broadcasted_iota(jnp.int32, shape, 1)


def _windowed(moved):
    values = neighbours(moved, _WINDOW - 1, -_FAR, _FAR)
    return jnp.stack([_max_of_min_means(values, rank) for rank in range(4)])


def _max_of_min_means(values, rank):
    highest = jnp.full_like(values[rank], -jnp.inf)
    for first in range(rank - _WINDOW + 1, rank + 1):
        total = values[first]
        for i in range(first + 1, rank + 1):
            total = total + values[i]
        lowest = total * (1 / (rank - first + 1)) if first < rank else total
        for last in range(rank + 1, rank + _WINDOW):
            total = total + values[last]
            lowest = jnp.minimum(lowest, total * (1 / (last - first + 1)))
        highest = jnp.maximum(highest, lowest)
    return highest


def _may_have_wide_block(moved):
    """Whether y_i >= y_{i+4} for some rank i, as in every block of more than four ranks."""
    return jnp.any(moved[:, :-1] >= moved[:, 1:], axis=(0, 1))


def _pool_exactly(pooled, moved, is_wide):
    """Replace the replicas of `is_wide` (group, lane) by exact results, some at a time."""
    words, blocks, *lanes = moved.shape
    columns = moved.reshape(words, blocks, -1)

    def solve(carry):
        pooled, remaining = carry
        # Indices beyond the last fill up; what belongs to them is dropped.
        (chosen,) = jnp.nonzero(remaining, size=_POOLED_AT_ONCE, fill_value=remaining.size)
        some = jnp.take(columns, chosen, axis=2, mode="clip")
        exact = pool_adjacent_violators(jnp.swapaxes(some, 0, 1).reshape(words * blocks, -1))
        exact = jnp.swapaxes(exact.reshape(blocks, words, -1), 0, 1)
        pooled = pooled.at[:, :, chosen].set(exact, mode="drop")
        return pooled, remaining.at[chosen].set(False, mode="drop")

    def is_unfinished(carry):
        return jnp.any(carry[1])

    start = (pooled.reshape(columns.shape), is_wide.reshape(-1))
    return lax.while_loop(is_unfinished, solve, start)[0].reshape(words, blocks, *lanes)


def pool_adjacent_violators(values):
    """Isotonic regression along the first axis, shape (rank, column).

    Blocks lie on a stack for each column; a new value becomes a block, and the upper two are
    joined as long as they are out of order. Source: [BarlowBartholomewBremnerBrunk1972]. Cost: two
    stack operations for each rank, made for all columns together.
    """
    size, num_columns = values.shape
    column = jnp.arange(num_columns)
    means = jnp.full((size + 1, num_columns), -jnp.inf, values.dtype)
    counts = jnp.zeros((size + 1, num_columns), values.dtype)

    def is_violated(stack):
        means, _, top = stack
        return jnp.any(means[top, column] < means[top - 1, column])

    def join(stack):
        means, counts, top = stack
        upper, lower = means[top, column], means[top - 1, column]
        violates = upper < lower
        weight = counts[top, column]
        joined = counts[top - 1, column] + jnp.where(violates, weight, 0)
        # Where nothing is joined, the difference may be infinite and must not be used.
        change = jnp.where(violates, upper - lower, 0) * weight / joined
        means = means.at[top - 1, column].set(lower + jnp.where(violates, change, 0))
        counts = counts.at[top - 1, column].set(joined)
        return means, counts, jnp.where(violates, top - 1, top)

    def push(rank, stack):
        means, counts, top = stack
        top = top + 1
        means = means.at[top, column].set(values[rank])
        counts = counts.at[top, column].set(1)
        return lax.while_loop(is_violated, join, (means, counts, top))

    start = (means, counts, jnp.zeros(num_columns, jnp.int32))
    means, counts, top = lax.fori_loop(0, size, push, start)
    in_use = jnp.arange(1, size + 1)[:, None] <= top
    ends = jnp.cumsum(jnp.where(in_use, counts[1:], 0), axis=0).astype(jnp.int32)
    is_end = jnp.zeros((size + 1, num_columns), jnp.int32)
    is_end = is_end.at[ends, column].add(in_use.astype(jnp.int32))
    block = jnp.cumsum(is_end[:size], axis=0) + 1
    return jnp.take_along_axis(means, block, axis=0)
