"""Servers with the fewest jobs first, as long as these are few; then any server."""

from __future__ import annotations

import numpy as np

from .._engine._inlined import inlined
from .._engine._xoshiro import uniform_index
from .._system import System
from ._base import Kernel, Policy


class FreeFirst(Policy):
    """What JIQ (d = 1) and IdleOneFirst (d = 2) share, d being their `fallback_length`.

    A job joins a server with the fewest jobs, uniformly, if these are fewer than d, and otherwise
    any server, uniformly: with I_l servers of min(Q, d) = l, l the least that occurs,

        P(server i) = 1{min(Q_i, d) = l} / I_l .
    """

    fallback_length: int

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the servers of the least min(Q, d)."""
        least = np.minimum(np.asarray(lengths), self.fallback_length)
        is_chosen = least == least.min(axis=-1, keepdims=True)
        return is_chosen / is_chosen.sum(axis=-1, keepdims=True)

    def messages_per_job(self, system: System) -> float:
        """1, at most: a server that is left with fewer than d jobs reports it.

        Nothing is asked on arrival (0 if there is only one server).
        """
        return 1.0 if system.num_servers > 1 else 0.0

    def kernel(self, system: System) -> Kernel:
        """The rule on the block of the shortest queues."""
        del system
        return Kernel(_choose, np.zeros(1), np.array([self.fallback_length]))


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    if queues.shortest >= names[0]:
        return uniform_index(uniform, queues.num_servers)
    # The shortest are the first.
    tied = queues.first[np.uintp(queues.shortest + 1)]
    return np.int64(queues.order[np.uintp(uniform_index(uniform, tied))])
