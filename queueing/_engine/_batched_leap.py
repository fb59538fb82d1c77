"""Leaps of many replicas at a time, by inversion, from one arrival by rank to the next."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from ._batched_random import (
    STREAM_CHOICE,
    STREAM_CLOCK,
    STREAM_COUNTS,
    STREAM_MINIMA,
    Streams,
    uniform_pair,
)

# Numbers (R, K) of eight bytes that are alive at a time.
LIVE_ARRAYS = 16


class LeapRates(NamedTuple):
    """A stream by rank, and independent servers in classes of equal rates.

    Attributes:
        special_rate: of the stream by rank.
        rank_cdf: (k,) cumulated probabilities of the rank that it joins.
        class_of: (K,) int32.
        arrival_rates, service_rates: (C,) of each server of a class.
        longest: of a piece of an interval, so that its means fit into the tables.
        log_factorial: (2 T,), T the entries of a table of a Poisson law, a power of two.
    """

    special_rate: Array
    rank_cdf: Array
    class_of: Array
    arrival_rates: Array
    service_rates: Array
    longest: Array
    log_factorial: Array


class LeapState(NamedTuple):
    """Replicas on their way.

    Attributes:
        lengths: (R, K) int32.
        left: (R,) time to the end of the call.
        gap: (R,) time to the next special arrival.
        step: (R,) uint32, pieces so far, which number the draws.
    """

    lengths: Array
    left: Array
    gap: Array
    step: Array


def leap_all(
    lengths: Array, duration: Array, step: Array, rates: LeapRates, streams: Streams
) -> tuple[Array, Array]:
    """Lengths after `duration` and the number of the next draw; call it under `jax.jit`.

    Each replica draws its own intervals, which its servers share, and replicas go from piece to
    piece together until all are at the end; one that is there stays as it is. Cost: about three
    binary searches, in all 30 gathers, for each queue and piece.
    """
    gap = _draw_gap(step, rates, streams)
    state = LeapState(lengths, jnp.full(gap.shape, duration), gap, step + 1)

    def is_under_way(state: LeapState):
        return jnp.any(state.left > 0)

    def go_on(state: LeapState) -> LeapState:
        active = state.left > 0
        piece = jnp.minimum(jnp.minimum(state.gap, state.left), rates.longest)
        piece = jnp.where(active, piece, 0.0)
        lengths = _leap(state.lengths, piece, state.step, rates, streams)
        # Compared before anything is subtracted, so that rounding loses no arrival.
        ends = active & (piece >= state.left)
        arrives = active & ~ends & (piece >= state.gap)
        lengths = _join_by_rank(lengths, arrives, state.step, rates, streams)
        gap = jnp.where(arrives, _draw_gap(state.step, rates, streams), state.gap - piece)
        left = jnp.where(ends, 0.0, state.left - piece)
        return LeapState(lengths, left, gap, state.step + active.astype(jnp.uint32))

    end = lax.while_loop(is_under_way, go_on, state)
    return end.lengths, end.step


leap_all_compiled = jax.jit(leap_all)


def _draw_gap(step: Array, rates: LeapRates, streams: Streams) -> Array:
    uniform = uniform_pair(streams, step, 1, STREAM_CLOCK)[0][:, 0]
    return jnp.where(rates.special_rate > 0, -jnp.log(uniform) / rates.special_rate, jnp.inf)


def _leap(lengths: Array, piece: Array, step: Array, rates: LeapRates, streams: Streams) -> Array:
    """All queues over one piece: q' = q + U - D + max(0, m - q), m the depth of the minimum.

    P(m >= j | U, D) = U! D! / ((U + j)! (D - j)!)   for j >= max(0, D - U), else 1 .
    """
    first, second = uniform_pair(streams, step, lengths.shape[1], STREAM_COUNTS)
    log_factorial = rates.log_factorial
    ups = _invert(_poisson_cdf(piece, rates.arrival_rates, log_factorial), first, rates.class_of)
    downs = _invert(_poisson_cdf(piece, rates.service_rates, log_factorial), second, rates.class_of)
    uniform = uniform_pair(streams, step, lengths.shape[1], STREAM_MINIMA)[0]
    # The largest m with P(m >= j) >= u; for j <= max(0, D - U) that probability is 1.
    bar = jnp.log(uniform) - log_factorial[ups] - log_factorial[downs]
    depth = jnp.maximum(downs - ups, 0)
    stride = log_factorial.size // 2
    while stride > 1:
        stride //= 2
        deeper = jnp.minimum(depth + stride, downs)
        log_tail = -log_factorial[ups + deeper] - log_factorial[downs - deeper]
        depth = jnp.where((log_tail >= bar) & (depth + stride <= downs), deeper, depth)
    return lengths + ups - downs + jnp.maximum(depth - lengths, 0)


def _poisson_cdf(piece: Array, class_rates: Array, log_factorial: Array) -> Array:
    """(R, C, T): P(count <= k)."""
    mean = piece[:, None, None] * class_rates[:, None]
    size = log_factorial.size // 2
    count = jnp.arange(size, dtype=jnp.float64)
    log_mean = jnp.log(jnp.maximum(mean, 1e-300))
    return jnp.cumsum(jnp.exp(count * log_mean - mean - log_factorial[:size]), axis=-1)


def _invert(cdf: Array, uniform: Array, class_of: Array) -> Array:
    """(R, K) int32: how many entries of its class's row lie below each uniform, binary search."""
    size = cdf.shape[-1]
    flat, start = cdf.reshape(len(cdf), -1), class_of * size
    found, stride = jnp.zeros(uniform.shape, jnp.int32), size
    while stride > 1:
        stride //= 2
        below = jnp.take_along_axis(flat, start + found + (stride - 1), axis=1) < uniform
        found = found + stride * below.astype(jnp.int32)
    return found


def _join_by_rank(
    lengths: Array, arrives: Array, step: Array, rates: LeapRates, streams: Streams
) -> Array:
    """One more job at a server of the drawn rank, ties uniform, in the replicas that `arrives`."""
    by_rank, among_ties = (u[:, 0] for u in uniform_pair(streams, step, 1, STREAM_CHOICE))
    if rates.rank_cdf.shape[0] > 1:
        rank = jnp.sum(rates.rank_cdf[:-1] < by_rank[:, None], axis=1)
        value = jnp.take_along_axis(jnp.sort(lengths, axis=1), rank[:, None], axis=1)
    else:
        value = jnp.min(lengths, axis=1, keepdims=True)
    is_tied = lengths == value
    count = jnp.sum(is_tied, axis=1, dtype=jnp.int32)
    chosen = jnp.minimum((among_ties * count).astype(jnp.int32), count - 1)
    place = jnp.cumsum(is_tied, axis=1, dtype=jnp.int32)
    is_chosen = is_tied & (place == chosen[:, None] + 1) & arrives[:, None]
    return lengths + is_chosen.astype(lengths.dtype)
