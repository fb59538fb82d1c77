"""From one special arrival to the next, leaping over everything in between."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._alias import draw_alias
from ._leap_interval import GROUP, MAX_MEAN, leap_class, update_minima
from ._nearly_sorted import rank_nearly_sorted
from ._sampler import take_sample
from ._select import select_rank
from ._xoshiro import next_exponential, next_uniform, uniform_index


class LeapSystem(NamedTuple):
    """A thin stream by rank, and independent servers in classes of equal rates.

    Attributes:
        special_rate: of the stream by rank.
        rank_cut, rank_alias: alias table of the rank that it joins.
        bounds: (C + 1,) int64, class c holds the servers bounds[c] ... bounds[c + 1] - 1.
        arrival_rates, service_rates: (C,) of each server of a class.
        top_rate: the largest of these.
    """

    special_rate: float
    rank_cut: np.ndarray
    rank_alias: np.ndarray
    bounds: np.ndarray
    arrival_rates: np.ndarray
    service_rates: np.ndarray
    top_rate: float


class LeapSums(NamedTuple):
    """Sums over the states that special arrivals find, those that are looked at.

    Attributes:
        order: (K,) int64, the servers by length when last looked at.
        ranks: (2, K) sums of ranked lengths, and of 1 where they are positive.
        countdown: (1,) special arrivals until the next look.
    """

    order: np.ndarray
    ranks: np.ndarray
    countdown: np.ndarray


@numba.njit(nogil=True)
def leap_over(lengths, duration, system, bank, tables, scratch):
    """Advance all queues by `duration` without special arrivals; returns the least length."""
    num_pieces = max(1, np.int64(np.ceil(duration * system.top_rate / MAX_MEAN)))
    piece = duration / num_pieces
    least = 0
    for _ in range(num_pieces):
        for c in range(system.arrival_rates.shape[0]):
            leap_class(
                lengths,
                system.bounds[c],
                system.bounds[c + 1],
                system.arrival_rates[c] * piece,
                system.service_rates[c] * piece,
                bank,
                tables,
                scratch,
            )
        least = update_minima(lengths, scratch.minima)
    return least


@numba.njit(nogil=True)
def run_leaps(lengths, duration, system, bank, tables, scratch, sums, sampler, averages):
    """Advance by `duration`, special arrivals included.

    The time to the next special arrival is exponential, so at the end it is forgotten. With
    `averages` the state is looked at just before every `sampler.stride`-th special arrival, and
    the function returns early when `sampler.kept` is full.

    Returns: the time that is left, 0 at the end.
    """
    left = duration
    while True:
        gap = np.inf
        if system.special_rate > 0.0:
            gap = next_exponential(bank.side) / system.special_rate
        is_last = gap >= left
        least = leap_over(lengths, min(gap, left), system, bank, tables, scratch)
        if is_last:
            return 0.0
        if averages:
            look_at(lengths, sums, sampler)
        server = choose_by_rank(lengths, least, system, bank.side, scratch)
        lengths[server] += 1
        left -= gap
        if sampler.count[1] > 0 and sampler.count[1] == sampler.kept.shape[0]:
            return left


@numba.njit(nogil=True)
def look_at(lengths, sums, sampler):
    """Add the present state to the sums, if its turn has come."""
    sums.countdown[0] -= 1
    if sums.countdown[0] > 0:
        return
    sums.countdown[0] = sampler.stride
    ranked = sampler.ranked
    rank_nearly_sorted(lengths, sums.order, ranked)
    for k in range(lengths.shape[0]):
        sums.ranks[0, k] += ranked[k]
        sums.ranks[1, k] += ranked[k] > 0
    take_sample(sampler, lengths)


@numba.njit(nogil=True)
def choose_by_rank(lengths, least, system, side, scratch):
    """The server that a special arrival joins: of the drawn rank, ties uniform."""
    rank = draw_rank(system, side)
    value = least if rank == 0 else select_rank(lengths, rank, scratch.before)
    return pick_tied(lengths, scratch.minima, value, side)


@numba.njit(nogil=True)
def draw_rank(system, side):
    """The rank that a special arrival joins, 0 for the lowest."""
    size = system.rank_cut.shape[0]
    if size == 1:
        return 0
    return draw_alias(next_uniform(side), system.rank_cut, system.rank_alias, 0, size)


@numba.njit(nogil=True)
def pick_tied(lengths, minima, value, side):
    """One of the servers of that length, uniform; there must be one."""
    # Only groups whose least length is at most the value can hold it.
    num_tied = 0
    for group in range(minima.shape[0]):
        if minima[group] <= value:
            for i in range(group * GROUP, min(lengths.shape[0], (group + 1) * GROUP)):
                num_tied += lengths[i] == value
    skip = uniform_index(next_uniform(side), num_tied)
    for group in range(minima.shape[0]):
        if minima[group] <= value:
            for i in range(group * GROUP, min(lengths.shape[0], (group + 1) * GROUP)):
                if lengths[i] == value:
                    if skip == 0:
                        return i
                    skip -= 1
    return 0
