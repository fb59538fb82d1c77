"""Arrival times, services and travel times of one replica, drawn in blocks between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numba
import numpy as np

from .._distribution import Deterministic, Distribution
from ._calendar_state import CURSOR, TRAVEL_CURSOR, Blocks

if TYPE_CHECKING:
    from .._system import System

_BLOCK = 1 << 13
# Numbers in all blocks of services together, and in each at least.
_SERVICES = 1 << 15
_FEWEST = 32


def service_classes(system: System) -> tuple[list[Distribution], np.ndarray]:
    """The different laws of services, and the class of each server (K,); rate 0 is class -1."""
    laws = list(dict.fromkeys(system.laws))
    if len(laws) == 1:
        return laws, np.where(system.service_rates > 0.0, 0, -1)
    index = {law: number for number, law in enumerate(laws)}
    classes = np.array([index[law] for law in system.laws])
    return laws, np.where(system.service_rates > 0.0, classes, -1)


class ArrivalClock:
    """Times of arrivals, without drift: block sums are added to a sum kept in two floats.

    The n-th time is (X_1 + ... + X_n) / rate, so that whole numbers stay exact.
    """

    def __init__(self, fill: Callable[[np.ndarray], None], rate: float) -> None:
        self._fill, self._rate = fill, rate
        self._sum, self._rest = 0.0, 0.0

    def fill(self, out: np.ndarray) -> None:
        """Write the next arrival times into `out`; inf when there are no more."""
        if self._rate == 0.0 or self._sum == np.inf:
            out[:] = np.inf
            return
        self._fill(out)
        self._add(_sum_up(out, self._sum, self._rest, self._rate))

    def _add(self, last: float) -> None:
        total = self._sum + last
        if total == np.inf:
            self._sum = total
            return
        # What rounding took, exactly.
        added = total - self._sum
        rest = self._rest + ((self._sum - (total - added)) + (last - added))
        self._sum = total + rest
        self._rest = rest - (self._sum - total)


@numba.njit(nogil=True)
def _sum_up(out, before, rest, rate):
    """Let interarrival times become times of arrival; their sum."""
    total = 0.0
    for k in range(out.shape[0]):
        total += out[k]
        out[k] = (total + rest + before) / rate
    return total


class Supply:
    """All that a replica draws in advance, each kind from a generator of its own.

    Arguments:
        system: whose laws are drawn.
        sequence: of the replica; it is spawned from.
    """

    def __init__(self, system: System, sequence: np.random.SeedSequence) -> None:
        laws, _ = service_classes(system)
        children = sequence.spawn(2 + len(laws))
        generators = [np.random.Generator(np.random.PCG64(child)) for child in children]
        arrivals = system.arrivals.start(generators[0])
        self._arrivals = ArrivalClock(arrivals.fill, system.arrival_rate)
        # The last class has servers that never finish.
        self._services = [
            law.start(generator).fill for law, generator in zip(laws, generators[2:], strict=True)
        ] + [_fill_never]
        law = system.travel_law if system.travel_law is not None else Deterministic()
        self._travels = law.start(generators[1]).fill

    def draw_services(self, of_class: int, size: int) -> np.ndarray:
        """(size,) services of mean 1 of one class."""
        services = np.empty(size)
        self._services[of_class](services)
        return services

    def open(self, samples: np.ndarray) -> Blocks:
        """The first blocks, full."""
        size = service_block(len(self._services) - 1)
        blocks = Blocks(
            np.empty(_BLOCK),
            np.empty(size * len(self._services)),
            np.full(len(self._services), size),
            np.empty(_BLOCK),
            samples,
        )
        self._arrivals.fill(blocks.arrivals)
        self._travels(blocks.travels)
        self._refill_services(blocks)
        return blocks

    def refill(self, blocks: Blocks, counts: np.ndarray) -> None:
        """Draw anew what is used up."""
        if counts[CURSOR] == blocks.arrivals.size:
            self._arrivals.fill(blocks.arrivals)
            counts[CURSOR] = 0
        if counts[TRAVEL_CURSOR] == blocks.travels.size:
            self._travels(blocks.travels)
            counts[TRAVEL_CURSOR] = 0
        self._refill_services(blocks)

    def _refill_services(self, blocks: Blocks) -> None:
        by_class = blocks.services.reshape(len(self._services), -1)
        for of_class in np.flatnonzero(blocks.cursors == by_class.shape[1]):
            self._services[of_class](by_class[of_class])
            blocks.cursors[of_class] = 0


def block_sizes(num_laws: int) -> tuple[int, int, int]:
    """Sizes of the blocks of arrivals, services of one class, and travel times."""
    return _BLOCK, service_block(num_laws), _BLOCK


def service_block(num_laws: int) -> int:
    """Services that are drawn at a time for one of so many laws."""
    return min(_BLOCK, max(_FEWEST, _SERVICES // num_laws))


def _fill_never(out: np.ndarray) -> None:
    out[:] = np.inf
