"""The next-event loop: float64 clocks, any arrivals, services and travel times, drawn in blocks.

At one time, first jobs depart (in the order of the servers), then those on their way reach their
server (constant times: shorter ways first, then in the order of setting out), then what is due is
shown to the policy, then new jobs arrive. As it joins its queue every job goes through Lindley's
recursion,

    D_n = max(A_n, D_{n-1}) + S_n ,   wait = max(0, D_{n-1} - A_n) ,

so its wait is known at once, and a queue is the list of its departure times.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from ._calendar_changes import PAST, build_changes
from ._calendar_moves import AT_ONCE, build_moves, draw_origin
from ._calendar_state import CURSOR, PAUSE, SAMPLE_CURSOR, SENT, open_world, view_shown
from ._inlined import inlined
from ._job_pool import RESERVE
from ._sampler import take_sample
from ._xoshiro import next_uniform


@numba.njit
def _sample(queues, counts, sampler):
    """Take the sample that is due; the caller has to take over what is kept once that is full."""
    for k in range(sampler.ranked.shape[0]):
        sampler.ranked[k] = queues.lengths[queues.order[k]]
    take_sample(sampler, queues.lengths)
    counts[SAMPLE_CURSOR] += 1
    if sampler.count[1] > 0 and sampler.count[1] == sampler.kept.shape[0]:
        counts[PAUSE] = 1


@functools.cache
def build_calendar_loop(
    choose: Callable[..., Any],
    update: Callable[..., Any],
    averages: bool,
    travel: int,
    sight: int,
    by_class: bool = False,
) -> Callable[..., None]:
    """The loop for one policy's rule, compiled once per rule and per kind of travel and sight.

    Returns: run(state, layout, numbers, names, sampler, end), which goes on until the next event
        is later than `end`, or stops before (`counts[PAUSE]` is 1) because a block is used up or
        room is short.
    """
    change, report, show = build_changes(update, averages, sight, by_class)
    join, depart, set_out, land = build_moves(change, report, averages, travel, sight, by_class)

    @inlined
    def arrive(world, now):
        counts = world.counts
        counts[SENT] += 1
        counts[CURSOR] += 1
        if counts[CURSOR] == world.layout.block:
            counts[PAUSE] = 1
        origin = np.int64(0) if travel == AT_ONCE else draw_origin(world)
        uniform = next_uniform(world.side)
        view = view_shown(world, origin)
        server = np.uintp(
            choose(view, uniform, world.side, world.numbers, world.names, world.memory)
        )
        if travel == AT_ONCE:
            join(world, server, now, 0.0)
        else:
            set_out(world, origin, np.int64(server), now)

    @inlined
    def happen(world, source, now):
        """What is due at a server or on the way, or is to be shown."""
        servers = world.layout.num_servers
        if source < servers:
            depart(world, np.uintp(source), now)
        elif sight == PAST and source == servers + world.layout.num_rings:
            show(world, source)
        elif travel != AT_ONCE:
            land(world, source, now)

    @numba.njit(nogil=True)
    def run(state, layout, numbers, names, sampler, end):
        world = open_world(state, layout, numbers, names)
        counts, blocks = world.counts, world.blocks
        while counts[PAUSE] == 0:
            due, now = world.tree.keys[1], blocks.arrivals[np.uintp(counts[CURSOR])]
            arrives = now < due
            now = now if arrives else due
            if averages:
                moment = blocks.samples[np.uintp(counts[SAMPLE_CURSOR])]
                if moment < now and moment <= end:
                    _sample(state.queues, state.counts, sampler)
                    continue
            if now > end:
                break
            if arrives:
                arrive(world, now)
            else:
                happen(world, world.tree.winners[1], now)
            if world.pool.free[1] < RESERVE:
                counts[PAUSE] = 1

    return run
