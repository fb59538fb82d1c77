"""What one replica of the calendar engine consists of, as arrays, and as pointers to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._inlined import inlined
from ._job_pool import JobPool
from ._pointers import pointer_to
from ._ranked_queues import QueueView, RankedQueues
from ._tournament import Tournament
from ._travel_heap import TravelHeap

# Entries of `counts`: cursors into blocks, the least lengths, and what is counted in a window.
(
    CURSOR,
    TRAVEL_CURSOR,
    SAMPLE_CURSOR,
    PAUSE,
    LEAST,
    SHOWN_LEAST,
    SENT,
    ACCEPTED,
    LOST,
    WAITED,
    DEPARTED,
    TRAVELLING,
    TOTAL,
    TOTAL_SUM,
    TIED,
) = range(15)
COUNT_ENTRIES = 15
# Counted from the beginning of a window.
WINDOW_COUNTS = [SENT, ACCEPTED, LOST, WAITED, DEPARTED, TOTAL_SUM]
# Entries of `sums`: over the jobs of a window, and what `_calendar_tally` explains.
WAIT, SERVICE, TRAVEL, TIED_SUM, TRAVELLING_SUM, WINDOW_START = range(6)
SUM_ENTRIES = 6
# Levels that must be free above a length before it grows.
HEADROOM = 3


class Layout(NamedTuple):
    """Constants of the system in the form that the loop reads.

    Attributes:
        num_servers: K; sources below it are servers.
        num_rings: lists of jobs on their way with one constant travel time each.
        num_leaves: leaves of the tournament: servers, rings, the heap, what is to be shown.
        buffer: most jobs at a server.
        block, service_block, travel_block: sizes of the blocks of drawn numbers.
        counts_travelling: 1 if policies see jobs on their way.
        num_origins: rows of travel times.
        period, delay: of what is shown; a period of 0 means `delay`.
        per_unit: units of the histograms of jobs' times per unit of time.
        service_rates: (K,), 1 where it is 0.
        class_of: (K,) int64, the class of servers whose services come from one block.
        origin_cut, origin_alias: (O,) alias table of the origins.
        ring_of: (O K,) int64, the ring of each origin and server.
        spans: (R,) travel time of each ring; with random times (O K,) mean travel times.
    """

    num_servers: int
    num_rings: int
    num_leaves: int
    buffer: int
    block: int
    service_block: int
    travel_block: int
    counts_travelling: int
    num_origins: int
    period: float
    delay: float
    per_unit: float
    service_rates: np.ndarray
    class_of: np.ndarray
    origin_cut: np.ndarray
    origin_alias: np.ndarray
    ring_of: np.ndarray
    spans: np.ndarray


class Blocks(NamedTuple):
    """Numbers that were drawn in advance.

    Attributes:
        arrivals: (B,) times of the next arrivals.
        services: (C B',) service times of mean 1 of each class.
        cursors: (C,) int64, how many of them are used.
        travels: (B'',) factors of travel times.
        samples: (S,) times at which the state is sampled, ascending, the last inf.
    """

    arrivals: np.ndarray
    services: np.ndarray
    cursors: np.ndarray
    travels: np.ndarray
    samples: np.ndarray


class Tally(NamedTuple):
    """What a window accumulates, see `_calendar_tally`.

    Attributes:
        ranks: (K,) signed times of changes, by rank.
        servers: (K * SERVER_COLUMNS,) such times and counts, by server.
        levels: (L + 2,) signed times, by level, what is above L in the last.
        classes: (C (L + 2),) the same by class of servers, or (0,) if nobody asks.
        class_jobs: (3 C,) sums over the jobs of each class, or (0,).
        class_of: (K,) int64, each server's class, or (0,).
        waits, responses, times_to_service: int64 histograms of jobs.
    """

    ranks: np.ndarray
    servers: np.ndarray
    levels: np.ndarray
    classes: np.ndarray
    class_jobs: np.ndarray
    class_of: np.ndarray
    waits: np.ndarray
    responses: np.ndarray
    times_to_service: np.ndarray


class CalendarState(NamedTuple):
    """One replica.

    Attributes:
        queues: the lengths.
        shown: the lengths that the policy sees; `queues` itself if they are the present ones.
        pool: lists of departure times per server, of landings per ring, of what is to be shown.
        heap: jobs on their way with random travel times.
        tree: when each source is due.
        blocks, tally: see there.
        side: the generator of the policy's draws.
        memory: what the policy remembers.
        counts, sums: see the constants of this file.
    """

    queues: RankedQueues
    shown: RankedQueues
    pool: JobPool
    heap: TravelHeap
    tree: Tournament
    blocks: Blocks
    tally: Tally
    side: np.ndarray
    memory: np.ndarray
    counts: np.ndarray
    sums: np.ndarray


class World(NamedTuple):
    """`CalendarState` and `Layout` as pointers, for the loop, with the sizes that it checks."""

    queues: Any
    shown: Any
    pool: Any
    heap: Any
    tree: Any
    blocks: Any
    tally: Any
    side: Any
    memory: Any
    counts: Any
    sums: Any
    layout: Any
    numbers: Any
    names: Any
    num_levels: int
    shown_levels: int
    top_level: int
    heap_places: int


@inlined
def _queue_pointers(queues):
    return RankedQueues(
        pointer_to(queues.lengths),
        pointer_to(queues.order),
        pointer_to(queues.position),
        pointer_to(queues.first),
    )


@inlined
def _layout_pointers(layout):
    return Layout(
        layout.num_servers,
        layout.num_rings,
        layout.num_leaves,
        layout.buffer,
        layout.block,
        layout.service_block,
        layout.travel_block,
        layout.counts_travelling,
        layout.num_origins,
        layout.period,
        layout.delay,
        layout.per_unit,
        pointer_to(layout.service_rates),
        pointer_to(layout.class_of),
        pointer_to(layout.origin_cut),
        pointer_to(layout.origin_alias),
        pointer_to(layout.ring_of),
        pointer_to(layout.spans),
    )


@inlined
def open_world(state, layout, numbers, names):
    """Pointers to everything; the arrays must outlive them."""
    pool, heap, tree, blocks, tally = state.pool, state.heap, state.tree, state.blocks, state.tally
    return World(
        _queue_pointers(state.queues),
        _queue_pointers(state.shown),
        JobPool(
            pointer_to(pool.times),
            pointer_to(pool.tags),
            pointer_to(pool.following),
            pointer_to(pool.ends),
            pointer_to(pool.free),
        ),
        TravelHeap(
            pointer_to(heap.times),
            pointer_to(heap.tickets),
            pointer_to(heap.tags),
            pointer_to(heap.spans),
            pointer_to(heap.size),
        ),
        Tournament(pointer_to(tree.keys), pointer_to(tree.winners)),
        Blocks(
            pointer_to(blocks.arrivals),
            pointer_to(blocks.services),
            pointer_to(blocks.cursors),
            pointer_to(blocks.travels),
            pointer_to(blocks.samples),
        ),
        Tally(
            pointer_to(tally.ranks),
            pointer_to(tally.servers),
            pointer_to(tally.levels),
            pointer_to(tally.classes),
            pointer_to(tally.class_jobs),
            pointer_to(tally.class_of),
            pointer_to(tally.waits),
            pointer_to(tally.responses),
            pointer_to(tally.times_to_service),
        ),
        pointer_to(state.side),
        pointer_to(state.memory),
        pointer_to(state.counts),
        pointer_to(state.sums),
        _layout_pointers(layout),
        pointer_to(numbers),
        pointer_to(names),
        state.queues.first.shape[0],
        state.shown.first.shape[0],
        tally.levels.shape[0] - 1,
        heap.times.shape[0],
    )


@inlined
def view_shown(world, origin):
    """What the policy sees, for a job from `origin`."""
    shown = world.shown
    return QueueView(
        shown.lengths,
        shown.order,
        shown.first,
        world.layout.num_servers,
        world.counts[SHOWN_LEAST],
        origin,
    )
