"""How likely any far queue comes down to where special arrivals choose, bounded from above.

Queues are sorted into classes by their distance above a level: class j holds the distances
j width + 1 ... (j + 1) width, the last class all beyond. A class counts at its least distance, so
that what is added up is an upper bound, and at most exp(x / 16) times too large where the distance
is x standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._leap_interval import GROUP, LeapLaw

NUM_CLASSES = 512
# Classes are between 1/32 and 1/16 of a standard deviation wide, where that is above 1.
_PER_DEVIATION = 16.0
# Rounding of sums and exponentials.
_SLACK = 1.0 + 1e-6


@dataclass(frozen=True, eq=False)
class Distances:
    """Queues by their distance above a level.

    Attributes:
        level: queues at or below it are in no class.
        width: of a class.
        servers: (M,) int64, ascending, among them all that are not in the last class.
        beyond: (M,) their lengths less level + 1.
        counts: (C, NUM_CLASSES + 1) queues of every class of servers.
    """

    level: int
    width: int
    servers: np.ndarray
    beyond: np.ndarray
    counts: np.ndarray

    def num_within(self, distance: float) -> int:
        """How many queues are at most so far above the level."""
        return int(np.count_nonzero(self.beyond < distance))

    def within(self, first: int) -> np.ndarray:
        """The servers in classes below `first`, and those at or below the level, ascending."""
        return self.servers[self.beyond < first * self.width]

    @cached_property
    def depths(self) -> np.ndarray:
        """(NUM_CLASSES + 1,) the least distance in each class."""
        return np.arange(NUM_CLASSES + 1) * self.width + 1


def measure_distances(
    lengths: np.ndarray, minima: np.ndarray, bounds: np.ndarray, level: int, deviation: float
) -> Distances:
    """Sort all queues by distance.

    Arguments:
        lengths: (K,) int64.
        minima: (K / GROUP,) least length of every group of servers.
        bounds: (C + 1,) class c of servers is bounds[c] ... bounds[c + 1] - 1.
        level: the distances are above it.
        deviation: standard deviation of what a queue moves, which sets the width.
    Cost: O(K / GROUP), plus about 10 ns for each queue in a group that is not beyond all classes.
    """
    width = 1 << max(0, int(np.floor(np.log2(max(deviation / _PER_DEVIATION, 1.0)))))
    groups = np.flatnonzero(minima <= level + NUM_CLASSES * width)
    servers = (groups[:, None] * GROUP + np.arange(GROUP)).ravel()
    if servers.size > 0 and servers[-1] >= lengths.size:
        servers = servers[: np.searchsorted(servers, lengths.size)]
    beyond = lengths[servers] - (level + 1)
    counts = np.zeros((bounds.size - 1, NUM_CLASSES + 1), np.int64)
    ends = np.searchsorted(servers, bounds)
    for c in range(bounds.size - 1):
        part = beyond[ends[c] : ends[c + 1]]
        is_low = part < 0
        classes = np.minimum(part[~is_low] // width, NUM_CLASSES)
        counts[c] = np.bincount(classes, minlength=NUM_CLASSES + 1)
        counts[c, NUM_CLASSES] += bounds[c + 1] - bounds[c] - part.size
    return Distances(level, width, servers, beyond, counts)


def depth_tail_bound(depths: np.ndarray, up: float, down: float) -> np.ndarray:
    """Bounds of P(the walk U - D goes down by d or more), by Doob's inequality.

        P(m >= d) <= exp(-theta d + down (e^theta - 1) + up (e^-theta - 1)) ,

    for the best theta >= max(0, log(up / down)), where the mean of the martingale does not fall.

    Arguments:
        depths: d, any shape; 1 where d <= 0.
        up, down: means of the two independent Poisson counts over the interval.
    Source: our derivation, after Chernoff.
    """
    depths = np.asarray(depths, np.float64)
    if down <= 0.0:
        return np.where(depths <= 0.0, 1.0, 0.0)
    x = (depths + np.sqrt(depths * depths + 4.0 * up * down)) / (2.0 * down)
    x = np.maximum(x, max(1.0, up / down))
    exponents = -depths * np.log(x) + down * (x - 1.0) + up * (1.0 / x - 1.0)
    bounds = np.minimum(1.0, np.exp(np.minimum(exponents, 0.0)) * _SLACK)
    return np.where(depths <= 0.0, 1.0, bounds)


def depth_tail(depths: np.ndarray, law: LeapLaw, weights: np.ndarray, up: float, down: float):
    """P(m >= d) for the depth m of the walk's minimum, from above but for rounding nearly exact.

        P(m >= d) = P(S <= -d) + (down / up)^d P(S >= d + 1) ,    S = U - D ,

    from the weights of the table that moves the queues; beyond the table's window, and where it is
    smaller, `depth_tail_bound`.

    Arguments:
        depths: (J,) int64, d >= 1.
        law, weights: of the change of the walk over the interval.
        up, down: its means.
    Source: our derivation, by the reflection principle.
    """
    count = law.count
    upward = np.concatenate(([0.0], np.cumsum(weights[:count])))
    downward = np.concatenate(([0.0], np.cumsum(weights[:count][::-1])))
    num_below = np.clip(1 - depths - law.low, 0, count)
    num_above = np.clip(law.low + count - 1 - depths, 0, count)
    beyond_below = depth_tail_bound(np.array(1 - law.low), up, down)
    beyond_above = depth_tail_bound(np.array(law.low + count), down, up)
    below = upward[num_below] / upward[-1] + beyond_below
    above = downward[num_above] / downward[-1] + beyond_above
    exact = below + np.exp(np.minimum(depths * law.log_ratio, 700.0)) * above
    return np.minimum(exact * _SLACK, depth_tail_bound(depths, up, down))


def first_far_class(distances: Distances, ups: np.ndarray, downs: np.ndarray, budget: float) -> int:
    """The lowest class from which on all queues may be far; NUM_CLASSES + 1 if none may.

    The expected number of them whose path comes down to the level is at most `budget`, by
    `depth_tail_bound`.

    Arguments:
        ups, downs: (C,) means over the interval, by class of servers.
    """
    expected = np.zeros(NUM_CLASSES + 1)
    for counts, up, down in zip(distances.counts, ups, downs, strict=True):
        expected += counts * depth_tail_bound(distances.depths, up, down)
    total = np.cumsum(expected[::-1])[::-1]
    within = np.flatnonzero(total > budget)
    return int(within[-1]) + 1 if within.size > 0 else 0
