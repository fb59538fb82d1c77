"""Leaps of a few queues over any time, in pieces whose tables are made once for all.

A table for every interval costs more than the few near queues that it would serve. Lengths of time
are therefore written in hexadecimal digits of a unit: a digit d of place l is one leap over
d 16^l units, with a table of its own that all replicas share; what is left, less than a unit, is
gone through event by event. Leaps compose, so that all this is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._inlined import inlined
from ._leap_interval import GROUP, LeapLaw, LeapPlaces, fill_leap, leap_at, make_leap_tables
from ._leap_loop import LeapSystem
from ._packed_alias import MAX_BITS, MAX_CELLS
from ._pointers import pointer_to, shifted
from ._xoshiro import next_exponential, next_uniform, uniform_index

# The fastest server has 1/8 arrival or service in a unit of time, and at most 4096 in a piece.
_UNIT_MEAN = 0.125
_DIGITS = 15
_PLACES = 3
_TOP_DIGITS = 8
_NUM_PIECES = _DIGITS * _PLACES + _TOP_DIGITS


class Pieces(NamedTuple):
    """Laws and tables of all pieces, T of them, for C classes of servers.

    Attributes:
        unit: of time.
        cells: (3, C, T, MAX_CELLS) uint64, of changes, arrivals and services.
        weights: (C, T, MAX_CELLS) of changes.
        numbers: (C, T, 8) int64, the whole numbers of a `LeapLaw` in its order.
        log_ratios: (C, T).
    """

    unit: float
    cells: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray
    log_ratios: np.ndarray


class PiecePlaces(NamedTuple):
    """`Pieces` as pointers."""

    unit: float
    cells: Any
    weights: Any
    numbers: Any
    log_ratios: Any


class SystemPlaces(NamedTuple):
    """Rates and bounds of the classes of a `LeapSystem` as pointers."""

    num_classes: int
    bounds: Any
    arrival_rates: Any
    service_rates: Any


def make_pieces(system: LeapSystem) -> Pieces:
    """All pieces; cost about 1 ms per class of servers."""
    num_classes = system.arrival_rates.size
    shape = (num_classes, _NUM_PIECES)
    pieces = Pieces(
        _UNIT_MEAN / system.top_rate if system.top_rate > 0.0 else 1.0,
        np.zeros((3, *shape, MAX_CELLS), np.uint64),
        np.zeros((*shape, MAX_CELLS)),
        np.zeros((*shape, 8), np.int64),
        np.zeros(shape),
    )
    tables = make_leap_tables()
    for c in range(num_classes):
        for t in range(_NUM_PIECES):
            duration = pieces.unit * (t % _DIGITS + 1) * 16 ** (t // _DIGITS)
            up = float(system.arrival_rates[c] * duration)
            down = float(system.service_rates[c] * duration)
            law = fill_leap(up, down, tables)
            counts = (law.count, law.num_arrivals, law.num_services)
            for k, (table, count) in enumerate(zip(tables, counts, strict=True)):
                pieces.cells[k, c, t, :count] = table.cells[:count]
            pieces.weights[c, t, : law.count] = tables.change.weights[: law.count]
            pieces.log_ratios[c, t] = law.log_ratio
            pieces.numbers[c, t] = law[:4] + law[5:]
    return pieces


@inlined
def point_to(lengths, system, pieces, bank, scratch):
    """What `leap_in_pieces` needs, as pointers: references to arrays cost more than a piece."""
    unused = pointer_to(pieces.cells)
    places = LeapPlaces(
        pointer_to(lengths),
        pointer_to(scratch.minima),
        unused,
        pointer_to(pieces.weights),
        unused,
        unused,
        pointer_to(bank.lanes),
        pointer_to(bank.side),
        pointer_to(scratch.words),
        pointer_to(scratch.near),
        pointer_to(scratch.before),
    )
    piece_places = PiecePlaces(
        pieces.unit,
        pointer_to(pieces.cells),
        pointer_to(pieces.weights),
        pointer_to(pieces.numbers),
        pointer_to(pieces.log_ratios),
    )
    system_places = SystemPlaces(
        system.arrival_rates.shape[0],
        pointer_to(system.bounds),
        pointer_to(system.arrival_rates),
        pointer_to(system.service_rates),
    )
    return places, piece_places, system_places


@inlined
def leap_in_pieces(places, size, duration, system, pieces):
    """Advance all queues by `duration` without special arrivals; returns the least length.

    Arguments:
        places: a `LeapPlaces`, whose tables are not used; its minima are exact afterwards.
        size: how many queues there are.
        system, pieces: as pointers, see `SystemPlaces`.
    Cost: about 0.3 us, plus 0.1 us and 2 ns per queue for each of about 4 digits.
    """
    units = duration / pieces.unit
    left = np.int64(units)
    _run_events(places, (units - left) * pieces.unit, system)
    place = 0
    while left > 0:
        if place < _PLACES:
            digit = left & _DIGITS
            left >>= 4
        else:
            digit = min(left, _TOP_DIGITS)
            left -= digit
        if digit > 0:
            _leap_piece(places, _DIGITS * place + digit - 1, system, pieces)
            _update_minima(places, size)
        place = min(place + 1, _PLACES)
    return _update_minima(places, size)


@inlined
def _leap_piece(places, t, system, pieces):
    for c in range(system.num_classes):
        start, stop = system.bounds[c], system.bounds[c + 1]
        if start == stop:
            continue
        piece = c * _NUM_PIECES + t
        whole = shifted(pieces.numbers, 8 * piece)
        law = LeapLaw(
            whole[0] != 0,
            whole[1],
            whole[2],
            whole[3],
            pieces.log_ratios[piece],
            whole[4],
            whole[5],
            whole[6],
            whole[7],
        )
        table, apart = piece * MAX_CELLS, system.num_classes * _NUM_PIECES * MAX_CELLS
        filled = LeapPlaces(
            places.lengths,
            places.minima,
            shifted(pieces.cells, table),
            shifted(pieces.weights, table),
            shifted(pieces.cells, table + apart),
            shifted(pieces.cells, table + 2 * apart),
            places.lanes,
            places.side,
            places.words,
            places.near,
            places.before,
        )
        leap_at(filled, start, stop, law, MAX_BITS)


@inlined
def _run_events(places, duration, system):
    """Advance by a short time, one arrival or service after the other."""
    lengths, minima, side = places.lengths, places.minima, places.side
    for c in range(system.num_classes):
        start, size = system.bounds[c], system.bounds[c + 1] - system.bounds[c]
        rate = system.arrival_rates[c] + system.service_rates[c]
        if size == 0 or rate == 0.0:
            continue
        share = system.arrival_rates[c] / rate
        left = duration - next_exponential(side) / (rate * size)
        while left > 0.0:
            i = start + uniform_index(next_uniform(side), size)
            if next_uniform(side) < share:
                lengths[i] += 1
            elif lengths[i] > 0:
                lengths[i] -= 1
                minima[i // GROUP] = min(minima[i // GROUP], lengths[i])
            left -= next_exponential(side) / (rate * size)


@inlined
def _update_minima(places, size):
    """Make the minima exact; returns the least length of all."""
    lengths, minima = places.lengths, places.minima
    least = lengths[0]
    for start in range(0, size, GROUP):
        least_here = lengths[start]
        for i in range(start + 1, min(start + GROUP, size)):
            least_here = min(least_here, lengths[i])
        minima[start // GROUP] = least_here
        least = min(least, least_here)
    return least
