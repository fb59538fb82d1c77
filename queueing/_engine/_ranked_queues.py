"""Servers kept in order of their queue lengths, at constant cost per arrival and departure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from atlas.ensemble import check_memory

# Below it a look at the memory that is left costs more than the table.
_MANY_LEVELS = 1 << 20


class RankedQueues(NamedTuple):
    """Queue lengths with the servers sorted by them.

    Attributes:
        lengths: (K,) int64 by server.
        order: (K,) int64, the servers by ascending length: order[k] has rank k + 1.
        position: (K,) int64, the inverse of `order`.
        first: (L,) int64, first[l] = number of servers shorter than l, which is the first position
            of level l in `order`; at least two entries above the longest queue.
    """

    lengths: np.ndarray
    order: np.ndarray
    position: np.ndarray
    first: np.ndarray


class QueueView(NamedTuple):
    """What a policy's compiled rule sees of the queues: pointers, and two numbers.

    Attributes:
        lengths, order, first: as in `RankedQueues`.
        num_servers: K.
        shortest: the least length.
    """

    lengths: Any
    order: Any
    first: Any
    num_servers: int
    shortest: int


def rank_queues(lengths: np.ndarray, room: int) -> RankedQueues:
    """The structure for given lengths, with levels for `room` more arrivals at one server.

    Arguments:
        lengths: (K,) integers >= 0.
        room: arrivals before levels can run out, >= 1.
    Raises: ValueError if the levels do not fit into memory.
    Cost: O(K log K) and 8 bytes per level.
    """
    lengths = np.array(lengths, dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    first = _count_shorter(lengths[order], int(lengths.max()) + room + 2)
    return RankedQueues(lengths, order, position, first)


def with_room(queues: RankedQueues, room: int) -> tuple[RankedQueues, int]:
    """The same queues with levels for at least `room` more arrivals, and for how many there are."""
    longest = int(queues.lengths[queues.order[-1]])
    if queues.first.size < longest + room + 2:
        # Doubled, so that copying costs little in the long run.
        ranked = queues.lengths[queues.order]
        queues = queues._replace(first=_count_shorter(ranked, 2 * longest + room + 2))
    return queues, queues.first.size - longest - 2


def _count_shorter(ranked: np.ndarray, num_levels: int) -> np.ndarray:
    if num_levels > _MANY_LEVELS:
        check_memory(
            8 * num_levels,
            f"the table of {num_levels} queue lengths",
            "leaping engines need none: engine='leap', or start from shorter queues",
        )
    first = np.zeros(num_levels, dtype=np.int64)
    levels, counts = np.unique(ranked, return_counts=True)
    first[levels + 1] = counts
    return np.cumsum(first, out=first)


@numba.njit(forceinline=True)
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
