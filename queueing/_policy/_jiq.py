"""Join an idle queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._engine._inlined import inlined
from .._engine._xoshiro import uniform_index
from .._system import System
from ._base import Kernel, Policy


@dataclass(frozen=True)
class JIQ(Policy):
    """Every job to an idle server, uniformly; to any server, uniformly, if none is idle.

    P(server i) = 1{Q_i = 0} / I if I > 0 servers are idle, else 1/K .

    Source: [LuXieKliotGellerLarusGreenberg2011].
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the idle, or on all."""
        is_idle = np.asarray(lengths) == 0
        num_idle = is_idle.sum(axis=-1, keepdims=True)
        return np.where(num_idle > 0, is_idle / np.maximum(num_idle, 1), 1.0 / system.num_servers)

    def messages_per_job(self, system: System) -> float:
        """1, at most: a server that becomes idle reports it, once per job that it serves.

        Nothing is asked on arrival (0 if there is only one server).
        """
        return 1.0 if system.num_servers > 1 else 0.0

    def kernel(self, system: System) -> Kernel:
        """The rule on the block of idle servers."""
        del system
        return Kernel(_choose, np.zeros(1), np.zeros(1, np.int64))


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    num_idle = queues.first[1]
    if num_idle == 0:
        return uniform_index(uniform, queues.num_servers)
    return np.int64(queues.order[np.uintp(uniform_index(uniform, num_idle))])
