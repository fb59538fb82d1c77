"""The structures of the calendar engine against plain Python ones."""

import heapq
from collections import deque

import numba
import numpy as np
import pytest

from queueing import Deterministic, Gamma, Lognormal, System, Uniform, Weibull
from queueing._engine._calendar_start import NO_SAMPLES
from queueing._engine._calendar_state import COUNT_ENTRIES, CURSOR, TRAVEL_CURSOR
from queueing._engine._calendar_supply import ArrivalClock, Supply
from queueing._engine._job_pool import RESERVE, fill_pool, pop_job, push_job, with_free_nodes
from queueing._engine._tournament import hold_tournament, set_due
from queueing._engine._travel_heap import (
    empty_heap,
    pop_traveller,
    push_traveller,
    with_places,
)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64, 100])
def test_the_next_source_is_the_first_of_the_earliest(size):
    """Against argmin, which takes the first of equals, with many ties."""
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, size).astype(float)
    tree = hold_tournament(times)
    for _ in range(300):
        assert tree.winners[1] == np.argmin(times) and tree.keys[1] == times.min()
        source = int(rng.integers(size))
        times[source] = rng.choice([0.0, 1.0, 2.0, 5.0, np.inf])
        set_due.py_func(tree, tree.keys.size // 2, source, times[source])


def test_lists_through_one_pool_are_queues():
    """Against deques, with growth; nodes are neither lost nor shared."""
    rng = np.random.default_rng(2)
    queues = [deque([1.0, 2.0]), deque(), deque([3.0])]
    pool = fill_pool(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]))
    for step in range(1000):
        if pool.free[1] < RESERVE:
            pool = with_free_nodes(pool)
        queue = int(rng.integers(3))
        if rng.random() < 0.55:
            assert push_job.py_func(pool, queue, float(step), step) == (not queues[queue])
            queues[queue].append(float(step))
        elif queues[queue]:
            queues[queue].popleft()
            _, due = pop_job.py_func(pool, queue)
            assert due == (queues[queue][0] if queues[queue] else np.inf)
        inside = sum(map(len, queues))
        assert inside + pool.free[1] == pool.times.size
    assert pool.times.size > 100


@numba.njit
def _land_all(heap, times):
    """Send all, land half, send them again, land all."""
    out = np.empty(times.size + times.size // 2, np.int64)
    for k in range(times.size):
        push_traveller(heap, times[k], k, 0.5 * k)
    for k in range(out.size):
        tag, span = pop_traveller(heap)
        out[k] = tag if span == 0.5 * tag else -1
        if k < times.size // 2:
            push_traveller(heap, times[tag] + 10.0, tag, span)
    return out


@pytest.mark.slow
def test_travellers_land_in_order_of_time_and_of_setting_out():
    """Against heapq on (time, ticket), with many ties."""
    times = np.random.default_rng(3).integers(0, 20, 200).astype(float)
    heap = empty_heap()
    while heap.times.size <= times.size:
        heap = with_places(heap)
    found = _land_all(heap, times)
    plain = [(time, k, k) for k, time in enumerate(times)]
    heapq.heapify(plain)
    expected = []
    for k in range(found.size):
        _, _, tag = heapq.heappop(plain)
        expected.append(tag)
        if k < times.size // 2:
            heapq.heappush(plain, (times[tag] + 10.0, times.size + k, tag))
    np.testing.assert_array_equal(found, expected)


def test_arrival_times_do_not_drift():
    """Whole times exactly; of 1.6e6 times 0.1 the relative error is that of one block, where that
    of a running sum grows."""
    clock = ArrivalClock(Deterministic().start(np.random.default_rng(1)).fill, 10.0)
    out = np.empty(8192)
    for block in range(200):
        clock.fill(out)
        np.testing.assert_array_equal(out, (np.arange(8192.0) + 1.0 + 8192.0 * block) / 10.0)
    tenths = ArrivalClock(lambda block: block.fill(0.1), 1.0)
    for _ in range(200):
        tenths.fill(out)
    running = np.cumsum(np.full(200 * 8192, 0.1))[-1]
    assert abs(out[-1] - 163840.0) < 2e-13 * 163840.0 < 0.1 * abs(running - 163840.0)
    never = ArrivalClock(lambda block: block.fill(np.inf), 1.0)
    for _ in range(2):
        never.fill(out)
        assert np.all(out == np.inf)


def test_every_number_is_drawn_once_and_by_a_generator_of_its_own():
    """Exact: three blocks of arrivals, of the services of each law and of travel times go on where
    the block before ended, and each kind belongs to its own child of the replica's seed."""
    laws = (Lognormal(0.5), Gamma(2.5), Uniform(0.25), Weibull(0.6))
    arrival, travel, *services = laws
    system = System(
        [1.0, 3.0, 2.0], 2.0, [*services, services[0]], arrivals=arrival, travel_times=1.0,
        travel_law=travel,
    )  # fmt: skip
    supply = Supply(system, np.random.SeedSequence(7))
    blocks, counts = supply.open(NO_SAMPLES), np.zeros(COUNT_ENTRIES, np.int64)
    parts = []
    for _ in range(3):
        # Two laws of services, and the one of servers that never finish.
        by_law = blocks.services.reshape(3, -1)
        assert np.all(by_law[2] == np.inf)
        parts.append([np.copy(part) for part in (blocks.arrivals, blocks.travels, *by_law[:2])])
        counts[[CURSOR, TRAVEL_CURSOR]] = blocks.arrivals.size, blocks.travels.size
        blocks.cursors[:] = by_law.shape[1]
        supply.refill(blocks, counts)
        assert not counts.any() and not blocks.cursors.any()
    children = np.random.SeedSequence(7).spawn(4)
    for k, (law, child) in enumerate(zip(laws, children, strict=True)):
        found = np.concatenate([part[k] for part in parts])
        expected = np.empty_like(found)
        law.start(np.random.Generator(np.random.PCG64(child))).fill(expected)
        if k == 0:
            np.testing.assert_allclose(found, np.cumsum(expected) / 2.0, rtol=1e-13)
        else:
            np.testing.assert_array_equal(found, expected)
