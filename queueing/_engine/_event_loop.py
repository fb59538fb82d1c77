"""The event-by-event loop of the uniformised chain on ranked queues."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from ._class_levels import tally_class
from ._inlined import inlined
from ._packed_rates import draw_server, pack_rates
from ._pointers import pointer_to, prefetch, shifted
from ._ranked_queues import QueueView, count_move, move, write_ranked
from ._sampler import take_sample
from ._tally import SERVER_COLUMNS, tally_event
from ._xoshiro import BELOW_ONE, BLOCK, fill_words

# Entries of the clock, an int64 array that lives from one call to the next.
TICK, CURSOR, NEXT_SAMPLE, ACCEPTED, LOST, FOUND_IDLE, IDLE_MOMENT, TOTAL, TOTAL_SUM = range(9)
SHORTEST = 9
CLOCK_ENTRIES = 10
# So many events ahead the memory of a server is fetched, where there are too many for a cache.
_AHEAD = 12
_MANY_SERVERS = 1 << 13


class EventRates(NamedTuple):
    """Which event a 53-bit word stands for.

    Attributes:
        threshold: words below it are arrivals.
        arrival_scale, departure_scale: turn the rest of the word into a number in [0, 1).
        buffer: most jobs at a server.
        cells: (K,) the servers' rates, packed; (0,) if all work at one rate.
    """

    threshold: int
    arrival_scale: float
    departure_scale: float
    buffer: int
    cells: np.ndarray


@functools.cache
def build_event_loop(
    choose: Callable[..., int],
    update: Callable[..., None],
    uses_order: bool,
    averages: bool,
    by_class: bool = False,
) -> Callable[..., None]:
    """The loop for one policy's rule, compiled once per rule, not per parameter values.

    Each tick of the uniformised chain is an arrival with probability arrival / (arrival + service
    rates), else a service at a server that is drawn in proportion to the service rates, in vain if
    it is idle. Ticks come at a constant rate, so counting them is an exact clock without drift.

    Arguments:
        choose, update, uses_order: of the policy's `Kernel`.
        averages: whether the loop tallies and samples.
        by_class: whether it tallies the levels of every class of servers too.
    Returns: run(queues, bank, words, targets, clock, end, rates, rule, tables, sampler), which goes
        on to tick `end` of the window, or until `sampler.kept` is full. Levels for so many arrivals
        must be there. `targets` (BLOCK,) goes with `words`; `rule` is (numbers, names, memory) of
        the policy; `tables` are (moments, servers, found, groups), see `_tally`, and (cells,
        class_of), see `_class_levels`.
    """

    @inlined
    def tally(tables, widths, edge, server, level, up, now):
        moments, servers, found, groups, cells, class_of = tables
        tally_event(moments, servers, found, groups, widths[0], edge, server, level, up, now)
        if by_class:
            signed = (2 * up - 1) * now
            tally_class(cells, widths[1], class_of[server], level + up, signed)

    @inlined
    def apply(count, clock, fresh, pointers, side, rule, tables, widths, rates, num_servers):
        words, targets = fresh
        lengths, order, position, first = pointers
        numbers, names, memory = rule
        shortest, far = clock[SHORTEST], num_servers >= _MANY_SERVERS
        tick, accepted, lost, found_idle, idle_moment = clock[TICK], 0, 0, 0, 0
        total, total_sum = clock[TOTAL], 0
        for k in range(count):
            if far:
                ahead = targets[np.uintp(k + _AHEAD)]
                prefetch(shifted(lengths, ahead))
                prefetch(shifted(memory, ahead))
                if uses_order:
                    prefetch(shifted(position, ahead))
                if averages:
                    prefetch(shifted(tables[1], ahead * SERVER_COLUMNS))
            target = targets[np.uintp(k)]
            if target < 0:
                word = np.int64(words[np.uintp(k)] >> np.uint64(11))
                uniform = min(word * rates.arrival_scale, BELOW_ONE)
                view = QueueView(lengths, order, first, num_servers, shortest, 0)
                server = np.uintp(choose(view, uniform, side, numbers, names, memory))
                level, up = lengths[server], 1
                if level >= rates.buffer:
                    lost += 1
                    continue
            else:
                server = np.uintp(target)
                level, up = lengths[server], 0
                if level == 0:
                    continue
            if uses_order:
                edge = move(server, level, up, lengths, order, position, first)
            else:
                edge = count_move(server, level, up, lengths, first)
            if edge == 0:
                shortest = level + 2 * up - 1
            view = QueueView(lengths, order, first, num_servers, shortest, 0)
            update(view, memory, server, level, up, numbers, names)
            if averages:
                now = tick + k + 1
                tally(tables, widths, edge, server, level, up, now)
                accepted += up
                was_idle, is_idle = np.int64(level < up), np.int64(level + up == 1) * (1 - up)
                found_idle += was_idle
                idle_moment += (is_idle - was_idle) * now
                total += 2 * up - 1
                total_sum += total
        clock[TICK] += count
        clock[CURSOR] += count
        clock[ACCEPTED] += accepted
        clock[LOST] += lost
        clock[FOUND_IDLE] += found_idle
        clock[IDLE_MOMENT] += idle_moment
        clock[TOTAL] = total
        clock[TOTAL_SUM] += total_sum
        clock[SHORTEST] = shortest

    @numba.njit(nogil=True)
    def run(queues, bank, words, targets, clock, end, rates, rule, tables, sampler):
        size = queues.lengths.shape[0]
        pointers = (
            pointer_to(queues.lengths),
            pointer_to(queues.order),
            pointer_to(queues.position),
            pointer_to(queues.first),
        )
        side = pointer_to(bank.side)
        rule_pointers = (pointer_to(rule[0]), pointer_to(rule[1]), pointer_to(rule[2]))
        table_pointers = (
            pointer_to(tables[0]),
            pointer_to(tables[1]),
            pointer_to(tables[2]),
            pointer_to(tables[3]),
            pointer_to(tables[4]),
            pointer_to(tables[5]),
        )
        widths = (tables[2].shape[1], tables[4].shape[1])
        while True:
            if averages and clock[TICK] == clock[NEXT_SAMPLE]:
                write_ranked(queues, clock[SHORTEST], uses_order, sampler.ranked)
                take_sample(sampler, queues.lengths)
                clock[NEXT_SAMPLE] += sampler.stride
                if sampler.count[1] > 0 and sampler.count[1] == sampler.kept.shape[0]:
                    break
            if clock[TICK] == end:
                break
            if clock[CURSOR] == BLOCK:
                fill_words(bank.lanes, words)
                _find_targets(words, rates, size, targets)
                clock[CURSOR] = 0
            count = min(BLOCK - clock[CURSOR], end - clock[TICK])
            if averages:
                count = min(count, clock[NEXT_SAMPLE] - clock[TICK])
            fresh = (
                pointer_to(words[clock[CURSOR] :]),
                pointer_to(targets[clock[CURSOR] :]),
            )
            apply(
                count,
                clock,
                fresh,
                pointers,
                side,
                rule_pointers,
                table_pointers,
                widths,
                rates,
                size,
            )

    return run


@numba.njit(nogil=True)
def _find_targets(words, rates, num_servers, targets):
    """The server of each word that stands for a service, -1 for arrivals.

    Ahead of the events, so that the loads of the rates' table wait for no branch.
    """
    cells, size = pointer_to(rates.cells), rates.cells.shape[0]
    for k in range(BLOCK):
        word = np.int64(words[k] >> np.uint64(11))
        rest = max(word - rates.threshold, 0)
        server = draw_server(rest * rates.departure_scale, cells, size, num_servers)
        targets[k] = server if word >= rates.threshold else -1


def event_rates(system: Any) -> EventRates:
    """The thresholds and the table of rates of a system's arrivals and services."""
    services, arrivals = system.total_service_rate, system.arrival_rate
    unit = 2**53
    threshold = round(unit * (arrivals / (arrivals + services))) if arrivals > 0.0 else 0
    return EventRates(
        threshold,
        1.0 / threshold if threshold > 0 else 0.0,
        1.0 / (unit - threshold) if threshold < unit else 0.0,
        np.iinfo(np.int64).max if system.buffer is None else system.buffer,
        pack_rates(system.service_rates),
    )


def make_targets() -> np.ndarray:
    """The targets of a block of words, and some more that a look ahead may read."""
    return np.zeros(BLOCK + _AHEAD, np.int64)
