"""How far a queue is pushed up at 0 in an interval, given what its unreflected walk did."""

from __future__ import annotations

import numba
import numpy as np

from ._xoshiro import next_uniform


@numba.njit(forceinline=True)
def reflect_given_change(length, change, weights, low, count, log_ratio, side):
    """The length after an interval in which arrivals less services are `change`.

    With m the depth of the walk's minimum and p the law of the change, P(m >= j | change = s) is 1
    for j <= max(0, -s), and by the reflection principle

        P(m >= j | s) = (mu/lambda)^j p(s + 2 j) / p(s) ;    q' = q + s + max(0, m - q) .

    Arguments:
        length: q before.
        change: s.
        weights: proportional to p, `count` of them, the first that of `low`.
        log_ratio: log(mu/lambda).

    Source: our derivation.  Cost: constant, plus the depth below the floor.
    """
    depth = max(length, -change)
    mirrored = change + 2 * depth + 2 - low
    if mirrored < count:
        # The uniform number is scaled by p(s), so that nothing is divided.
        bar = next_uniform(side) * weights[np.uintp(change - low)]
        while mirrored < count:
            if bar >= np.exp((depth + 1) * log_ratio) * weights[np.uintp(mirrored)]:
                break
            depth += 1
            mirrored += 2
    return change + depth


@numba.njit(forceinline=True)
def reflect_given_counts(length, ups, downs, side):
    """The length after `ups` arrivals and `downs` services in exchangeable order, at any rates.

        P(m >= j | U, D) = prod_{i <= j} (D - i + 1)/(U + i)    for j >= max(0, D - U), else 1 .

    Source: our derivation, by the reflection principle.  Cost: O(sqrt(U + D)) at most.
    """
    end = length + ups - downs
    if downs <= length:
        return end
    uniform = next_uniform(side)
    depth = max(0, downs - ups)
    tail = (downs - depth) / (ups + depth + 1.0)
    while uniform < tail:
        depth += 1
        tail *= (downs - depth) / (ups + depth + 1.0)
    return end + max(0, depth - length)
