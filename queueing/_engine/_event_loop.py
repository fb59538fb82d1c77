"""The event-by-event loop of the uniformised chain on ranked queues."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ._alias import alias_table, draw_alias
from ._pointers import pointer_to
from ._ranked_queues import QueueView, move
from ._sampler import take_sample
from ._tally import tally_event
from ._xoshiro import BELOW_ONE, BLOCK, fill_words, uniform_index

# Entries of the clock, an int64 array that lives from one call to the next.
TICK, CURSOR, NEXT_SAMPLE, ACCEPTED, LOST, FOUND_IDLE, TOTAL, TOTAL_SUM = range(8)
CLOCK_ENTRIES = 8


class EventRates(NamedTuple):
    """Which event a 53-bit word stands for.

    Attributes:
        threshold: words below it are arrivals.
        arrival_scale, departure_scale: turn the rest of the word into a number in [0, 1).
        buffer: most jobs at a server.
        num_cells: 0 if all servers work at one rate, else their number; then
        cut, alias: (K,) the alias table of the service rates.
    """

    threshold: int
    arrival_scale: float
    departure_scale: float
    buffer: int
    num_cells: int
    cut: np.ndarray
    alias: np.ndarray


@functools.cache
def build_event_loop(choose: Callable[..., int], averages: bool) -> Callable[..., None]:
    """The loop for one policy's rule, compiled once per rule, not per parameter values.

    Each tick of the uniformised chain is an arrival with probability arrival / (arrival + service
    rates), else a service at a server that is drawn in proportion to the service rates, in vain if
    it is idle. Ticks come at a constant rate, so counting them is an exact clock without drift.

    Returns: run(queues, bank, words, clock, end, rates, numbers, names, ranks, servers, sampler),
        which goes on to tick `end` of the window, or until `sampler.kept` is full. Levels for so
        many arrivals must be there.
    """

    @numba.njit(forceinline=True)
    def pick(word, view, side, rates, cut, alias, numbers, names):
        if word < rates.threshold:
            uniform = min(word * rates.arrival_scale, BELOW_ONE)
            return np.uintp(choose(view, uniform, side, numbers, names)), 1
        uniform = min((word - rates.threshold) * rates.departure_scale, BELOW_ONE)
        if rates.num_cells == 0:
            return np.uintp(uniform_index(uniform, view.num_servers)), 0
        return np.uintp(draw_alias(uniform, cut, alias, 0, rates.num_cells)), 0

    @numba.njit(forceinline=True)
    def apply(count, clock, words, pointers, rule, tables, rates, num_servers):
        lengths, order, position, first = pointers
        side, cut, alias, numbers, names = rule
        ranks, servers = tables
        shortest = lengths[np.uintp(order[0])]
        tick, accepted, lost, found_idle = clock[TICK], 0, 0, 0
        total, total_sum = clock[TOTAL], 0
        for k in range(count):
            view = QueueView(lengths, order, first, num_servers, shortest)
            word = np.int64(words[np.uintp(k)] >> np.uint64(11))
            server, up = pick(word, view, side, rates, cut, alias, numbers, names)
            level = lengths[server]
            if level >= rates.buffer and up == 1:
                lost += 1
                continue
            if level == 0 and up == 0:
                continue
            edge = move(server, level, up, lengths, order, position, first)
            if edge == 0:
                shortest = level + 2 * up - 1
            if averages:
                tally_event(ranks, servers, edge, server, level, up, tick + k + 1)
                accepted += up
                found_idle += level < up
                total += 2 * up - 1
                total_sum += total
        clock[TICK] += count
        clock[CURSOR] += count
        clock[ACCEPTED] += accepted
        clock[LOST] += lost
        clock[FOUND_IDLE] += found_idle
        clock[TOTAL] = total
        clock[TOTAL_SUM] += total_sum

    @numba.njit(nogil=True)
    def run(queues, bank, words, clock, end, rates, numbers, names, ranks, servers, sampler):
        lengths, order = queues.lengths, queues.order
        size = lengths.shape[0]
        pointers = (
            pointer_to(lengths),
            pointer_to(order),
            pointer_to(queues.position),
            pointer_to(queues.first),
        )
        rule = (
            pointer_to(bank.side),
            pointer_to(rates.cut),
            pointer_to(rates.alias),
            pointer_to(numbers),
            pointer_to(names),
        )
        tables = (pointer_to(ranks), pointer_to(servers))
        while True:
            if averages and clock[TICK] == clock[NEXT_SAMPLE]:
                for k in range(size):
                    sampler.ranked[k] = lengths[order[k]]
                take_sample(sampler, lengths)
                clock[NEXT_SAMPLE] += sampler.stride
                if sampler.count[1] > 0 and sampler.count[1] == sampler.kept.shape[0]:
                    break
            if clock[TICK] == end:
                break
            if clock[CURSOR] == BLOCK:
                fill_words(bank.lanes, words)
                clock[CURSOR] = 0
            count = min(BLOCK - clock[CURSOR], end - clock[TICK])
            if averages:
                count = min(count, clock[NEXT_SAMPLE] - clock[TICK])
            fresh = pointer_to(words[clock[CURSOR] :])
            apply(count, clock, fresh, pointers, rule, tables, rates, size)

    return run


def event_rates(system: Any) -> EventRates:
    """The thresholds and the alias table of a system's arrivals and services."""
    services, arrivals = system.total_service_rate, system.arrival_rate
    unit = 2**53
    threshold = round(unit * (arrivals / (arrivals + services))) if arrivals > 0.0 else 0
    is_uniform = system.is_exchangeable
    cut, alias = alias_table(system.service_rates[:0] if is_uniform else system.service_rates)
    return EventRates(
        threshold,
        1.0 / threshold if threshold > 0 else 0.0,
        1.0 / (unit - threshold) if threshold < unit else 0.0,
        np.iinfo(np.int64).max if system.buffer is None else system.buffer,
        cut.size,
        cut,
        alias,
    )
