"""Marginal JSQ event by event, with near and far queues told apart as the two-scale engine does.

Without a fault and with an infinite reach it is the chain itself. It counts the replicas in which a
far queue is as low as the queue that a special arrival joins, and can make mistakes on purpose.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from queueing._engine._two_scale_bound import NUM_CLASSES

FAULTS = ("none", "late near set", "far queues move together")


class Twin(NamedTuple):
    """Rates and rules.

    Attributes:
        arrival, service, special: rates of each server's own arrivals, its service, and of the
            arrivals to the shortest queue.
        step: length of a macro step.
        reach: of the near set above the level, in standard deviations of a queue's move.
        fault: index in FAULTS.
    """

    arrival: float
    service: float
    special: float
    step: float
    reach: float
    fault: int


def twin_of(regime, *, step=np.inf, reach=np.inf, fault="none") -> Twin:
    """The twin of `queueing.extreme_congestion`."""
    streams = regime.streams
    special = float(streams.rank_rates[0])
    return Twin(
        streams.uniform_rate, streams.service_rate, special, step, reach, FAULTS.index(fault)
    )


def run_twin(twin: Twin, start, duration: float, *, replicas: int, seed: int):
    """(R, K) lengths by server after `duration`, and how many replicas had a violation."""
    lengths = np.tile(np.asarray(start, np.int64), (replicas, 1))
    violated = np.zeros(replicas, np.bool_)
    _seed(seed)
    _run(twin, duration, lengths, violated)
    return lengths, int(violated.sum())


@numba.njit
def _seed(seed):
    np.random.seed(seed)


@numba.njit
def _run(twin, duration, lengths, violated):
    near, found = np.ones((2, lengths.shape[1]), np.bool_)
    for row in range(lengths.shape[0]):
        left, rise, is_pending, is_first = duration, 1.0, False, True
        queues = lengths[row]
        while left > 0.0:
            parts = max(1.0, np.ceil(left / twin.step))
            length = left / parts
            deviation = np.sqrt(2.0 * twin.service * length)
            level = queues.min() + np.int64(np.ceil(rise * deviation))
            # Late: who was found near when the step before began.
            near[:] = found
            _tell_apart(queues, level, deviation, twin.reach, found)
            if twin.fault != 1 or is_first:
                near[:] = found
            passed, is_pending, met = _macro_step(twin, queues, near, level, length, is_pending)
            violated[row] |= met
            is_first = False
            rise = min(max(rise * (1.5 if is_pending else 0.98), 0.5), 8.0)
            left = left - passed if passed < left else 0.0


@numba.njit
def _tell_apart(queues, level, deviation, reach, near):
    near[:] = True
    if np.isinf(reach):
        return
    width = 1
    while 2 * width <= deviation / 16.0:
        width *= 2
    limit = level + width * min(np.int64(np.ceil(reach * deviation / width)), NUM_CLASSES)
    for i in range(queues.shape[0]):
        near[i] = queues[i] <= limit


@numba.njit
def _macro_step(twin, queues, near, level, length, is_pending):
    """Time passed, whether a special arrival is due, and whether a far queue was in its way."""
    size = queues.shape[0]
    alone = size * (twin.arrival + twin.service)
    share = twin.arrival / (twin.arrival + twin.service)
    before = queues.copy()
    clock, met = 0.0, False
    while True:
        if not is_pending:
            clock += np.random.exponential(1.0 / (alone + twin.special))
            if clock >= length:
                break
            if np.random.random() * (alone + twin.special) < alone:
                i = np.random.randint(size)
                if np.random.random() < share:
                    queues[i] += 1
                elif queues[i] > 0:
                    queues[i] -= 1
                continue
        is_pending = False
        least = _least(queues, near)
        if least > level and not np.isinf(twin.reach):
            is_pending = True
            break
        for i in range(size):
            met |= not near[i] and queues[i] <= least
        queues[_shortest(queues, near, least)] += 1
    passed = min(clock, length)
    if twin.fault == 2:
        change = np.random.poisson(twin.arrival * passed) - np.random.poisson(twin.service * passed)
        for i in range(size):
            if not near[i]:
                queues[i] = max(0, before[i] + change)
    return passed, is_pending, met


@numba.njit
def _least(queues, near):
    least = np.iinfo(np.int64).max
    for i in range(queues.shape[0]):
        if near[i]:
            least = min(least, queues[i])
    return least


@numba.njit
def _shortest(queues, near, least):
    num_tied = 0
    for i in range(queues.shape[0]):
        num_tied += near[i] and queues[i] == least
    skip = np.random.randint(num_tied)
    for i in range(queues.shape[0]):
        if near[i] and queues[i] == least:
            if skip == 0:
                return i
            skip -= 1
    return 0
