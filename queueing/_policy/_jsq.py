"""Join the shortest queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._system import System
from ._base import Policy, RoutingLaw


@dataclass(frozen=True)
class JSQ(Policy):
    """Every job to a shortest queue, the job in service counted; ties uniform.

    P(server i) = 1{Q_i = min Q} / #{j: Q_j = min Q} .
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the shortest."""
        lengths = np.asarray(lengths)
        is_shortest = lengths == lengths.min(axis=-1, keepdims=True)
        return is_shortest / is_shortest.sum(axis=-1, keepdims=True)

    def messages_per_job(self, system: System) -> float:
        """K: every queue is asked (0 if there is only one)."""
        return float(system.num_servers) if system.num_servers > 1 else 0.0

    def law(self, system: System) -> RoutingLaw:
        """All on the first rank."""
        by_rank = np.zeros(system.num_servers)
        by_rank[0] = 1.0
        return RoutingLaw(by_rank, np.zeros(system.num_servers))
