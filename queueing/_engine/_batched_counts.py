"""Events of many replicas at a time, on the numbers of servers at each level."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from ._batched_random import STREAM_EVENT, Streams, uniform_pair

# Numbers (R, level) of eight bytes that are alive at a time.
LIVE_ARRAYS = 8


class CountRates(NamedTuple):
    """Exchangeable servers, jobs by rank or to a server drawn uniformly.

    Attributes:
        prob_arrival: that an event is an arrival, else one server may finish a job.
        rank_cdf: (k,) cumulated probabilities that a job goes to each rank; the rest is uniform.
        num_servers: K.
        buffer: most jobs at a server, or a number that is never reached.
    """

    prob_arrival: Array
    rank_cdf: Array
    num_servers: Array
    buffer: Array


def count_events(
    counts: Array, num_events: Array, step: Array, rates: CountRates, streams: Streams
) -> tuple[Array, Array, Array]:
    """Counts after so many events of the uniformised chain; call it under `jax.jit`.

    Arguments:
        counts: (R, L) int32, servers with 0, 1, ..., L - 1 jobs.
        num_events: (R,) int32, each replica's own number.
        step: (R,) uint32, the number of its next draw.
    Returns: counts, step, and (R,) whether a job found no level to go to, after which the rest is
        worthless and more levels are needed.
    Cost: one Philox call and about 6 L operations for each replica and event.
    """
    levels = jnp.arange(counts.shape[1], dtype=jnp.int32)
    none = jnp.zeros(len(counts), bool)

    def is_under_way(carry):
        return jnp.any(carry[0] > 0)

    def go_on(carry):
        left, counts, step, overflows = carry
        active = left > 0
        kind, place = (u[:, 0] for u in uniform_pair(streams, step, 1, STREAM_EVENT))
        arrives = kind <= rates.prob_arrival
        position = jnp.where(arrives, _join(place, rates), _uniform_position(place, rates))
        before = jnp.cumsum(counts, axis=1)
        level = jnp.sum(before <= position[:, None], axis=1, dtype=jnp.int32)
        is_accepted = arrives & (level < rates.buffer)
        change = jnp.where(is_accepted, 1, jnp.where(arrives | (level == 0), 0, -1))
        change = jnp.where(active, change, 0)
        overflows = overflows | (level + change >= len(levels))
        moved = (levels == (level + change)[:, None]).astype(counts.dtype)
        counts = counts + moved - (levels == level[:, None]).astype(counts.dtype)
        active = active.astype(jnp.int32)
        return left - active, counts, step + active.astype(jnp.uint32), overflows

    start = (num_events, counts, step, none)
    _, counts, step, overflows = lax.while_loop(is_under_way, go_on, start)
    return counts, step, overflows


count_events_compiled = jax.jit(count_events)


def _uniform_position(uniform: Array, rates: CountRates) -> Array:
    position = (uniform * rates.num_servers).astype(jnp.int32)
    return jnp.minimum(position, rates.num_servers - 1)


def _join(uniform: Array, rates: CountRates) -> Array:
    """The rank that a job goes to, counted from 0; servers of equal length are alike."""
    by_rank = rates.rank_cdf[-1]
    rank = jnp.sum(rates.rank_cdf < uniform[:, None], axis=1, dtype=jnp.int32)
    rest = (uniform - by_rank) / jnp.where(by_rank < 1, 1 - by_rank, 1)
    return jnp.where(uniform <= by_rank, rank, _uniform_position(rest, rates))
