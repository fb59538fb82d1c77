"""Queues in order of arrival as linked lists through one pool of nodes.

A ring per queue would need room for the longest queue at every server; nodes need as many places
as there are jobs, wherever they are, and those that were freed last are used first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from atlas.ensemble import check_memory

from ._inlined import inlined

# Nodes that must be free before an event, which takes two at most.
RESERVE = 4
_FIRST_NODES = 64
_BYTES_PER_NODE = 24
_MANY_NODES = 1 << 20


class JobPool(NamedTuple):
    """Nodes, and the lists that they are in.

    Attributes:
        times: (P,) when what the node stands for is due.
        tags: (P,) int64, what it is about.
        following: (P,) int64, the node behind in its list, -1 behind the last.
        ends: (2 L,) int64, first and last node of each list; the first is -1 if it is empty.
        free: (2,) int64, the first free node and how many there are.
    """

    times: np.ndarray
    tags: np.ndarray
    following: np.ndarray
    ends: np.ndarray
    free: np.ndarray


def fill_pool(times: np.ndarray, sizes: np.ndarray) -> JobPool:
    """A pool whose list l holds `sizes[l]` nodes.

    Arguments:
        times: (sum of sizes,) due times, list after list.
        sizes: (L,) nodes of each list.
    """
    used, sizes = times.size, np.asarray(sizes, dtype=np.int64)
    ends = np.full((sizes.size, 2), -1, np.int64)
    last = np.cumsum(sizes) - 1
    filled = sizes > 0
    ends[filled, 0], ends[filled, 1] = (last - sizes + 1)[filled], last[filled]
    following = np.arange(1, used + 1)
    following[last[filled]] = -1
    empty = JobPool(
        np.array(times, dtype=np.float64),
        np.zeros(used, np.int64),
        following,
        ends.ravel(),
        np.array([-1, 0]),
    )
    return with_free_nodes(empty)


def with_free_nodes(pool: JobPool) -> JobPool:
    """The same lists with twice as many nodes."""
    used = pool.times.size
    size = max(2 * used, used + _FIRST_NODES)
    check_pool_memory(size)
    following = np.concatenate((pool.following, np.arange(used + 1, size + 1)))
    following[-1] = pool.free[0]
    return JobPool(
        np.concatenate((pool.times, np.empty(size - used))),
        np.concatenate((pool.tags, np.zeros(size - used, np.int64))),
        following,
        pool.ends,
        np.array([used, pool.free[1] + size - used]),
    )


def check_pool_memory(num_nodes: int) -> None:
    """Refuse more jobs than fit into memory."""
    if num_nodes > _MANY_NODES:
        check_memory(
            _BYTES_PER_NODE * num_nodes,
            f"the times of {num_nodes} jobs",
            "start from shorter queues, lower the load or the horizon, or give a buffer",
        )


@inlined
def push_job(pool, queue, time, tag):
    """Append a node to list `queue`; True if it was empty.  There must be a free node."""
    node = pool.free[0]
    pool.free[0] = pool.following[np.uintp(node)]
    pool.free[1] -= 1
    pool.times[np.uintp(node)] = time
    pool.tags[np.uintp(node)] = tag
    pool.following[np.uintp(node)] = -1
    first = np.uintp(2 * queue)
    was_empty = pool.ends[first] < 0
    if was_empty:
        pool.ends[first] = node
    else:
        pool.following[np.uintp(pool.ends[first + np.uintp(1)])] = node
    pool.ends[first + np.uintp(1)] = node
    return was_empty


@inlined
def pop_job(pool, queue):
    """Take the first node of list `queue`, which must have one: its tag, and the next due time."""
    first = np.uintp(2 * queue)
    node = pool.ends[first]
    behind = pool.following[np.uintp(node)]
    pool.ends[first] = behind
    pool.following[np.uintp(node)] = pool.free[0]
    pool.free[0] = node
    pool.free[1] += 1
    due = np.inf if behind < 0 else pool.times[np.uintp(behind)]
    return pool.tags[np.uintp(node)], due
