"""The event-by-event loop of the system with pauses, on its gaps."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._alias import draw_alias
from ._pointers import pointer_to
from ._sampler import take_sample
from ._xoshiro import BLOCK, as_uniform, fill_words

# Entries of the clock, an int64 array that lives from one call to the next.
TICK, CURSOR, NEXT_SAMPLE, ARRIVALS, REFUSED, DEPARTURES = range(6)
CLOCK_ENTRIES = 6
# Columns of the table of gaps.
AREA, SINCE = range(2)


class PauseRates(NamedTuple):
    """The alias table of the 2 K events: arrivals by rank, then departures by rank."""

    cut: np.ndarray
    alias: np.ndarray


@numba.njit(forceinline=True)
def _change(gaps, table, k, step, tick):
    """Change gap k by `step` at `tick`, its old value accounted for."""
    row = np.uintp(2 * k)
    table[row + np.uintp(AREA)] += gaps[k] * (tick - table[row + np.uintp(SINCE)])
    table[row + np.uintp(SINCE)] = tick
    gaps[k] += step


@numba.njit(nogil=True)
def run_pauses(gaps, bank, words, clock, end, rates, table, sampler, averages):
    """Go on to tick `end` of the window, or until `sampler.kept` is full.

    An arrival at rank k widens gap k and narrows gap k + 1, and is refused if that is 0; a
    departure does the reverse, and pauses if gap k is 0. Every tick of the uniformised chain is an
    event of one of the ranks, in proportion to the rates, or in vain.

    Arguments:
        gaps: (K,) int64, changed in place.
        table: (K, 2) int64, integrals of the gaps and since when they are pending.

    Cost: about 8 ns per tick.
    """
    size = gaps.shape[0]
    gap, areas, fresh = pointer_to(gaps), pointer_to(table), pointer_to(words)
    cut, alias = pointer_to(rates.cut), pointer_to(rates.alias)
    while True:
        if averages and clock[TICK] == clock[NEXT_SAMPLE]:
            length = 0
            for k in range(size):
                length += gaps[k]
                sampler.ranked[k] = length
            take_sample(sampler, sampler.ranked)
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
        _apply(gap, areas, fresh, cut, alias, clock, count, size)
        clock[TICK] += count
        clock[CURSOR] += count


@numba.njit(forceinline=True)
def _apply(gap, areas, words, cut, alias, clock, count, size):
    """The next `count` ticks."""
    arrivals = refused = departures = 0
    tick, cursor = clock[TICK], clock[CURSOR]
    for k in range(count):
        tick += 1
        event = draw_alias(as_uniform(words[np.uintp(cursor + k)]), cut, alias, 0, 2 * size)
        is_arrival = event < size
        rank = event if is_arrival else event - size
        is_top = rank == size - 1
        arrivals += is_arrival
        if is_arrival and not is_top and gap[rank + 1] == 0:
            refused += 1
            continue
        if not is_arrival and gap[rank] == 0:
            continue
        departures += not is_arrival
        step = 1 if is_arrival else -1
        _change(gap, areas, rank, step, tick)
        if not is_top:
            _change(gap, areas, rank + 1, -step, tick)
    clock[ARRIVALS] += arrivals
    clock[REFUSED] += refused
    clock[DEPARTURES] += departures
