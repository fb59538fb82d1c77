"""All queues over one common interval in which every server is an M/M/1 queue of its own."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._packed_alias import MAX_CELLS, PackedAlias, draw_packed, fill_packed, make_packed_alias
from ._poisson_tables import poisson_window, skellam_window, window_bound
from ._reflection import reflect_given_change, reflect_given_counts
from ._xoshiro import BLOCK, NUM_LANES, fill_words, next_word

# Longer intervals are leapt over in pieces, so that every table fits its 2048 cells.
MAX_MEAN = 4096.0
# Servers whose least length is kept together.
GROUP = 32
# Terms of a table are left out below 1e-18. They may count up to this much more in the law of the
# minimum given the change; past it, arrivals and services are drawn apart.
_MAX_LOG_WEIGHT = 4.0


class LeapTables(NamedTuple):
    """The laws of one class of servers over one interval."""

    change: PackedAlias
    arrivals: PackedAlias
    services: PackedAlias


class LeapScratch(NamedTuple):
    """Work space of one replica.

    Attributes:
        words: (BLOCK,) uint64.
        near: (K,) int64, the servers that may reach 0 within the interval.
        before: (K,) int64, their lengths at its beginning.
        minima: (K / GROUP,) int64, at most the least length of each group of servers.
    """

    words: np.ndarray
    near: np.ndarray
    before: np.ndarray
    minima: np.ndarray


def make_leap_tables() -> LeapTables:
    """Tables for means up to MAX_MEAN, used by all classes in turn."""
    size = 2 * window_bound(2.0 * MAX_MEAN) + 2 * int(MAX_MEAN) + MAX_CELLS
    return LeapTables(*(make_packed_alias(size) for _ in range(3)))


def make_leap_scratch(num_servers: int) -> LeapScratch:
    """Work space for `num_servers` queues."""
    return LeapScratch(
        np.empty(BLOCK, np.uint64),
        np.empty(num_servers, np.int64),
        np.empty(num_servers, np.int64),
        np.zeros(-(-num_servers // GROUP), np.int64),
    )


@numba.njit(nogil=True)
def leap_class(lengths, start, stop, arrival_mean, service_mean, bank, tables, scratch):
    """Advance the queues start ... stop - 1, of equal rates, over one interval.

    Given the interval, arrivals and services of different servers are independent, and exact in
    law: a queue that cannot reach 0 needs the difference of the two only, from one table that all
    share; the others also the depth of the walk's minimum.

    Arguments:
        lengths: (K,) int64, changed in place.
        arrival_mean, service_mean: rates times the length of the interval, <= MAX_MEAN.

    Cost: the table, about 8 ns per cell, and 2 ns per queue far from 0.
    """
    change = tables.change
    low, count = skellam_window(arrival_mean, service_mean, change.weights)
    reach = max(-low, low + count)
    log_ratio = 0.0
    by_change = service_mean == 0.0
    if arrival_mean > 0.0:
        log_ratio = np.log(service_mean / arrival_mean)
        by_change = log_ratio * reach <= _MAX_LOG_WEIGHT
    if not by_change:
        low_service, num_services = poisson_window(service_mean, tables.services.weights)
        reach = low_service + num_services
    num_near = _find_near(lengths, start, stop, reach, scratch)
    if by_change or num_near < stop - start:
        fill_packed(change, count)
        _add_changes(lengths[start:stop], low, count, bank.lanes, change.cells, scratch.words)
    near, before, side = scratch.near, scratch.before, bank.side
    if by_change:
        weights = change.weights
        for k in range(num_near):
            i, length = near[k], before[k]
            moved = lengths[i] - length
            lengths[i] = reflect_given_change(length, moved, weights, low, count, log_ratio, side)
    elif num_near > 0:
        _leap_near(
            lengths, num_near, arrival_mean, low_service, num_services, side, tables, scratch
        )


@numba.njit(nogil=True)
def _find_near(lengths, start, stop, reach, scratch):
    """List the servers shorter than `reach`; groups whose least length is not are passed over."""
    num_near = 0
    for group in range(start // GROUP, (stop - 1) // GROUP + 1):
        if scratch.minima[group] < reach:
            for i in range(max(start, group * GROUP), min(stop, (group + 1) * GROUP)):
                scratch.near[num_near] = i
                scratch.before[num_near] = lengths[i]
                num_near += lengths[i] < reach
    return num_near


@numba.njit(nogil=True)
def _add_changes(lengths, low, count, lanes, cells, words):
    """Add an independent draw from the table of changes to every queue."""
    for start in range(0, lengths.shape[0], BLOCK):
        part = lengths[start : start + BLOCK]
        size = part.shape[0]
        # Whole rows of lanes, a little more than is used.
        fill_words(lanes, words[: (size + NUM_LANES - 1) // NUM_LANES * NUM_LANES])
        for j in range(size):
            part[j] += low + draw_packed(words[j], cells, count)


@numba.njit(nogil=True)
def _leap_near(lengths, num_near, arrival_mean, low_service, num_services, side, tables, scratch):
    """Queues that may reach 0, with arrivals and services drawn apart."""
    arrivals, services = tables.arrivals, tables.services
    low_arrival, num_arrivals = poisson_window(arrival_mean, arrivals.weights)
    fill_packed(arrivals, num_arrivals)
    fill_packed(services, num_services)
    for k in range(num_near):
        ups = low_arrival + draw_packed(next_word(side), arrivals.cells, num_arrivals)
        downs = low_service + draw_packed(next_word(side), services.cells, num_services)
        lengths[scratch.near[k]] = reflect_given_counts(scratch.before[k], ups, downs, side)


@numba.njit(nogil=True)
def update_minima(lengths, minima):
    """Make `minima` exact; returns the least length of all."""
    size = lengths.shape[0]
    # Groups of constant size become vector instructions.
    for group in range(size // GROUP):
        start = group * GROUP
        least_here = lengths[start]
        for j in range(GROUP):
            least_here = min(least_here, lengths[start + j])
        minima[group] = least_here
    if size % GROUP > 0:
        minima[-1] = lengths[size // GROUP * GROUP :].min()
    return minima.min()
