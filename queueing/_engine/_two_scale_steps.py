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

from concurrent.futures import Executor
from dataclasses import dataclass
from math import ceil

import numpy as np

from ._leap_interval import make_leap_scratch
from ._leap_loop import LeapSystem
from ._two_scale_bound import NUM_CLASSES, Distances, depth_tail, first_far_class, measure_distances
from ._two_scale_far import Blocks
from ._two_scale_near import (
    Sight,
    add_sight,
    join_by_rank,
    lowest_level,
    next_gap,
    run_near,
    see_lowest,
)
from ._two_scale_pace import Pace
from ._two_scale_pieces import Pieces
from ._xoshiro import make_bank

# So many near queues are served faster by the blocks, if they are not a small part of all.
_MANY_NEAR = 1 << 15
_NEAR_SHARE = 0.25
# Special arrivals that plain leaping goes through before near and far are told apart again.
_PLAIN_ARRIVALS = 16


@dataclass(frozen=True)
class StepRules:
    """What the macro steps of a run obey.

    Attributes:
        budget_rate: bound of the violation probability that may be spent per unit of time.
        step: a fixed length of macro steps, or None to adapt it.
        reach: the near set's reach above M* in standard deviations, whatever the budget; or None.
        num_threads: how many threads share the far queues of one replica.
    """

    budget_rate: float
    step: float | None
    reach: float | None
    num_threads: int


@dataclass(frozen=True, eq=False)
class _Plan:
    """A macro step before it is made: its length, and who is near."""

    duration: float
    distances: Distances
    first: int

    @property
    def num_far(self) -> int:
        """How many queues are far."""
        return int(self.distances.counts[:, self.first :].sum())


class MacroSteps:
    """One replica on its way.

    Attributes:
        blocks: the lengths, in the order of the classes of servers.
        bound: of the violation probability so far.
        num_steps, num_near: macro steps made, and the sum of their numbers of near queues.
    """

    def __init__(
        self,
        system: LeapSystem,
        pieces: Pieces,
        rules: StepRules,
        lengths: np.ndarray,
        sequence: np.random.SeedSequence,
        pool: Executor | None,
    ) -> None:
        self.blocks = Blocks(lengths, sequence.spawn(1)[0], pool, rules.num_threads)
        self.bound = 0.0
        self.num_steps = 0
        self.num_near = 0
        self._system = system
        self._pieces = pieces
        self._rules = rules
        self._bank = make_bank(sequence)
        self._pace = Pace(system, rules.step)
        self._is_pending = False

    def advance(self, duration: float, sight: Sight, averages: bool) -> None:
        """Go on for `duration`; with `averages` the sums of `sight` see every special arrival."""
        left = duration
        while left > 0.0:
            if self._system.special_rate > 0.0:
                passed = self._step(left, sight, averages)
            else:
                passed = self._pace.duration(left)
                self._leap_all(passed)
            left = left - passed if passed < left else 0.0

    def _step(self, left: float, sight: Sight, averages: bool) -> float:
        """One macro step; returns the time that has passed."""
        plan, blocks = self._plan(left, sight), self.blocks
        size = blocks.lengths.size
        num_near = size - plan.num_far
        self.num_steps += 1
        self.num_near += num_near
        if num_near >= _MANY_NEAR and num_near > _NEAR_SHARE * size:
            return self._leap_plainly(left, sight, averages)
        near = plan.distances.within(plan.first) if num_near < size else np.arange(size)
        lengths = blocks.lengths[near]
        bounds = np.searchsorted(near, self._system.bounds)
        passed, highest, self._is_pending = run_near(
            lengths,
            plan.duration,
            plan.distances.level,
            self._is_pending,
            self._system._replace(bounds=bounds),
            self._pieces,
            self._bank,
            make_leap_scratch(num_near),
            sight,
            averages,
        )
        if num_near < size:
            self._leap_all(passed, plan, highest)
        blocks.put_back(near, lengths)
        self._pace.learn(self._is_pending)
        return passed

    def _leap_plainly(self, left: float, sight: Sight, averages: bool) -> float:
        """Some special arrivals with all queues near; returns the time that has passed."""
        lengths, minima, side = self.blocks.lengths, self.blocks.minima, self._bank.side
        passed = 0.0
        for _ in range(_PLAIN_ARRIVALS):
            gap = 0.0 if self._is_pending else next_gap(self._system, side)
            self._is_pending = False
            if passed + gap >= left:
                self._leap_all(left - passed)
                return left
            self._leap_all(gap)
            passed += gap
            see_lowest(lengths, minima, int(minima.min()), sight)
            if averages:
                add_sight(lengths, minima, sight)
            join_by_rank(lengths, minima, self._system, side, sight)
        return passed

    def _plan(self, left: float, sight: Sight) -> _Plan:
        lengths, minima, pace = self.blocks.lengths, self.blocks.minima, self._pace
        base = int(lowest_level(lengths, minima, sight.lowest))
        while True:
            duration = pace.duration(left)
            deviation = pace.deviation(duration)
            level = base + ceil(pace.rise * deviation)
            distances = measure_distances(lengths, minima, self._system.bounds, level, deviation)
            first = self._first_far(distances, duration, deviation)
            if pace.is_right(duration, distances, first, base):
                return _Plan(duration, distances, first)

    def _first_far(self, distances: Distances, duration: float, deviation: float) -> int:
        if self._rules.reach is not None:
            return min(ceil(self._rules.reach * deviation / distances.width), NUM_CLASSES)
        return first_far_class(
            distances,
            self._system.arrival_rates * duration,
            self._system.service_rates * duration,
            self._rules.budget_rate * duration,
        )

    def _leap_all(self, duration: float, plan: _Plan | None = None, highest: int = -1) -> None:
        """Leap with all queues, the near ones for nothing, and add to the bound.

        Arguments:
            highest: the highest level that a special arrival has chosen at, -1 if none came.
        """
        system = self._system
        for c in range(system.arrival_rates.size):
            up = float(system.arrival_rates[c] * duration)
            down = float(system.service_rates[c] * duration)
            law = self.blocks.fill(up, down)
            if plan is not None and highest >= 0:
                depths = plan.distances.depths[plan.first :] + (plan.distances.level - highest)
                tails = depth_tail(depths, law, self.blocks.tables.change.weights, up, down)
                self.bound += float(plan.distances.counts[c, plan.first :] @ tails)
            self.blocks.leap(int(system.bounds[c]), int(system.bounds[c + 1]), law)
