"""How long a macro step is: short ones move far queues often, long ones have many near ones."""

from __future__ import annotations

from math import sqrt

from ._leap_loop import LeapSystem
from ._two_scale_bound import Distances
from ._two_scale_far import LARGEST_DRIFT, LARGEST_MEAN

# Seconds, as measured; only their ratios matter.
_PER_CELL = 8e-9
_PER_LEAP = 0.15e-6
_PER_NEAR = 5e-9
_PER_FAR = 2.5e-9
_PER_STEP = 400e-6
# Cells of a table per standard deviation of what it holds.
_CELLS = 18.0
# Macro steps change when another length is so much cheaper.
_GAIN = 0.97
# How far above the present the lowest ranks may rise in a macro step, in standard deviations of
# what a queue moves: raised after a step that ended early for it, slowly lowered after others.
_FIRST_RISE = 1.0
_LEAST_RISE = 0.5
_MOST_RISE = 8.0


class Pace:
    """The length of macro steps and the rise allowed to the lowest ranks, adapted on the way.

    Both depend on the past only, so that the law of the path does not depend on them.

    Arguments:
        system: all servers.
        step: a fixed length, or None to choose and adapt it.
    """

    def __init__(self, system: LeapSystem, step: float | None) -> None:
        self._system = system
        self._num_servers = int(system.bounds[-1])
        self._is_fixed = step is not None
        self._longest = longest_step(system)
        self._step = self._longest if step is None else min(step, self._longest)
        self._is_settled = False
        self.rise = _FIRST_RISE

    def duration(self, left: float) -> float:
        """The length of the next macro step, with `left` to go: an equal part of it."""
        ratio = left / self._step
        return left if ratio <= 1.0 else left / -(-ratio // 1.0)

    def deviation(self, duration: float) -> float:
        """Standard deviation of what the fastest queue moves in a macro step."""
        return sqrt(2.0 * self._system.top_rate * duration)

    def is_right(self, duration: float, distances: Distances, first: int, base: int) -> bool:
        """Whether to go on with this macro step; else the next `duration` is another one.

        Compares the modelled cost per unit of time with steps half and twice as long, with near
        queues counted from the present distances.  Once settled a step is taken as it is, and
        what was found is for the next one.

        Arguments:
            distances: of all queues, at this duration.
            first: the first far class.
            base: the length of the highest rank in sight, from which the near set reaches up.
        """
        if self._is_fixed:
            return True
        reach = distances.level - base + first * distances.width
        costs = {}
        for factor in (1.0, 0.5, 2.0):
            within = base + reach * sqrt(factor) - distances.level
            costs[factor] = self._cost(factor * duration, distances.num_within(within))
        best = min(costs, key=lambda factor: costs[factor])
        if costs[best] > _GAIN * costs[1.0]:
            best = 1.0
        # A step that was cut to end at a save time says nothing about longer ones.
        if best < 1.0 or (best > 1.0 and duration > 0.75 * self._step):
            self._step = min(best * duration, self._longest)
        if self._is_settled:
            return True
        self._is_settled = best >= 1.0
        return self._is_settled

    def learn(self, has_ended_early: bool) -> None:
        """Adapt the rise after a macro step."""
        factor = 1.5 if has_ended_early else 0.98
        self.rise = min(max(self.rise * factor, _LEAST_RISE), _MOST_RISE)

    def _cost(self, duration: float, num_near: int) -> float:
        """Seconds per unit of time."""
        system = self._system
        near = system.special_rate * (_PER_LEAP + _PER_NEAR * num_near)
        far = _PER_STEP + _PER_CELL * _CELLS * self.deviation(duration)
        if num_near < self._num_servers:
            far += _PER_FAR * self._num_servers
        return near + far / duration


def longest_step(system: LeapSystem) -> float:
    """The longest macro step whose changes a table holds; infinite without any rate."""
    drift = float(abs(system.arrival_rates - system.service_rates).max())
    longest = LARGEST_MEAN / system.top_rate if system.top_rate > 0.0 else float("inf")
    return min(longest, LARGEST_DRIFT / drift if drift > 0.0 else longest)
