"""All queues in one leap over a macro step, in blocks of servers that threads may share."""

from __future__ import annotations

from concurrent.futures import Executor

import numba
import numpy as np

from ._leap_interval import (
    GROUP,
    LeapLaw,
    LeapScratch,
    LeapTables,
    fill_leap,
    leap_filled,
    update_minima,
)
from ._packed_alias import make_packed_alias
from ._poisson_tables import window_bound
from ._xoshiro import BLOCK, NUM_LANES, RandomBank, valid_states

# Each block has random numbers of its own, so that they are the same for any number of threads.
SERVERS_PER_BLOCK = 1 << 14
# A table of so many bits holds the changes of walks of these means, and of this drift.
_BITS = 16
LARGEST_MEAN = 6e6
LARGEST_DRIFT = 1e5


class Blocks:
    """The lengths of one replica, and what moves them.

    Attributes:
        lengths: (K,) int64.
        minima: (K / GROUP,) int64, the least length of each group of servers.
        tables: of the present class of servers and macro step.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        sequence: np.random.SeedSequence,
        pool: Executor | None,
        num_threads: int,
    ) -> None:
        self.lengths = lengths
        self.minima = np.zeros(-(-lengths.size // GROUP), np.int64)
        update_minima(lengths, self.minima)
        self._lanes, self._sides = _seed_blocks(sequence, -(-lengths.size // SERVERS_PER_BLOCK))
        self._pool = pool
        self._scratch = [_make_scratch(lengths.size) for _ in range(num_threads)]
        size = window_bound(2.0 * LARGEST_MEAN) + 2 * int(LARGEST_DRIFT)
        self.tables = LeapTables(*(make_packed_alias(size, _BITS) for _ in range(3)))

    def fill(self, arrival_mean: float, service_mean: float) -> LeapLaw:
        """Fill the tables for one class of servers and one interval."""
        return fill_leap(arrival_mean, service_mean, self.tables)

    def put_back(self, servers: np.ndarray, lengths: np.ndarray) -> None:
        """Set the lengths of some servers, ascending."""
        _put_back(self.lengths, self.minima, servers, lengths)

    def leap(self, start: int, stop: int, law: LeapLaw) -> None:
        """Advance the servers start ... stop - 1 by the law that the tables hold."""
        first, last = start // SERVERS_PER_BLOCK, -(-stop // SERVERS_PER_BLOCK)
        num_shares = max(1, min(len(self._scratch), last - first))
        ends = [first + (last - first) * k // num_shares for k in range(num_shares + 1)]
        pending = []
        for k in range(1, num_shares):
            assert self._pool is not None
            pending.append(self._pool.submit(self._leap, k, ends, start, stop, law))
        self._leap(0, ends, start, stop, law)
        for each in pending:
            each.result()

    def _leap(self, k: int, ends: list[int], start: int, stop: int, law: LeapLaw) -> None:
        first, last = ends[k], ends[k + 1]
        _leap_blocks(
            self.lengths,
            self.minima,
            first,
            last,
            start,
            stop,
            law,
            self._lanes,
            self._sides,
            self.tables,
            self._scratch[k],
        )


def _seed_blocks(sequence: np.random.SeedSequence, count: int) -> tuple[np.ndarray, np.ndarray]:
    """States of one bank of generators per block: (count, 4, NUM_LANES) and (count, 4)."""
    words = sequence.generate_state(4 * (NUM_LANES + 1) * count, np.uint64)
    words = words.reshape(count, 4, NUM_LANES + 1)
    valid_states(np.moveaxis(words, 1, 0))
    return np.ascontiguousarray(words[..., :-1]), np.ascontiguousarray(words[..., -1])


def _make_scratch(num_servers: int) -> LeapScratch:
    size = min(num_servers, SERVERS_PER_BLOCK)
    return LeapScratch(
        np.empty(BLOCK + NUM_LANES, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(0, np.int64),
    )


@numba.njit(nogil=True)
def _put_back(all_lengths, minima, servers, lengths):
    all_lengths[servers] = lengths
    done = -1
    for server in servers:
        group = server // GROUP
        if group > done:
            done = group
            minima[group] = all_lengths[group * GROUP : (group + 1) * GROUP].min()


@numba.njit(nogil=True)
def _leap_blocks(lengths, minima, first, last, start, stop, law, lanes, sides, tables, scratch):
    """Advance those of the servers start ... stop - 1 that lie in the blocks first ... last - 1."""
    for block in range(first, last):
        begin = block * SERVERS_PER_BLOCK
        end = min(begin + SERVERS_PER_BLOCK, lengths.shape[0])
        part = lengths[begin:end]
        own = LeapScratch(
            scratch.words,
            scratch.near,
            scratch.before,
            minima[begin // GROUP : (end + GROUP - 1) // GROUP],
        )
        bank = RandomBank(lanes[block], sides[block])
        leap_filled(part, max(start - begin, 0), min(stop, end) - begin, law, bank, tables, own)
        update_minima(part, own.minima)
