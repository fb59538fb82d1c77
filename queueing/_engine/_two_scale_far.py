"""All queues in one leap over a macro step, in blocks of servers that threads may share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np

from ._leap_interval import (
    GROUP,
    LeapLaw,
    LeapScratch,
    LeapTables,
    leap_filled,
    update_minima,
)
from ._packed_alias import make_packed_alias
from ._poisson_tables import window_bound
from ._xoshiro import BANK_WORDS, BLOCK, NUM_LANES, RandomBank, make_banks

# Each block has random numbers of its own, so that they are the same for any number of threads.
SERVERS_PER_BLOCK = 1 << 14
# A table of so many bits holds the changes of walks of these means, and of this drift.
_BITS = 16
LARGEST_MEAN = 6e6
LARGEST_DRIFT = 1e5


class WorkSpace(NamedTuple):
    """What one thread works in.

    Attributes:
        tables: of the present class of servers and macro step.
        scratch: of a block.
    """

    tables: LeapTables
    scratch: LeapScratch


class WorkSpaces(threading.local):
    """A work space of each thread, for all replicas that it runs one after the other."""

    def __init__(self, num_servers: int) -> None:
        size = window_bound(2.0 * LARGEST_MEAN) + 2 * int(LARGEST_DRIFT)
        tables = LeapTables(*(make_packed_alias(size, _BITS) for _ in range(3)))
        self.own = WorkSpace(tables, _make_scratch(num_servers))


class Blocks(NamedTuple):
    """The lengths of one replica, and the random numbers that move them block by block.

    Attributes:
        lengths: (K,) int64.
        minima: (K / GROUP,) int64, the least length of each group of servers.
        banks: lanes (B, 4, NUM_LANES) and sides (B, 4) of B blocks.
    """

    lengths: np.ndarray
    minima: np.ndarray
    banks: RandomBank


def make_blocks(lengths: np.ndarray, words: np.ndarray) -> Blocks:
    """Blocks of many replicas, the first axis of all their arrays.

    Arguments:
        lengths: (R, K) int64.
        words: (R, num_block_words(K)).
    """
    num_replicas, num_servers = lengths.shape
    minima = np.zeros((num_replicas, -(-num_servers // GROUP)), np.int64)
    for row, least in zip(lengths, minima, strict=True):
        update_minima(row, least)
    lanes, sides = make_banks(words.reshape(-1, BANK_WORDS))
    shape = (num_replicas, -1)
    banks = RandomBank(lanes.reshape(*shape, *lanes.shape[1:]), sides.reshape(*shape, 4))
    return Blocks(lengths, minima, banks)


def num_block_words(num_servers: int) -> int:
    """Words that seed the blocks of one replica."""
    return BANK_WORDS * -(-num_servers // SERVERS_PER_BLOCK)


class _Scratches(threading.local):
    """Work spaces for the shares of each caller: replicas that run at a time share none."""

    def __init__(self, num_servers: int, num_threads: int) -> None:
        self.own = [_make_scratch(num_servers) for _ in range(num_threads)]


class SharedLeap:
    """Leaps of blocks that several threads share.

    Arguments:
        num_servers: of a replica.
        num_threads: at least 2, the caller's among them.
    """

    def __init__(self, num_servers: int, num_threads: int) -> None:
        self._pool = ThreadPoolExecutor(num_threads - 1)
        self._scratches = _Scratches(num_servers, num_threads)

    def __call__(
        self, blocks: Blocks, start: int, stop: int, law: LeapLaw, space: WorkSpace
    ) -> None:
        """As `leap_blocks`; the numbers are the same."""
        first, last = start // SERVERS_PER_BLOCK, -(-stop // SERVERS_PER_BLOCK)
        scratches = self._scratches.own
        num_shares = max(1, min(len(scratches), last - first))
        ends = [first + (last - first) * k // num_shares for k in range(num_shares + 1)]
        spaces = [space._replace(scratch=each) for each in scratches]
        shares = [
            (blocks, ends[k], ends[k + 1], start, stop, law, spaces[k]) for k in range(num_shares)
        ]
        pending = [self._pool.submit(_leap_part, *share) for share in shares[1:]]
        _leap_part(*shares[0])
        for each in pending:
            each.result()


def _make_scratch(num_servers: int) -> LeapScratch:
    size = min(num_servers, SERVERS_PER_BLOCK)
    return LeapScratch(
        np.empty(BLOCK + NUM_LANES, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(0, np.int64),
    )


@numba.njit(nogil=True)
def put_back(blocks, servers, lengths):
    """Set the lengths of some servers, ascending."""
    everything, minima = blocks.lengths, blocks.minima
    done = -1
    for k in range(servers.size):
        everything[servers[k]] = lengths[k]
    for server in servers:
        group = server // GROUP
        if group > done:
            done = group
            least = everything[group * GROUP]
            for i in range(group * GROUP + 1, min((group + 1) * GROUP, everything.size)):
                least = min(least, everything[i])
            minima[group] = least


@numba.njit(nogil=True)
def leap_blocks(blocks, start, stop, law, space):
    """Advance the servers start ... stop - 1 by the law that the tables hold."""
    first = start // SERVERS_PER_BLOCK
    last = (stop + SERVERS_PER_BLOCK - 1) // SERVERS_PER_BLOCK
    _leap_part(blocks, first, last, start, stop, law, space)


@numba.njit(nogil=True)
def _leap_part(blocks, first, last, start, stop, law, space):
    """Advance those of the servers start ... stop - 1 that lie in the blocks first ... last - 1."""
    lengths, minima, scratch = blocks.lengths, blocks.minima, space.scratch
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
        bank = RandomBank(blocks.banks.lanes[block], blocks.banks.side[block])
        leap_filled(
            part, max(start - begin, 0), min(stop, end) - begin, law, bank, space.tables, own
        )
        update_minima(part, own.minima)
