"""Macro steps: near queues leap between special arrivals, far queues once, and what may go wrong.

A macro step begins with the whole state known. With M* a level a little above the lowest ranks, the
near queues are those from which a walk comes down to M* in time with a probability worth counting.
They alone receive the special arrivals, until the step is over, or until the lowest ranks are found
above M*, whichever is first; that time depends on the near queues only, so that all others leap
over it, each as the M/M/1 queue that it is. The result is a path of the chain unless a far queue's
path has come down to the lowest ranks when a special arrival chose: a tie counts, for ties are
broken at random. The probability of that, given the path of the near queues, is what is added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ._inlined import internal
from ._leap_interval import fill_leap, make_leap_scratch
from ._leap_loop import LeapSystem
from ._two_scale_bound import (
    NUM_CLASSES,
    Distances,
    depth_tail,
    first_far_class,
    measure_distances,
    servers_within,
)
from ._two_scale_far import Blocks, leap_blocks, make_blocks, put_back
from ._two_scale_near import (
    add_sight,
    join_by_rank,
    lowest_level,
    next_gap,
    run_near,
    see_lowest,
)
from ._two_scale_pace import Pace, allowed_rise, deviation_within, is_right, learn, next_duration
from ._two_scale_pieces import Pieces
from ._xoshiro import RandomBank, make_banks

# So many near queues are served faster by the blocks, if they are not a small part of all.
_MANY_NEAR = 1 << 15
_NEAR_SHARE = 0.25
# Special arrivals that plain leaping goes through before near and far are told apart again.
_PLAIN_ARRIVALS = 16


class StepRules(NamedTuple):
    """What the macro steps of all replicas obey.

    Attributes:
        system: rates and classes of all servers.
        pieces: of the near queues' leaps.
        budget_rate: bound of the violation probability that may be spent per unit of time.
        reach: the near set's reach above M* in standard deviations, whatever the budget; negative
            if the budget says.
    """

    system: LeapSystem
    pieces: Pieces
    budget_rate: float
    reach: float


class Walker(NamedTuple):
    """One replica on its way, or many, whose arrays have R replicas as their first axis.

    Attributes:
        blocks: the lengths, in the order of the classes of servers.
        bank: of the near queues and special arrivals.
        pace: of the macro steps.
        is_pending: (1,) whether a special arrival is due.
        sums: (3,) the bound of the violation probability so far, macro steps made, and the sum of
            their numbers of near queues.
    """

    blocks: Blocks
    bank: RandomBank
    pace: Pace
    is_pending: np.ndarray
    sums: np.ndarray


# Places in `Walker.sums`.
BOUND, NUM_STEPS, NUM_NEAR = range(3)


def make_walkers(
    lengths: np.ndarray, words: np.ndarray, block_words: np.ndarray, pace: Pace
) -> Walker:
    """Replicas at their start.

    Arguments:
        lengths: (R, K) int64, in the order of the classes of servers; changed on the way.
        words, block_words: (R, ...) that seed the banks of each replica and of its blocks.
        pace: of each.
    """
    num_replicas = len(lengths)
    return Walker(
        make_blocks(lengths, block_words),
        make_banks(words),
        pace._replace(present=np.tile(pace.present, (num_replicas, 1))),
        np.zeros((num_replicas, 1), np.bool_),
        np.zeros((num_replicas, 3)),
    )


class _Plan(NamedTuple):
    """A macro step before it is made: its length, and who is near."""

    duration: float
    distances: Distances
    first: int | np.int64


def build_advance(leap: Callable[..., None], is_compiled: bool = False) -> Callable[..., None]:
    """The function that goes on.

    Arguments:
        leap: see `leap_blocks`.
        is_compiled: whether it is compiled; it is not where `leap` shares work among threads.
    Returns: advance(walkers, duration, rules, space, sight, averages), which advances every
        replica; with `averages` the sums of `sight` see every special arrival.
    """

    compiled, entry = (internal, numba.njit(nogil=True)) if is_compiled else (_as_it_is, _as_it_is)
    plan_step, run_step = compiled(_plan), compiled(_run_near)
    fill, violation = compiled(_fill), compiled(_violation)

    @compiled
    def leap_all(walker, duration, rules, space):
        system = rules.system
        for c in range(system.arrival_rates.size):
            law = fill(c, duration, system, space)
            leap(walker.blocks, system.bounds[c], system.bounds[c + 1], law, space)

    @compiled
    def leap_bounded(walker, duration, rules, space, plan, highest):
        """As above, the near queues for nothing, and add to the bound.

        Arguments:
            highest: the highest level that a special arrival has chosen at, -1 if none came.
        """
        system = rules.system
        for c in range(system.arrival_rates.size):
            law = fill(c, duration, system, space)
            if highest >= 0:
                walker.sums[BOUND] += violation(c, duration, system, space, law, plan, highest)
            leap(walker.blocks, system.bounds[c], system.bounds[c + 1], law, space)

    @compiled
    def leap_plainly(walker, left, rules, space, sight, averages):
        """Some special arrivals with all queues near; returns the time that has passed."""
        lengths, minima, side = walker.blocks.lengths, walker.blocks.minima, walker.bank.side
        passed = 0.0
        for _ in range(_PLAIN_ARRIVALS):
            gap = 0.0 if walker.is_pending[0] else next_gap(rules.system, side)
            walker.is_pending[0] = False
            if passed + gap >= left:
                leap_all(walker, left - passed, rules, space)
                return left
            leap_all(walker, gap, rules, space)
            passed += gap
            see_lowest(lengths, minima, minima.min(), sight)
            if averages:
                add_sight(lengths, minima, sight)
            join_by_rank(lengths, minima, rules.system, side, sight)
        return passed

    @compiled
    def step(walker, left, rules, space, sight, averages):
        """One macro step; returns the time that has passed."""
        plan = plan_step(walker, left, rules, sight)
        size = walker.blocks.lengths.size
        num_near = size - plan.distances.counts[:, plan.first :].sum()
        walker.sums[NUM_STEPS] += 1
        walker.sums[NUM_NEAR] += num_near
        if num_near >= _MANY_NEAR and num_near > _NEAR_SHARE * size:
            return leap_plainly(walker, left, rules, space, sight, averages)
        near = servers_within(plan.distances, plan.first) if num_near < size else np.arange(size)
        lengths, passed, highest = run_step(walker, near, plan, rules, sight, averages)
        if num_near < size:
            leap_bounded(walker, passed, rules, space, plan, highest)
        put_back(walker.blocks, near, lengths)
        learn(walker.pace, walker.is_pending[0])
        return passed

    @entry
    def advance(walkers, duration, rules, space, sight, averages):
        blocks, bank, pace = walkers.blocks, walkers.bank, walkers.pace
        for r in range(walkers.sums.shape[0]):
            block_banks = RandomBank(blocks.banks.lanes[r], blocks.banks.side[r])
            walker = Walker(
                Blocks(blocks.lengths[r], blocks.minima[r], block_banks),
                RandomBank(bank.lanes[r], bank.side[r]),
                Pace(
                    pace.special_rate,
                    pace.top_rate,
                    pace.num_servers,
                    pace.longest,
                    pace.is_fixed,
                    pace.present[r],
                ),
                walkers.is_pending[r],
                walkers.sums[r],
            )
            left = duration
            while left > 0.0:
                if rules.system.special_rate > 0.0:
                    passed = step(walker, left, rules, space, sight, averages)
                else:
                    passed = next_duration(walker.pace, left)
                    leap_all(walker, passed, rules, space)
                left = left - passed if passed < left else 0.0

    return advance


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _plan(walker, left, rules, sight):
    lengths, minima, pace = walker.blocks.lengths, walker.blocks.minima, walker.pace
    system = rules.system
    base = lowest_level(lengths, minima, sight.lowest)
    while True:
        duration = next_duration(pace, left)
        deviation = deviation_within(pace, duration)
        level = base + allowed_rise(pace, deviation)
        distances = measure_distances(lengths, minima, system.bounds, level, deviation)
        if rules.reach >= 0.0:
            reach = np.int64(np.ceil(rules.reach * deviation / distances.width))
            first = min(reach, NUM_CLASSES)
        else:
            ups, downs = system.arrival_rates * duration, system.service_rates * duration
            first = first_far_class(distances, ups, downs, rules.budget_rate * duration)
        if is_right(pace, duration, distances, first, base):
            return _Plan(duration, distances, first)


def _run_near(walker, near, plan, rules, sight, averages):
    """The lengths of the near queues after the step, its duration, and the highest level chosen."""
    lengths, system = walker.blocks.lengths[near], rules.system
    passed, highest, is_due = run_near(
        lengths,
        plan.duration,
        plan.distances.level,
        walker.is_pending[0],
        LeapSystem(
            system.special_rate,
            system.rank_cut,
            system.rank_alias,
            np.searchsorted(near, system.bounds),
            system.arrival_rates,
            system.service_rates,
            system.top_rate,
        ),
        rules.pieces,
        walker.bank,
        make_leap_scratch(lengths.size),
        sight,
        averages,
    )
    walker.is_pending[0] = is_due
    return lengths, passed, highest


def _fill(c, duration, system, space):
    """Fill the tables for class c of the servers and one interval."""
    up, down = system.arrival_rates[c] * duration, system.service_rates[c] * duration
    return fill_leap(up, down, space.tables)


def _violation(c, duration, system, space, law, plan, highest):
    """Expected number of far queues of class c that have come down to the highest level."""
    distances, first = plan.distances, plan.first
    up, down = system.arrival_rates[c] * duration, system.service_rates[c] * duration
    above = distances.level - highest
    depths = np.arange(first, NUM_CLASSES + 1) * distances.width + 1 + above
    tails = depth_tail(depths, law, space.tables.change.weights, up, down)
    expected = 0.0
    for j in range(tails.size):
        expected += distances.counts[c, first + j] * tails[j]
    return expected


advance_alone: Callable[..., None] = build_advance(leap_blocks, is_compiled=True)
