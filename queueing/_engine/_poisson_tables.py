"""Weights of Poisson and Skellam laws on windows that hold all of their mass but rounding."""

from __future__ import annotations

import numba
import numpy as np

# Terms below this share of the largest are left out. Fewer than 2^11 of them, each below 1e-18, are
# a total variation of at most 2e-15 in theory and below 1e-16 in fact, for they decrease
# geometrically: less than the spacing 2^-53 of the numbers that draw from the tables.
NEGLIGIBLE = 1e-18
# exp(-43) < NEGLIGIBLE: where Bernstein's inequality puts the ends of a window.
_LOG_NEGLIGIBLE = 43.0


@numba.njit(nogil=True)
def poisson_window(mean, weights):
    """Weights proportional to the Poisson law of `mean`, by the ratio of neighbours from the mode.

    Arguments:
        mean: >= 0.
        weights: scratch of at least `window_bound(mean)` entries.
    Returns: (first value, number of values); the weights are in `weights[:number]`.
    """
    mode = np.int64(mean)
    middle = np.int64(weights.shape[0] // 2)
    middle = min(middle, mode)
    weights[middle] = 1.0
    low, weight, value = middle, 1.0, np.float64(mode)
    while value > 0.0 and weight * value > NEGLIGIBLE * mean:
        weight *= value / mean
        value -= 1.0
        low -= 1
        weights[low] = weight
    high, weight, value = middle, 1.0, np.float64(mode)
    while weight * mean > NEGLIGIBLE * (value + 1.0):
        value += 1.0
        weight *= mean / value
        high += 1
        weights[high] = weight
    count = high - low + 1
    for k in range(count):
        weights[k] = weights[low + k]
    return mode - (middle - low), count


@numba.njit(nogil=True)
def skellam_window(up, down, weights):
    """Weights proportional to the law of U - D, independent Poisson of means `up` and `down`.

    From both ends towards 0 by the recurrence that the Bessel functions give,

        up p(s-1) = s p(s) + down p(s+1)   (s > 0),    down p(s+1) = -s p(s) + up p(s-1)   (s < 0),

    in the direction in which it is stable (Miller): every term is positive.

    Arguments:
        up, down: means >= 0.
        weights: scratch of at least `window_bound(up + down)` entries, plus |up - down|.
    Returns: (first value, number of values); the weights are in `weights[:number]`.
    """
    if min(up, down) <= NEGLIGIBLE:
        first, count = poisson_window(max(up, down), weights)
        if up >= down:
            return first, count
        for k in range(count // 2):
            weights[k], weights[count - 1 - k] = weights[count - 1 - k], weights[k]
        return 1 - first - count, count
    spread = _LOG_NEGLIGIBLE / 3.0
    spread += np.sqrt(spread * spread + 2.0 * _LOG_NEGLIGIBLE * (up + down))
    high = max(np.int64(np.ceil(up - down + spread)), 1)
    zero = max(np.int64(np.ceil(down - up + spread)), 1)
    # The side that holds the mode is filled last, and the other one put on its scale.
    is_up = up >= down
    major, minor = max(up, down), min(up, down)
    long, short, sign = (high, zero, 1) if is_up else (zero, high, -1)
    _fill_side(minor, major, weights, zero, short, -sign)
    other = weights[zero]
    _fill_side(major, minor, weights, zero, long, sign)
    ratio = weights[zero] / other
    for k in range(1, short + 1):
        weights[zero - sign * k] *= ratio
    first, count = _trim(weights, zero + high + 1)
    return first - zero, count


@numba.njit(nogil=True)
def _fill_side(toward, away, weights, zero, reach, sign):
    """Terms from `reach` steps away from 0 down to 0, on one side."""
    inverse = 1.0 / toward
    ratio = away * inverse
    beyond, term = 0.0, 1e-250
    weights[zero + sign * reach] = term
    for step in range(reach, 0, -1):
        beyond, term = term, step * inverse * term + ratio * beyond
        if term > 1e100:
            # Very unequal means, or tiny ones: what is far out becomes 0, as it should.
            beyond, term = beyond * 1e-200, term * 1e-200
            for k in range(step, reach + 1):
                weights[zero + sign * k] *= 1e-200
        weights[zero + sign * (step - 1)] = term


@numba.njit(nogil=True)
def _trim(weights, size):
    """Move the terms that are not negligible to the front: where they began, and how many."""
    largest = 0.0
    for k in range(size):
        largest = max(largest, weights[k])
    first, last = 0, size - 1
    while weights[first] < NEGLIGIBLE * largest:
        first += 1
    while weights[last] < NEGLIGIBLE * largest:
        last -= 1
    for k in range(last - first + 1):
        weights[k] = weights[first + k]
    return first, last - first + 1


def window_bound(mean: float) -> int:
    """More entries than any window of total mean `mean` has."""
    spread = _LOG_NEGLIGIBLE / 3.0
    return int(2.0 * (spread + np.sqrt(spread**2 + 2.0 * _LOG_NEGLIGIBLE * mean))) + 8
