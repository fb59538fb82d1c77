"""The state of a replica of the calendar engine at time 0, and more room for it later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._calendar_state import (
    COUNT_ENTRIES,
    HEADROOM,
    LEAST,
    SHOWN_LEAST,
    SUM_ENTRIES,
    TIED,
    TOTAL,
    CalendarState,
    Layout,
    Tally,
)
from ._calendar_supply import Supply
from ._job_pool import RESERVE, JobPool, check_pool_memory, fill_pool, with_free_nodes
from ._ranked_queues import RankedQueues, rank_queues, with_room
from ._tournament import hold_tournament
from ._travel_heap import empty_heap, with_places
from ._xoshiro import make_bank

if TYPE_CHECKING:
    from .._policy import Kernel

# Levels above the longest queue at first, and whenever they run out.
_ROOM = 64
NO_SAMPLES = np.array([np.inf])


def start_state(
    layout: Layout,
    lengths: np.ndarray,
    supply: Supply,
    words: np.random.SeedSequence,
    kernel: Kernel,
    tally: Tally,
    is_seen_apart: bool,
) -> CalendarState:
    """Queues of given lengths whose services all begin afresh, nobody on the way.

    Arguments:
        layout: of the system.
        lengths: (K,) jobs at each server.
        supply: draws their services.
        words: seeds the policy's draws.
        kernel: the policy.
        tally: empty.
        is_seen_apart: whether the policy sees other lengths than the present ones.
    """
    queues = rank_queues(lengths, _ROOM)
    shown = rank_queues(lengths, _ROOM) if is_seen_apart else queues
    pool = _start_pool(layout, lengths, supply)
    heads = pool.ends[::2][: layout.num_servers]
    due = np.full(layout.num_leaves, np.inf)
    due[: layout.num_servers] = np.where(heads >= 0, pool.times[heads], np.inf)
    ranked = lengths[queues.order]
    counts = np.zeros(COUNT_ENTRIES, np.int64)
    counts[[LEAST, SHOWN_LEAST]], counts[TOTAL] = ranked[0], ranked.sum()
    counts[TIED] = ranked.size > 1 and ranked[0] == ranked[1]
    return CalendarState(
        queues,
        shown,
        pool,
        empty_heap(),
        hold_tournament(due),
        supply.open(NO_SAMPLES),
        tally,
        make_bank(words).side,
        np.ascontiguousarray(kernel.memory(lengths)),
        counts,
        np.zeros(SUM_ENTRIES),
    )


def _start_pool(layout: Layout, lengths: np.ndarray, supply: Supply) -> JobPool:
    """The departure times of all jobs that are there, server after server."""
    check_pool_memory(int(lengths.sum()))
    times = np.empty(int(lengths.sum()))
    owner = np.repeat(np.arange(layout.num_servers), lengths)
    classes = layout.class_of[owner]
    for of_class in np.unique(classes):
        chosen = classes == of_class
        times[chosen] = supply.draw_services(int(of_class), int(chosen.sum()))
    times /= layout.service_rates[owner]
    stop = np.cumsum(lengths)
    for server in np.flatnonzero(lengths > 1):
        own = times[stop[server] - lengths[server] : stop[server]]
        np.cumsum(own, out=own)
    # Further lists: the rings, and what is to be shown.
    return fill_pool(times, np.concatenate((lengths, np.zeros(layout.num_rings + 1, np.int64))))


def with_space(state: CalendarState) -> CalendarState:
    """The same state with room for more jobs wherever it has become short."""
    if state.pool.free[1] < RESERVE:
        state = state._replace(pool=with_free_nodes(state.pool))
    if state.heap.size[0] == state.heap.times.size:
        state = state._replace(heap=with_places(state.heap))
    shown = state.shown
    if shown is state.queues:
        queues = _with_levels(shown)
        return state._replace(queues=queues, shown=queues)
    return state._replace(queues=_with_levels(state.queues), shown=_with_levels(shown))


def _with_levels(queues: RankedQueues) -> RankedQueues:
    longest = int(queues.lengths[queues.order[-1]])
    if longest + HEADROOM < queues.first.size:
        return queues
    return with_room(queues, _ROOM)[0]
