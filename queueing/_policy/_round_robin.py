"""Servers in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._engine._inlined import inlined
from .._system import System
from ._base import Kernel, Policy, RoutingLaw
from ._random import Random


@dataclass(frozen=True)
class RoundRobin(Policy):
    """Every job to the next server in turn, in order of their names, lost jobs included.

    The dispatcher asks nothing and remembers whose turn it is, which starts with the first server:
    lengths alone are no Markov chain, and names matter even where servers are alike.
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities 1/K: whose turn it is is not known from the lengths."""
        return np.full(np.shape(lengths), 1.0 / system.num_servers)

    def mean_law(self, system: System) -> RoutingLaw:
        """Every server receives 1/K of all jobs."""
        return Random().law(system)

    def num_phases(self, system: System) -> int:
        """K: whose turn it is."""
        return system.num_servers

    def phase_routing(self, lengths: np.ndarray, phase: int, system: System) -> np.ndarray:
        """(..., K, K): to server `phase`, and the turn passes on."""
        size = system.num_servers
        law = np.zeros((size, size))
        law[phase, (phase + 1) % size] = 1.0
        return np.broadcast_to(law, (*np.shape(lengths), size))

    def messages_per_job(self, system: System) -> float:
        """0: nothing is asked."""
        return 0.0

    def kernel(self, system: System) -> Kernel:
        """The rule, with the server whose turn it is as its memory."""
        del system
        return Kernel(_choose, np.zeros(1), np.zeros(1, np.int64), uses_order=False)


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    server = memory[0]
    following = server + 1
    memory[0] = 0 if following == queues.num_servers else following
    return server
