"""How likely any far queue comes down to where special arrivals choose, bounded from above.

Queues are sorted into classes by their distance above a level: class j holds the distances
j width + 1 ... (j + 1) width, the last class all beyond. A class counts at its least distance, so
that what is added up is an upper bound, and at most exp(x / 16) times too large where the distance
is x standard deviations.
"""

from __future__ import annotations

from math import exp, log, log2, sqrt
from typing import NamedTuple

import numba
import numpy as np

from ._leap_interval import GROUP

NUM_CLASSES = 512
# Classes are between 1/32 and 1/16 of a standard deviation wide, where that is above 1.
_PER_DEVIATION = 16.0
# Rounding of sums and exponentials.
_SLACK = 1.0 + 1e-6


class Distances(NamedTuple):
    """Queues by their distance above a level.

    Attributes:
        level: queues at or below it are in no class.
        width: of a class.
        servers: (M,) int64, ascending, among them all that are not in the last class.
        beyond: (M,) their lengths less level + 1.
        counts: (C, NUM_CLASSES + 1) queues of every class of servers.
    """

    level: int | np.int64
    width: int | np.int64
    servers: np.ndarray
    beyond: np.ndarray
    counts: np.ndarray


@numba.njit(nogil=True)
def servers_within(distances, first):
    """The servers in classes below `first`, and those at or below the level, ascending."""
    return distances.servers[distances.beyond < first * distances.width]


@numba.njit(nogil=True)
def num_within(distances, distance):
    """How many queues are at most so far above the level."""
    found = 0
    for above in distances.beyond:
        found += above < distance
    return found


@numba.njit(nogil=True)
def measure_distances(lengths, minima, bounds, level, deviation):
    """Sort all queues by distance.

    Arguments:
        lengths: (K,) int64.
        minima: (K / GROUP,) least length of every group of servers.
        bounds: (C + 1,) class c of servers is bounds[c] ... bounds[c + 1] - 1.
        level: the distances are above it.
        deviation: standard deviation of what a queue moves, which sets the width.
    Cost: O(K / GROUP), plus about 10 ns for each queue in a group that is not beyond all classes.
    """
    width = 1 << np.int64(log2(max(deviation / _PER_DEVIATION, 1.0)))
    servers, beyond, counts = _measure(lengths, minima, bounds, level, width)
    return Distances(level, width, servers, beyond, counts)


@numba.njit(nogil=True)
def _measure(lengths, minima, bounds, level, width):
    """`servers`, `beyond` and `counts` of `Distances`."""
    size, limit = lengths.size, level + NUM_CLASSES * width
    most = np.count_nonzero(minima <= limit) * GROUP
    servers, beyond = np.empty(most, np.int64), np.empty(most, np.int64)
    counts = np.zeros((bounds.size - 1, NUM_CLASSES + 1), np.int64)
    # All are beyond until they are seen.
    for c in range(bounds.size - 1):
        counts[c, NUM_CLASSES] = bounds[c + 1] - bounds[c]
    found, c = 0, 0
    for group in range(minima.size):
        if minima[group] > limit:
            continue
        for i in range(group * GROUP, min((group + 1) * GROUP, size)):
            while i >= bounds[c + 1]:
                c += 1
            above = lengths[i] - (level + 1)
            servers[found], beyond[found] = i, above
            found += 1
            counts[c, NUM_CLASSES] -= 1
            if above >= 0:
                counts[c, min(above // width, NUM_CLASSES)] += 1
    return servers[:found], beyond[:found], counts


@numba.njit(nogil=True)
def depth_tail_bound(depth, up, down):
    """A bound of P(the walk U - D goes down by d or more), by Doob's inequality.

        P(m >= d) <= exp(-theta d + down (e^theta - 1) + up (e^-theta - 1)) ,

    for the best theta >= max(0, log(up / down)), where the mean of the martingale does not fall.

    Arguments:
        depth: d; the bound is 1 where d <= 0.
        up, down: means of the two independent Poisson counts over the interval.
    Source: our derivation, after Chernoff.
    """
    if depth <= 0:
        return 1.0
    if down <= 0.0:
        return 0.0
    d = float(depth)
    x = max((d + sqrt(d * d + 4.0 * up * down)) / (2.0 * down), 1.0, up / down)
    exponent = -d * log(x) + down * (x - 1.0) + up * (1.0 / x - 1.0)
    return min(1.0, exp(min(exponent, 0.0)) * _SLACK)


@numba.njit(nogil=True)
def depth_tail(depths, law, weights, up, down):
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
    low, count = law.low, law.count
    upward, downward = np.zeros(count + 1), np.zeros(count + 1)
    for i in range(count):
        upward[i + 1] = upward[i] + weights[i]
        downward[i + 1] = downward[i] + weights[count - 1 - i]
    beyond_below = depth_tail_bound(1 - low, up, down)
    beyond_above = depth_tail_bound(low + count, down, up)
    tails = np.empty(depths.size)
    for j in range(depths.size):
        depth = depths[j]
        num_below = min(max(1 - depth - low, 0), count)
        num_above = min(max(low + count - 1 - depth, 0), count)
        below = upward[num_below] / upward[count] + beyond_below
        above = downward[num_above] / downward[count] + beyond_above
        exact = below + exp(min(depth * law.log_ratio, 700.0)) * above
        tails[j] = min(exact * _SLACK, depth_tail_bound(depth, up, down))
    return tails


@numba.njit(nogil=True)
def first_far_class(distances, ups, downs, budget):
    """The lowest class from which on all queues may be far; NUM_CLASSES + 1 if none may.

    The expected number of them whose path comes down to the level is at most `budget`, by
    `depth_tail_bound`.

    Arguments:
        ups, downs: (C,) means over the interval, by class of servers.
    """
    counts, expected = distances.counts, 0.0
    for j in range(NUM_CLASSES, -1, -1):
        for c in range(counts.shape[0]):
            if counts[c, j] > 0:
                depth = j * distances.width + 1
                expected += counts[c, j] * depth_tail_bound(depth, ups[c], downs[c])
        if expected > budget:
            return j + 1
    return 0
