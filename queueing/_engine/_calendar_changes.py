"""Changes of lengths in the calendar engine, and when the policy comes to see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._calendar_state import HEADROOM, LEAST, PAUSE, SHOWN_LEAST, view_shown
from ._calendar_tally import tally_change, tally_class_change
from ._inlined import inlined
from ._job_pool import pop_job, push_job
from ._ranked_queues import move
from ._tournament import set_due

# Not literals, for each of which numba would compile everything anew.
UP, DOWN, NOWHERE = np.int64(1), np.int64(0), np.int64(0)
# Which lengths policies see: the present ones; with the jobs on their way; those of the past.
PRESENT, WITH_TRAVELLERS, PAST = range(3)


def build_changes(
    update: Callable[..., Any], averages: bool, sight: int, by_class: bool = False
) -> tuple[Any, ...]:
    """The compiled parts of the loop that change lengths.

    Returns: change(world, server, level, up, now) of the lengths themselves; report(world, server,
        up, now) of what the policy sees, at once or later; show(world, source), which brings the
        next late report before it.
    """

    @inlined
    def notice(world, server, up):
        shown, counts = world.shown, world.counts
        level = shown.lengths[server]
        edge = move(server, level, up, shown.lengths, shown.order, shown.position, shown.first)
        if edge == 0:
            counts[SHOWN_LEAST] = level + 2 * up - 1
        if up == 1 and level + HEADROOM >= world.shown_levels:
            counts[PAUSE] = 1
        view = view_shown(world, NOWHERE)
        update(view, world.memory, server, level, up, world.numbers, world.names)

    @inlined
    def report(world, server, up, now):
        if sight == WITH_TRAVELLERS:
            notice(world, np.uintp(server), up)
        elif sight == PAST:
            layout = world.layout
            due = now + layout.delay
            if layout.period > 0.0:
                due = layout.period * (np.floor(now / layout.period) + 1.0)
            board = layout.num_servers + layout.num_rings
            if push_job(world.pool, board, due, 2 * np.int64(server) + up):
                set_due(world.tree, layout.num_leaves, board, due)

    @inlined
    def show(world, source):
        tag, due = pop_job(world.pool, source)
        set_due(world.tree, world.layout.num_leaves, source, due)
        notice(world, np.uintp(tag >> 1), tag & 1)

    @inlined
    def change(world, server, level, up, now):
        queues, counts = world.queues, world.counts
        edge = move(server, level, up, queues.lengths, queues.order, queues.position, queues.first)
        if edge == 0:
            counts[LEAST] = level + 2 * up - 1
            if sight == PRESENT:
                counts[SHOWN_LEAST] = counts[LEAST]
        if up == 1 and level + HEADROOM >= world.num_levels:
            counts[PAUSE] = 1
        if averages:
            tally_change(world, server, edge, level, up, now)
            if by_class:
                tally_class_change(world, server, level, up, now)
        if sight == PRESENT:
            view = view_shown(world, NOWHERE)
            update(view, world.memory, server, level, up, world.numbers, world.names)

    return change, report, show
