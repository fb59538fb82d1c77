"""The near queues over one macro step: from one special arrival to the next, as if alone."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._leap_interval import GROUP
from ._leap_loop import draw_rank, pick_tied
from ._two_scale_pieces import leap_in_pieces, point_to
from ._xoshiro import next_exponential

# Ranks are kept in order by insertion, which is for few of them.
MAX_RANKS = 64


class Sight(NamedTuple):
    """What is kept of the lowest ranks, and its sums over the states that special arrivals find.

    Attributes:
        lowest: (R,) int64, the present lowest lengths, ascending; R is at least the highest
            rank that a special arrival may join.
        ranks: (2, R) sums of the lowest lengths, and of 1 where they are positive.
        sums: (3,) special arrivals, empty servers, and ties of the two lowest.
    """

    lowest: np.ndarray
    ranks: np.ndarray
    sums: np.ndarray


def make_sight(num_ranks: int) -> Sight:
    """Empty sums over the lowest `num_ranks` ranks."""
    return Sight(np.zeros(num_ranks, np.int64), np.zeros((2, num_ranks)), np.zeros(3))


@numba.njit(nogil=True)
def lowest_level(lengths, minima, lowest):
    """Fill `lowest` (R,) with the R lowest lengths, ascending, and return the last of them.

    Arguments:
        minima: (K / GROUP,) least length of every group.
    Cost: O(K / GROUP) plus a few groups, for a few ranks.
    """
    num_ranks = lowest.shape[0]
    lowest[:] = np.iinfo(np.int64).max
    for group in range(minima.shape[0]):
        if minima[group] < lowest[num_ranks - 1]:
            for i in range(group * GROUP, min(lengths.shape[0], (group + 1) * GROUP)):
                place = num_ranks - 1
                length = lengths[i]
                if length >= lowest[place]:
                    continue
                while place > 0 and lowest[place - 1] > length:
                    lowest[place] = lowest[place - 1]
                    place -= 1
                lowest[place] = length
    return lowest[num_ranks - 1]


@numba.njit(nogil=True)
def run_near(lengths, duration, limit, is_pending, system, pieces, bank, scratch, sight, averages):
    """Advance the near queues by `duration`, or until the lowest ranks rise above `limit`.

    Special arrivals join near queues only. The far queues do not matter to them as long as the
    highest rank in sight is below all of these, which is why a step ends when that rank exceeds
    the limit: just before the special arrival that finds it so.

    Arguments:
        lengths: (N,) int64 of the near queues, changed in place.
        is_pending: whether a special arrival is due at the beginning.
        system: with the bounds of the classes among the near queues.
        averages: whether `sight` sums what special arrivals find.
    Returns: the time that has passed; the highest length of the highest rank in sight that a
        special arrival found, -1 if none came; whether one is due at the end.
    """
    places, piece_places, rates = point_to(lengths, system, pieces, bank, scratch)
    left, highest, is_due = duration, -1, is_pending
    while True:
        gap = 0.0 if is_due else next_gap(system, bank.side)
        is_due = False
        least = leap_in_pieces(places, lengths.shape[0], min(gap, left), rates, piece_places)
        if gap >= left:
            return duration, highest, False
        left -= gap
        level = see_lowest(lengths, scratch.minima, least, sight)
        if level > limit:
            return duration - left, highest, True
        highest = max(highest, level)
        if averages:
            add_sight(lengths, scratch.minima, sight)
        join_by_rank(lengths, scratch.minima, system, bank.side, sight)


@numba.njit(nogil=True)
def next_gap(system, side):
    """The time to the next special arrival."""
    return next_exponential(side) / system.special_rate


@numba.njit(nogil=True)
def see_lowest(lengths, minima, least, sight):
    """Bring the lowest ranks in sight up to date; returns the last of them."""
    if sight.lowest.shape[0] == 1:
        sight.lowest[0] = least
        return least
    return lowest_level(lengths, minima, sight.lowest)


@numba.njit(nogil=True)
def join_by_rank(lengths, minima, system, side, sight):
    """A special arrival joins a queue of the drawn rank, ties uniform."""
    value = sight.lowest[draw_rank(system, side)]
    lengths[pick_tied(lengths, minima, value, side)] += 1


@numba.njit(nogil=True)
def add_sight(lengths, minima, sight):
    """Add the state that a special arrival finds to the sums."""
    lowest, ranks, sums = sight.lowest, sight.ranks, sight.sums
    for k in range(lowest.shape[0]):
        ranks[0, k] += lowest[k]
        ranks[1, k] += lowest[k] > 0
    sums[0] += 1.0
    if lowest.shape[0] > 1:
        sums[2] += lowest[0] == lowest[1]
    for group in range(minima.shape[0]):
        if minima[group] == 0:
            for i in range(group * GROUP, min(lengths.shape[0], (group + 1) * GROUP)):
                sums[1] += lengths[i] == 0
