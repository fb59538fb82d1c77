"""Many short replicas of engine "markov" in one compiled call, which no other thread waits for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from ._base import Batch, OneByOne
from ._event_loop import (
    CLOCK_ENTRIES,
    CURSOR,
    SHORTEST,
    TICK,
    EventRates,
    build_event_loop,
    make_targets,
)
from ._ranked_queues import RankedQueues, fill_first
from ._replica_seeds import poisson_counts, replica_words
from ._sampler import EMPTY_SAMPLER
from ._tally import SERVER_COLUMNS
from ._xoshiro import BANK_WORDS, BLOCK, RandomBank, make_banks

if TYPE_CHECKING:
    from atlas.ensemble import Seed

    from .._policy import Kernel

# Above these a replica is long, or large, and better run by itself.
_MOST_LEVELS = 1 << 18
_MOST_LENGTHS = 1 << 22
# What the policy remembers in all replicas of a block together.
_MOST_MEMORIES = 1 << 22


class BatchRules(NamedTuple):
    """What all replicas have in common.

    Attributes:
        kernel: the policy's.
        rates: of the events.
        tick_rate: ticks per unit of time.
        start: of single replicas, as of `Engine.prepare`.
    """

    kernel: Kernel
    rates: EventRates
    tick_rate: float
    start: Any


class MarkovBatch(Batch):
    """A block of replicas; their numbers are those of single ones.

    Arguments:
        rules: of the system.
        lengths: (R, K) to start from.
        seed, replicas: as of `OneByOne`.
    """

    def __init__(self, rules: BatchRules, lengths: np.ndarray, seed: Seed, replicas: range) -> None:
        self._rules = rules
        self._lengths = lengths
        self._seed = seed
        self._replicas = replicas

    def states(self, durations: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        rules, lengths = self._rules, self._lengths
        ticks = poisson_counts(self._seed, self._replicas, rules.tick_rate * durations)
        highest = int(lengths.max()) + int(ticks.sum(axis=1).max())
        is_long = highest >= _MOST_LEVELS or lengths.size * durations.size > _MOST_LENGTHS
        memories = None if is_long else _memories(rules.kernel, lengths)
        if memories is None:
            yield from OneByOne(rules.start, lengths, self._seed, self._replicas).states(durations)
            return
        num_replicas, num_servers = lengths.shape
        states = np.empty((num_replicas, durations.size, num_servers), np.int64)
        kernel = rules.kernel
        work = (
            np.empty(BLOCK, np.uint64),
            make_targets(),
            np.empty(CLOCK_ENTRIES, np.int64),
            np.empty(num_servers, np.int32),
            # No queue gains more than one job per event.
            np.empty(highest + 3, np.int64),
        )
        build_block_loop(kernel.choose, kernel.update, kernel.uses_order)(
            lengths.copy(),
            _orders(lengths) if kernel.uses_order else np.zeros((num_replicas, 1), np.int32),
            ticks,
            make_banks(replica_words(self._seed, self._replicas, (), BANK_WORDS)),
            work,
            rules.rates,
            (kernel.numbers, kernel.names, memories),
            _NO_TABLES,
            EMPTY_SAMPLER,
            states,
        )
        yield slice(None), states.reshape(-1, num_servers)


# Nothing is averaged.
_NO_TABLES = (
    np.zeros(0, np.int64),
    np.zeros((0, SERVER_COLUMNS), np.int64),
    np.zeros((0, 1), np.int64),
    np.zeros(0, np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros(0, np.int64),
)


def _memories(kernel: Kernel, lengths: np.ndarray) -> np.ndarray | None:
    """(R, m) what the policy remembers in each replica; None if that is unlike or too much."""
    first = kernel.memory(lengths[0])
    if first.size * len(lengths) > _MOST_MEMORIES:
        return None
    memories = np.empty((len(lengths), first.size), np.int64)
    for row, own in zip(lengths, memories, strict=True):
        memory = kernel.memory(row)
        if memory.shape != first.shape:
            return None
        own[:] = memory
    return memories


def _orders(lengths: np.ndarray) -> np.ndarray:
    """(R, K) the servers of each replica by ascending length."""
    return np.argsort(lengths, axis=1, kind="stable").astype(np.int32)


@functools.cache
def build_block_loop(
    choose: Callable[..., int], update: Callable[..., None], uses_order: bool
) -> Callable[..., None]:
    """The loop over replicas and times for one policy's rule, see `build_event_loop`.

    Returns: run(lengths, orders, ticks, banks, work, rates, rule, tables, sampler, states), which
        fills `states` (R, T, K) from `lengths` (R, K), which it uses up, by `ticks` (R, T) events;
        `work` is (words, targets, clock, position, first), see `build_event_loop`.
    """
    loop = build_event_loop(choose, update, uses_order, False)

    @numba.njit(nogil=True)
    def run(lengths, orders, ticks, banks, work, rates, rule, tables, sampler, states):
        numbers, names, memories = rule
        words, targets, clock, position, first = work
        num_servers = lengths.shape[1]
        for r in range(lengths.shape[0]):
            own, order = lengths[r], orders[r]
            for k in range(order.shape[0]):
                position[order[k]] = k
            shortest = fill_first(own, first)
            for k in range(CLOCK_ENTRIES):
                clock[k] = 0
            clock[CURSOR], clock[SHORTEST] = BLOCK, shortest
            queues = RankedQueues(own, order, position, first)
            bank = RandomBank(banks.lanes[r], banks.side[r])
            own_rule = (numbers, names, memories[r])
            for t in range(ticks.shape[1]):
                clock[TICK] = 0
                loop(
                    queues,
                    bank,
                    words,
                    targets,
                    clock,
                    ticks[r, t],
                    rates,
                    own_rule,
                    tables,
                    sampler,
                )
                for i in range(num_servers):
                    states[r, t, i] = own[i]

    return run
