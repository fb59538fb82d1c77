"""All queues over one common interval in which every server is an M/M/1 queue of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ._inlined import inlined
from ._packed_alias import MAX_CELLS, PackedAlias, draw_packed, fill_packed, make_packed_alias
from ._pointers import pointer_to, shifted
from ._poisson_tables import poisson_window, skellam_window, window_bound
from ._reflection import reflect_given_change, reflect_given_counts
from ._xoshiro import BLOCK, NUM_LANES, fill_rows, next_word

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


class LeapLaw(NamedTuple):
    """What a leap of one class of servers draws from.

    Attributes:
        by_change: whether the change of the walk determines the law of its minimum well enough in
            floating point; else queues near 0 draw arrivals and services apart.
        low, count: first value and number of values of the change.
        reach: queues at least so long cannot reach 0.
        log_ratio: log(service rate / arrival rate).
        low_arrival, num_arrivals, low_service, num_services: the same of the two counts.
    """

    by_change: bool
    low: int | np.int64
    count: int | np.int64
    reach: int | np.int64
    log_ratio: float
    low_arrival: int | np.int64
    num_arrivals: int | np.int64
    low_service: int | np.int64
    num_services: int | np.int64


class LeapPlaces(NamedTuple):
    """Pointers to what a leap reads and writes.

    Attributes:
        lengths, minima: of the servers, and at most the least of each group.
        change, weights, arrivals, services: cells of the tables, and the weights of the change.
        lanes, side: of the generator.
        words, near, before: work space.
    """

    lengths: Any
    minima: Any
    change: Any
    weights: Any
    arrivals: Any
    services: Any
    lanes: Any
    side: Any
    words: Any
    near: Any
    before: Any


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


@numba.njit(nogil=True)
def make_leap_scratch(num_servers):
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
    law = fill_leap(arrival_mean, service_mean, tables)
    leap_filled(lengths, start, stop, law, bank, tables, scratch)


@numba.njit(nogil=True)
def fill_leap(arrival_mean, service_mean, tables):
    """The law of one class of servers over one interval, and the tables that it draws from."""
    low, count = skellam_window(arrival_mean, service_mean, tables.change.weights)
    fill_packed(tables.change, count)
    reach = max(-low, low + count)
    log_ratio = 0.0
    by_change = service_mean == 0.0
    if arrival_mean > 0.0:
        log_ratio = np.log(service_mean / arrival_mean)
        by_change = log_ratio * reach <= _MAX_LOG_WEIGHT
    low_arrival, num_arrivals, low_service, num_services = 0, 0, 0, 0
    if not by_change:
        low_service, num_services = poisson_window(service_mean, tables.services.weights)
        low_arrival, num_arrivals = poisson_window(arrival_mean, tables.arrivals.weights)
        fill_packed(tables.services, num_services)
        fill_packed(tables.arrivals, num_arrivals)
        reach = low_service + num_services
    window = (low_arrival, num_arrivals, low_service, num_services)
    return LeapLaw(by_change, low, count, reach, log_ratio, *window)


@numba.njit(nogil=True)
def leap_filled(lengths, start, stop, law, bank, tables, scratch):
    """As `leap_class`, with a law whose tables are filled already, and may serve many calls."""
    places = LeapPlaces(
        pointer_to(lengths),
        pointer_to(scratch.minima),
        pointer_to(tables.change.cells),
        pointer_to(tables.change.weights),
        pointer_to(tables.arrivals.cells),
        pointer_to(tables.services.cells),
        pointer_to(bank.lanes),
        pointer_to(bank.side),
        pointer_to(scratch.words),
        pointer_to(scratch.near),
        pointer_to(scratch.before),
    )
    leap_at(places, start, stop, law, tables.change.bits)


@inlined
def leap_at(places, start, stop, law, bits):
    """As `leap_filled`, on pointers: references to arrays cost more than a few queues do.

    Arguments:
        places: a `LeapPlaces`.
        bits: of the tables' aliases.
    """
    num_near = _find_near(places, start, stop, law.reach)
    if law.by_change or num_near < stop - start:
        _add_changes(places, start, stop, law, bits)
    near, before, side, lengths = places.near, places.before, places.side, places.lengths
    if law.by_change:
        weights, low, count, log_ratio = places.weights, law.low, law.count, law.log_ratio
        for k in range(num_near):
            i, length = near[k], before[k]
            moved = lengths[i] - length
            lengths[i] = reflect_given_change(length, moved, weights, low, count, log_ratio, side)
        return
    for k in range(num_near):
        ups = draw_packed(next_word(side), places.arrivals, law.num_arrivals, bits)
        downs = draw_packed(next_word(side), places.services, law.num_services, bits)
        lengths[near[k]] = reflect_given_counts(
            before[k], law.low_arrival + ups, law.low_service + downs, side
        )


@inlined
def _find_near(places, start, stop, reach):
    """List the servers shorter than `reach`; groups whose least length is not are passed over."""
    lengths, minima, near, before = places.lengths, places.minima, places.near, places.before
    num_near = 0
    for group in range(start // GROUP, (stop - 1) // GROUP + 1):
        if minima[group] < reach:
            for i in range(max(start, group * GROUP), min(stop, (group + 1) * GROUP)):
                near[num_near] = i
                before[num_near] = lengths[i]
                num_near += lengths[i] < reach
    return num_near


@inlined
def _add_changes(places, start, stop, law, bits):
    """Add an independent draw from the table of changes to every queue."""
    words, cells, low, count = places.words, places.change, law.low, law.count
    for first in range(start, stop, BLOCK):
        size = min(BLOCK, stop - first)
        # Whole rows of lanes, a little more than is used.
        fill_rows(places.lanes, words, (size + NUM_LANES - 1) // NUM_LANES)
        part = shifted(places.lengths, first)
        for j in range(size):
            part[j] += low + draw_packed(words[j], cells, count, bits)


@numba.njit(nogil=True)
def update_minima(lengths, minima):
    """Make `minima` exact; returns the least length of all."""
    size, least = lengths.shape[0], lengths[0]
    # Groups of constant size become vector instructions.
    for group in range(size // GROUP):
        start = group * GROUP
        least_here = lengths[start]
        for j in range(GROUP):
            least_here = min(least_here, lengths[start + j])
        minima[group] = least_here
        least = min(least, least_here)
    if size % GROUP > 0:
        start = size // GROUP * GROUP
        least_here = lengths[start]
        for i in range(start, size):
            least_here = min(least_here, lengths[i])
        minima[size // GROUP] = least_here
        least = min(least, least_here)
    return least
