"""How long a macro step is: short ones move far queues often, long ones have many near ones."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numba
import numpy as np

from ._leap_loop import LeapSystem
from ._two_scale_bound import num_within
from ._two_scale_far import LARGEST_DRIFT, LARGEST_MEAN

# Seconds, as measured; only their ratios matter.
_PER_CELL = 8e-9
_PER_LEAP = 0.15e-6
_PER_NEAR = 5e-9
_PER_FAR = 2.5e-9
_PER_STEP = 100e-6
# Cells of a table per standard deviation of what it holds.
_CELLS = 18.0
# Macro steps change when another length is so much cheaper.
_GAIN = 0.97
# How far above the present the lowest ranks may rise in a macro step, in standard deviations of
# what a queue moves: raised after a step that ended early for it, slowly lowered after others.
_FIRST_RISE = 1.0
_LEAST_RISE = 0.5
_MOST_RISE = 8.0


class Pace(NamedTuple):
    """The length of macro steps and the rise allowed to the lowest ranks, adapted on the way.

    Both depend on the past only, so that the law of the path does not depend on them.

    Attributes:
        special_rate, top_rate: of the system.
        num_servers: of all.
        longest: the longest step.
        is_fixed: whether the step is not adapted.
        present: (3,) the step, the rise, and whether the step is settled.
    """

    special_rate: float
    top_rate: float
    num_servers: int
    longest: float
    is_fixed: bool
    present: np.ndarray


# Places in `Pace.present`.
_STEP, _RISE, _SETTLED = range(3)


def first_pace(system: LeapSystem, step: float | None) -> Pace:
    """The pace of a replica at its start.

    Arguments:
        system: all servers.
        step: a fixed length, or None to choose and adapt it.
    """
    longest = longest_step(system)
    first = longest if step is None else min(step, longest)
    return Pace(
        float(system.special_rate),
        float(system.top_rate),
        int(system.bounds[-1]),
        float(longest),
        step is not None,
        np.array([first, _FIRST_RISE, 0.0]),
    )


@numba.njit(nogil=True)
def next_duration(pace, left):
    """The length of the next macro step, with `left` to go: an equal part of it."""
    ratio = left / pace.present[_STEP]
    return left if ratio <= 1.0 else left / np.ceil(ratio)


@numba.njit(nogil=True)
def deviation_within(pace, duration):
    """Standard deviation of what the fastest queue moves in that time."""
    return sqrt(2.0 * pace.top_rate * duration)


@numba.njit(nogil=True)
def allowed_rise(pace, deviation):
    """How far the lowest ranks may rise, in jobs."""
    return np.int64(np.ceil(pace.present[_RISE] * deviation))


@numba.njit(nogil=True)
def is_right(pace, duration, distances, first, base):
    """Whether to go on with this macro step; else the next `duration` is another one.

    Compares the modelled cost per unit of time with steps half and twice as long, with near
    queues counted from the present distances.  Once settled a step is taken as it is, and what
    was found is for the next one.

    Arguments:
        distances: of all queues, at this duration.
        first: the first far class.
        base: the length of the highest rank in sight, from which the near set reaches up.
    """
    if pace.is_fixed:
        return True
    present = pace.present
    reach = distances.level - base + first * distances.width
    cost = _cost(pace, duration, num_within(distances, first * distances.width))
    best, least = 1.0, _GAIN * cost
    for factor in (0.5, 2.0):
        within = base + reach * sqrt(factor) - distances.level
        other = _cost(pace, factor * duration, num_within(distances, within))
        if other <= least:
            best, least = factor, other
    # A step that was cut to end at a save time says nothing about longer ones.
    if best < 1.0 or (best > 1.0 and duration > 0.75 * present[_STEP]):
        present[_STEP] = min(best * duration, pace.longest)
    if present[_SETTLED] > 0.0:
        return True
    present[_SETTLED] = best >= 1.0
    return best >= 1.0


@numba.njit(nogil=True)
def learn(pace, has_ended_early):
    """Adapt the rise after a macro step."""
    factor = 1.5 if has_ended_early else 0.98
    pace.present[_RISE] = min(max(pace.present[_RISE] * factor, _LEAST_RISE), _MOST_RISE)


@numba.njit(nogil=True)
def _cost(pace, duration, num_near):
    """Seconds per unit of time."""
    near = pace.special_rate * (_PER_LEAP + _PER_NEAR * num_near)
    far = _PER_STEP + _PER_CELL * _CELLS * deviation_within(pace, duration)
    if num_near < pace.num_servers:
        far += _PER_FAR * pace.num_servers
    return near + far / duration


def longest_step(system: LeapSystem) -> float:
    """The longest macro step whose changes a table holds; infinite without any rate."""
    drift = float(abs(system.arrival_rates - system.service_rates).max())
    longest = LARGEST_MEAN / system.top_rate if system.top_rate > 0.0 else float("inf")
    return min(longest, LARGEST_DRIFT / drift if drift > 0.0 else longest)
