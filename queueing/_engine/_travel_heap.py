"""Jobs on their way with random travel times, the next to land on top: a binary heap."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._inlined import inlined
from ._job_pool import check_pool_memory

_FIRST_PLACES = 64


class TravelHeap(NamedTuple):
    """Jobs on their way; each lands after those above it.

    Attributes:
        times: (P,) when a job lands.
        tickets: (P,) int64, which job was sent earlier, to tell those that land at once.
        tags: (P,) int64, where to.
        spans: (P,) how long the job travels.
        size: (2,) int64, how many jobs there are, and the next ticket.
    """

    times: np.ndarray
    tickets: np.ndarray
    tags: np.ndarray
    spans: np.ndarray
    size: np.ndarray


def empty_heap() -> TravelHeap:
    """Nobody on the way."""
    size = _FIRST_PLACES
    return TravelHeap(
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(2, np.int64),
    )


def with_places(heap: TravelHeap) -> TravelHeap:
    """The same jobs with twice as many places."""
    check_pool_memory(2 * heap.times.size)
    times, tickets, tags, spans = (
        np.concatenate((column, np.zeros_like(column))) for column in heap[:-1]
    )
    return TravelHeap(times, tickets, tags, spans, heap.size)


@inlined
def _is_earlier(heap, one, other):
    if heap.times[one] != heap.times[other]:
        return heap.times[one] < heap.times[other]
    return heap.tickets[one] < heap.tickets[other]


@inlined
def _exchange(heap, one, other):
    heap.times[one], heap.times[other] = heap.times[other], heap.times[one]
    heap.tickets[one], heap.tickets[other] = heap.tickets[other], heap.tickets[one]
    heap.tags[one], heap.tags[other] = heap.tags[other], heap.tags[one]
    heap.spans[one], heap.spans[other] = heap.spans[other], heap.spans[one]


@numba.njit
def push_traveller(heap, time, tag, span):
    """Add a job, for which there must be a place; cost O(log P)."""
    place = heap.size[0]
    heap.size[0] += 1
    heap.times[place], heap.tags[place], heap.spans[place] = time, tag, span
    heap.tickets[place] = heap.size[1]
    heap.size[1] += 1
    while place > 0:
        above = (place - 1) // 2
        if not _is_earlier(heap, place, above):
            break
        _exchange(heap, place, above)
        place = above


@numba.njit
def pop_traveller(heap):
    """Take the job that lands first: its tag and its travel time; cost O(log P)."""
    tag, span = heap.tags[0], heap.spans[0]
    heap.size[0] -= 1
    size, place = heap.size[0], 0
    _exchange(heap, 0, size)
    while True:
        least = place
        for below in range(2 * place + 1, 2 * place + 3):
            if below < size and _is_earlier(heap, below, least):
                least = below
        if least == place:
            break
        _exchange(heap, place, least)
        place = least
    return tag, span
