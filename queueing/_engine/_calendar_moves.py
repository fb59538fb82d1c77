"""How jobs go through the calendar engine: they set out, join a queue, and depart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._alias import draw_alias
from ._calendar_changes import DOWN, PRESENT, UP
from ._calendar_state import DEPARTED, LOST, PAUSE, TRAVEL_CURSOR, WAITED
from ._calendar_tally import tally_class_job, tally_job, tally_travelling
from ._inlined import inlined
from ._job_pool import pop_job, push_job
from ._tournament import set_due
from ._travel_heap import pop_traveller, push_traveller
from ._xoshiro import next_uniform

# How jobs reach their server.
AT_ONCE, BY_RING, BY_HEAP = range(3)


@inlined
def draw_origin(world):
    """The origin of the next job."""
    layout = world.layout
    if layout.num_origins == 1:
        return np.int64(0)
    uniform = next_uniform(world.side)
    cut, alias = layout.origin_cut, layout.origin_alias
    return np.int64(draw_alias(uniform, cut, alias, 0, layout.num_origins))


@inlined
def next_service(world, server):
    """The next service time at `server`, from the block of its class."""
    layout, blocks = world.layout, world.blocks
    of_class = np.uintp(layout.class_of[server])
    cursor = blocks.cursors[of_class]
    service = blocks.services[of_class * np.uintp(layout.service_block) + np.uintp(cursor)]
    cursor += 1
    blocks.cursors[of_class] = cursor
    if cursor == layout.service_block:
        world.counts[PAUSE] = 1
    return service / layout.service_rates[server]


def build_moves(
    change: Any, report: Any, averages: bool, travel: int, sight: int, by_class: bool = False
) -> Any:
    """The compiled parts of the loop that move jobs.

    Returns: join(world, server, now, span), depart(world, server, now), set_out(world, origin,
        server, now), land(world, source, now).
    """

    @inlined
    def join(world, server, now, span):
        counts, pool = world.counts, world.pool
        level = world.queues.lengths[server]
        if level >= world.layout.buffer:
            counts[LOST] += 1
            if sight != PRESENT and world.layout.counts_travelling == 1:
                report(world, server, DOWN, now)
            return
        service = next_service(world, server)
        begin = now
        if level > 0:
            last = pool.ends[np.uintp(2) * server + np.uintp(1)]
            begin = pool.times[np.uintp(last)]
        if push_job(pool, np.int64(server), begin + service, UP):
            set_due(world.tree, world.layout.num_leaves, server, begin + service)
        change(world, server, level, UP, now)
        if averages:
            counts[WAITED] += level > 0
            tally_job(world, begin - now, service, span, travel != AT_ONCE)
            if by_class:
                tally_class_job(world, server, begin - now, service)
        if sight != PRESENT and world.layout.counts_travelling == 0:
            report(world, server, UP, now)

    @inlined
    def depart(world, server, now):
        _, due = pop_job(world.pool, np.int64(server))
        set_due(world.tree, world.layout.num_leaves, server, due)
        change(world, server, world.queues.lengths[server], DOWN, now)
        world.counts[DEPARTED] += 1
        if sight != PRESENT:
            report(world, server, DOWN, now)

    @inlined
    def set_out(world, origin, server, now):
        counts, layout, leaves = world.counts, world.layout, world.layout.num_leaves
        if averages:
            tally_travelling(world, UP, now)
        way = np.uintp(origin * layout.num_servers + server)
        source = layout.num_servers
        if travel == BY_HEAP:
            span = layout.spans[way] * world.blocks.travels[np.uintp(counts[TRAVEL_CURSOR])]
            counts[TRAVEL_CURSOR] += 1
            push_traveller(world.heap, now + span, server, span)
            if (
                counts[TRAVEL_CURSOR] == layout.travel_block
                or world.heap.size[0] == world.heap_places
            ):
                counts[PAUSE] = 1
            set_due(world.tree, leaves, source, world.heap.times[0])
        else:
            ring = layout.ring_of[way]
            landing = now + layout.spans[np.uintp(ring)]
            if push_job(world.pool, source + ring, landing, server):
                set_due(world.tree, leaves, source + ring, landing)
        if layout.counts_travelling == 1:
            report(world, np.uintp(server), UP, now)

    @inlined
    def land(world, source, now):
        if travel == BY_HEAP:
            server, span = pop_traveller(world.heap)
            due = world.heap.times[0] if world.heap.size[0] > 0 else np.inf
        else:
            server, due = pop_job(world.pool, source)
            span = world.layout.spans[np.uintp(source - world.layout.num_servers)]
        set_due(world.tree, world.layout.num_leaves, source, due)
        if averages:
            tally_travelling(world, DOWN, now)
        join(world, np.uintp(server), now, span)

    return join, depart, set_out, land
