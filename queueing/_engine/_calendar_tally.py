"""Exact time averages of the calendar engine: every change adds its signed time to a sum.

A quantity x that changes at the times t of a window of length T, counted from its beginning, has

    integral of x = x(T) T - sum over changes of (change of x) t ,

so that a change costs one addition per quantity, and nothing has to be closed when a rank, a level
or a server has not changed for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._calendar_state import (
    ACCEPTED,
    LEAST,
    SERVICE,
    SUM_ENTRIES,
    TIED,
    TIED_SUM,
    TOTAL,
    TOTAL_SUM,
    TRAVEL,
    TRAVELLING,
    TRAVELLING_SUM,
    WAIT,
    WINDOW_COUNTS,
    WINDOW_START,
    CalendarState,
    Tally,
)
from ._class_levels import tally_class
from ._inlined import inlined
from ._log_histogram import add_to_histogram, empty_histogram

if TYPE_CHECKING:
    from typing import Any

    from ._class_levels import ServerClasses

# Of a server: signed times of its length and of being busy, and how many jobs left.
LENGTH, BUSY, SERVED = range(3)
SERVER_COLUMNS = 3
# Of a class of servers: jobs that joined a queue, their waits and their services.
CLASS_COLUMNS = 3


def empty_tally(num_servers: int, num_levels: int, classes: ServerClasses | None) -> Tally:
    """Sums of one window, for so many levels of `occupancy`, and for classes if there are any."""
    return Tally(
        np.zeros(num_servers),
        np.zeros(num_servers * SERVER_COLUMNS),
        np.zeros(num_levels + 2),
        np.zeros(0) if classes is None else classes.cells(np.float64).ravel(),
        np.zeros(0 if classes is None else classes.rates.size * CLASS_COLUMNS),
        np.zeros(0, np.int64) if classes is None else classes.class_of,
        *(empty_histogram() for _ in range(3)),
    )


@inlined
def tally_change(world, server, edge, level, up, now):
    """Account for a change from `level` at `server`, which is that of the rank at `edge`."""
    elapsed = now - world.sums[WINDOW_START]
    signed = elapsed if up == 1 else -elapsed
    tally, counts, sums = world.tally, world.counts, world.sums
    tally.ranks[edge] += signed
    place = np.uintp(server * SERVER_COLUMNS)
    bound = level + up
    tally.servers[place] += signed
    if bound == 1:
        tally.servers[place + np.uintp(BUSY)] += signed
    tally.servers[place + np.uintp(SERVED)] += 1.0 - up
    tally.levels[np.uintp(min(bound, world.top_level))] += signed
    counts[TOTAL] += 2 * up - 1
    counts[TOTAL_SUM] += counts[TOTAL]
    tied = np.int64(world.queues.first[np.uintp(counts[LEAST] + 1)] > 1)
    sums[TIED_SUM] += (tied - counts[TIED]) * elapsed
    counts[TIED] = tied


@inlined
def tally_class_change(world, server, level, up, now):
    """The same for the class of the server."""
    elapsed = now - world.sums[WINDOW_START]
    tally, width = world.tally, world.top_level + 1
    group, signed = tally.class_of[server], elapsed if up == 1 else -elapsed
    tally_class(tally.classes, width, group, level + up, signed)


@inlined
def tally_job(world, wait, service, span, travels):
    """Account for a job that joins a queue and will wait and be served so long."""
    counts, sums, per_unit = world.counts, world.sums, world.layout.per_unit
    counts[ACCEPTED] += 1
    sums[WAIT] += wait
    sums[SERVICE] += service
    add_to_histogram(world.tally.waits, wait * per_unit)
    add_to_histogram(world.tally.responses, (wait + service) * per_unit)
    if travels:
        sums[TRAVEL] += span
        add_to_histogram(world.tally.times_to_service, (span + wait) * per_unit)


@inlined
def tally_class_job(world, server, wait, service):
    """The same for the class of the server that it joins."""
    place = np.uintp(world.tally.class_of[server] * CLASS_COLUMNS)
    jobs = world.tally.class_jobs
    jobs[place] += 1.0
    jobs[place + np.uintp(1)] += wait
    jobs[place + np.uintp(2)] += service


@inlined
def tally_travelling(world, up, now):
    """Account for a job that sets out (up = 1) or lands (up = 0)."""
    elapsed = now - world.sums[WINDOW_START]
    world.counts[TRAVELLING] += 2 * up - 1
    world.sums[TRAVELLING_SUM] += elapsed if up == 1 else -elapsed


def open_window(state: CalendarState, start: float) -> None:
    """Begin to count and to average at time `start`."""
    for array in state.tally:
        # Classes are no sums.
        if array is not state.tally.class_of:
            array[:] = 0
    state.counts[WINDOW_COUNTS] = 0
    state.sums[:SUM_ENTRIES] = 0.0
    state.sums[WINDOW_START] = start


def close_window(state: CalendarState, duration: float) -> dict[str, Any]:
    """Time averages over the window of length `duration` that ends now."""
    lengths = state.queues.lengths
    ranked = lengths[state.queues.order]
    size, num_levels = lengths.size, state.tally.levels.size - 2
    servers = state.tally.servers.reshape(size, SERVER_COLUMNS)
    levels = np.arange(1, num_levels + 1)
    reached = size - np.searchsorted(ranked, levels) - state.tally.levels[1:-1] / duration
    utilisation = (lengths > 0) - servers[:, BUSY] / duration
    means = {
        "lengths_ranked": ranked - state.tally.ranks / duration,
        "lengths": lengths - servers[:, LENGTH] / duration,
        "utilisation": utilisation,
        "idle_servers": size - utilisation.sum(),
        "occupancy": reached / size,
        "throughput": servers[:, SERVED] / duration,
    }
    if size > 1:
        means["prob_tie"] = state.counts[TIED] - state.sums[TIED_SUM] / duration
    return means


def class_means(
    state: CalendarState, classes: ServerClasses, duration: float
) -> dict[str, np.ndarray]:
    """Time averages by class of servers over the window of length `duration` that ends now."""
    cells = state.tally.classes.reshape(classes.rates.size, -1)
    return classes.means(classes.reached(state.queues.lengths) - cells[:, 1:] / duration)


def class_sums(state: CalendarState, classes: ServerClasses) -> dict[str, np.ndarray]:
    """Sums over the jobs of each class of servers, where all of these work."""
    if classes.rates[0] == 0.0:
        return {}
    sums = state.tally.class_jobs.reshape(-1, CLASS_COLUMNS).T.copy()
    return dict(zip(("class_accepted", "class_wait", "class_service"), sums, strict=True))


def job_histograms(state: CalendarState, travels: bool) -> dict[str, np.ndarray]:
    """Histograms of the jobs of the window; without travel a job's time to service is its wait."""
    tally = state.tally
    histograms = {"wait": tally.waits.copy(), "response": tally.responses.copy()}
    if travels:
        histograms["time_to_service"] = tally.times_to_service.copy()
    return histograms


def mean_travelling(state: CalendarState, duration: float) -> float:
    """The time average of the number of jobs on their way."""
    return float(state.counts[TRAVELLING] - state.sums[TRAVELLING_SUM] / duration)
