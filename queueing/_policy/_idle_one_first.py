"""Idle servers first, then servers with one job."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._engine._inlined import inlined
from .._engine._xoshiro import uniform_index
from .._system import System
from ._base import Kernel, Policy


@dataclass(frozen=True)
class IdleOneFirst(Policy):
    """Every job to an idle server; if none is idle to one with a single job; else to any.

    Uniformly within each of these sets: I_0 servers are idle, I_1 have one job,

        P(server i) = 1{Q_i = 0} / I_0 if I_0 > 0, else 1{Q_i = 1} / I_1 if I_1 > 0, else 1/K .

    Source: [GuptaWalton2019].
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the idle, on those with one job, or on all."""
        least = np.minimum(np.asarray(lengths), 2)
        is_chosen = least == least.min(axis=-1, keepdims=True)
        return is_chosen / is_chosen.sum(axis=-1, keepdims=True)

    def messages_per_job(self, system: System) -> float:
        """1, at most: a server reports when it is left with no job or with one.

        Nothing is asked on arrival (0 if there is only one server).
        """
        return 1.0 if system.num_servers > 1 else 0.0

    def kernel(self, system: System) -> Kernel:
        """The rule on the blocks of idle servers and of those with one job."""
        del system
        return Kernel(_choose, np.zeros(1), np.zeros(1, np.int64))


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    if queues.shortest > 1:
        return uniform_index(uniform, queues.num_servers)
    # The shortest are the first: none is idle, or all of these are.
    tied = queues.first[np.uintp(queues.shortest + 1)]
    return np.int64(queues.order[np.uintp(uniform_index(uniform, tied))])
