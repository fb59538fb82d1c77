"""Servers kept in order of their queue lengths, at constant cost per arrival and departure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from atlas.ensemble import check_memory

from ._inlined import inlined
from ._nearly_sorted import rank_nearly_sorted

# Below it a look at the memory that is left costs more than the table.
_MANY_LEVELS = 1 << 20
_ENDLESS = 1 << 62
# Levels per server beyond which sorting lengths is cheaper than going through the levels.
_SPREAD = 8


class RankedQueues(NamedTuple):
    """Queue lengths with the servers sorted by them.

    Attributes:
        lengths: (K,) int64 by server.
        order: (K,) int32, the servers by ascending length: order[k] has rank k + 1.
        position: (K,) int32, the inverse of `order`.
        first: (L,) int64, first[l] = number of servers shorter than l, which is the first position
            of level l in `order`; at least two entries above the longest queue.
    """

    lengths: np.ndarray
    order: np.ndarray
    position: np.ndarray
    first: np.ndarray


class QueueView(NamedTuple):
    """What a policy's compiled rule sees of the queues and of the job: pointers, and numbers.

    Attributes:
        lengths, order, first: as in `RankedQueues`.
        num_servers: K.
        shortest: the least length.
        origin: where the job comes from, 0 where there is one origin.
    """

    lengths: Any
    order: Any
    first: Any
    num_servers: int
    shortest: int
    origin: int


def rank_queues(lengths: np.ndarray, room: int) -> RankedQueues:
    """The structure for given lengths, with levels for `room` more arrivals at one server.

    Arguments:
        lengths: (K,) integers >= 0.
        room: arrivals before levels can run out, >= 1.
    Raises: ValueError if the levels do not fit into memory.
    Cost: O(K log K) and 8 bytes per level.
    """
    lengths = np.array(lengths, dtype=np.int64)
    order = np.argsort(lengths, kind="stable").astype(np.int32)
    position = np.empty_like(order)
    position[order] = np.arange(order.size, dtype=np.int32)
    first = _count_shorter(lengths[order], int(lengths.max()) + room + 2)
    return RankedQueues(lengths, order, position, first)


def with_room(
    queues: RankedQueues, room: int, buffer: int | None = None
) -> tuple[RankedQueues, int]:
    """The same queues with levels for at least `room` more arrivals, and for how many there are.

    With a `buffer` the levels never run out once all are there.
    """
    if buffer is not None and queues.first.size >= buffer + 3:
        return queues, _ENDLESS
    longest = int(queues.lengths.max())
    if queues.first.size < longest + room + 2:
        # Doubled, so that copying costs little in the long run.
        queues = queues._replace(first=_count_shorter(queues.lengths, 2 * longest + room + 2))
    return queues, queues.first.size - longest - 2


def _count_shorter(lengths: np.ndarray, num_levels: int) -> np.ndarray:
    if num_levels > _MANY_LEVELS:
        check_memory(
            8 * num_levels,
            f"the table of {num_levels} queue lengths",
            "leaping engines need none: engine='leap', or start from shorter queues",
        )
    first = np.empty(num_levels, dtype=np.int64)
    fill_first(lengths, first)
    return first


@numba.njit(nogil=True)
def fill_first(lengths, first):
    """Fill `first` (L,) of `RankedQueues` for lengths (K,) < L - 1; returns the least of these."""
    for level in range(first.shape[0]):
        first[level] = 0
    shortest = lengths[0]
    for i in range(lengths.shape[0]):
        first[lengths[i] + 1] += 1
        shortest = min(shortest, lengths[i])
    for level in range(1, first.shape[0]):
        first[level] += first[level - 1]
    return shortest


@inlined
def move(server, level, up, lengths, order, position, first):
    """Apply one arrival (up = 1) or departure (up = 0) at `server`, whose length is `level`.

    The server changes places with the last of its level (arrival) or the first (departure), so
    that its new level is next to it.  Returns the position whose ranked length changes.
    """
    bound = np.uintp(level + up)
    start = first[bound]
    edge = np.uintp(start - up)
    first[bound] = start + 1 - 2 * up
    lengths[server] = level + 2 * up - 1
    place = np.uintp(position[server])
    other = np.uintp(order[edge])
    order[place] = other
    position[other] = place
    order[edge] = server
    position[server] = edge
    return edge


@inlined
def count_move(server, level, up, lengths, first):
    """The same for a policy that needs no servers in order: only the lengths and their counts."""
    bound = np.uintp(level + up)
    start = first[bound]
    first[bound] = start + 1 - 2 * up
    lengths[server] = level + 2 * up - 1
    return np.uintp(start - up)


@numba.njit(nogil=True)
def write_ranked(queues, shortest, is_ordered, ranked):
    """Write the lengths in ascending order; cost O(K), more without order if they are spread.

    Without order `queues.order` is any permutation, and may be another one afterwards.
    """
    lengths, order, first = queues.lengths, queues.order, queues.first
    size = lengths.shape[0]
    if is_ordered:
        for k in range(size):
            ranked[k] = lengths[order[k]]
        return
    place, level = 0, shortest
    while place < size and level < shortest + _SPREAD * size:
        following = first[level + 1]
        for k in range(place, following):
            ranked[k] = level
        place, level = following, level + 1
    if place < size:
        rank_nearly_sorted(lengths, order, ranked)
