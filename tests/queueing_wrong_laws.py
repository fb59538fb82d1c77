"""A plain simulation of marginal JSQ, right or with one fault that tests have to reject."""

from __future__ import annotations

import numba
import numpy as np

from tests.queueing_joint_law import CAP


@numba.njit(nogil=True)
def _cell(lengths, scratch):
    for k in range(lengths.shape[0]):
        place = k
        while place > 0 and scratch[place - 1] > lengths[k]:
            scratch[place] = scratch[place - 1]
            place -= 1
        scratch[place] = lengths[k]
    cell, factor = 0, 1
    for length in scratch:
        cell += min(length, CAP) * factor
        factor *= CAP + 1
    return cell


@numba.njit(nogil=True)
def _shortest(lengths, first_of_ties):
    least, num_tied = lengths.min(), 0
    for length in lengths:
        num_tied += length == least
    skip = 0 if first_of_ties else np.random.randint(num_tied)
    for i in range(lengths.shape[0]):
        if lengths[i] == least:
            if skip == 0:
                return i
            skip -= 1
    return 0


@numba.njit(nogil=True)
def _events(size, arrival_rate, fraction, num_ticks, is_late, first_of_ties, joint, accepted):
    lengths = np.zeros(size, np.int64)
    before, now, scratch = lengths.copy(), lengths.copy(), lengths.copy()
    threshold = arrival_rate / (arrival_rate + size)
    for tick in range(-num_ticks // 100, num_ticks):
        if tick >= 0:
            joint[_cell(lengths, scratch)] += 1.0 / num_ticks
        # The state before the last event, and the present one.
        before[:], now[:] = now, lengths
        if np.random.random() < threshold:
            server = np.random.randint(size)
            if np.random.random() < fraction:
                server = _shortest(before if is_late else lengths, first_of_ties)
            lengths[server] += 1
            accepted[server] += 1
        else:
            server = np.random.randint(size)
            lengths[server] = max(0, lengths[server] - 1)


@numba.njit(nogil=True)
def _seed(seed):
    np.random.seed(seed)


def plain_chain(
    size,
    arrival_rate,
    fraction,
    *,
    seed,
    num_ticks,
    replicas=48,
    is_late=False,
    first_of_ties=False,
):
    """(R, cells) joint laws and (R, K) accepted jobs of K servers of rate 1, event by event.

    `is_late`: the marginal stream sees the state before the last event. `first_of_ties`: it takes
    the first of tied servers instead of a random one.
    """
    _seed(seed)
    joint = np.zeros((replicas, (CAP + 1) ** size))
    accepted = np.zeros((replicas, size), np.int64)
    for row in range(replicas):
        _events(
            size,
            arrival_rate,
            fraction,
            num_ticks,
            is_late,
            first_of_ties,
            joint[row],
            accepted[row],
        )
    return joint, accepted


@numba.njit(nogil=True)
def _leaps(size, arrival, service, special, num_leaps, joint):
    """Between two special arrivals every queue has a clock of its own."""
    lengths = np.zeros(size, np.int64)
    scratch = lengths.copy()
    total = special + arrival + service
    root = np.sqrt(total * total - 4.0 * arrival * service)
    # At an independent exponential time: floor less a geometric, then plus another.
    down = np.log((total - root) / (2.0 * arrival))
    up = -np.log((total + root) / (2.0 * arrival))
    for leap in range(-num_leaps // 100, num_leaps):
        for i in range(size):
            fallen = lengths[i] - np.int64(np.log(np.random.random()) / down)
            lengths[i] = max(0, fallen) + np.int64(np.log(np.random.random()) / up)
        if leap >= 0:
            joint[_cell(lengths, scratch)] += 1.0 / num_leaps
        lengths[_shortest(lengths, False)] += 1


def independent_clock_leap(size, arrival_rate, fraction, *, seed, num_leaps, replicas=48):
    """(R, cells) joint laws that special arrivals find when every queue has its own interval."""
    _seed(seed)
    joint = np.zeros((replicas, (CAP + 1) ** size))
    special = arrival_rate * fraction
    for row in joint:
        _leaps(size, (arrival_rate - special) / size, 1.0, special, num_leaps, row)
    return joint
