"""Random routing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._system import System
from ._base import Policy, RoutingLaw


@dataclass(frozen=True)
class Random(Policy):
    """Every job to a server chosen uniformly, without asking: P(server i) = 1/K."""

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities 1/K."""
        return np.full(np.shape(lengths), 1.0 / system.num_servers)

    def messages_per_job(self, system: System) -> float:
        """0: nothing is asked."""
        return 0.0

    def law(self, system: System) -> RoutingLaw:
        """Uniform over servers."""
        size = system.num_servers
        return RoutingLaw(np.zeros(size), np.full(size, 1.0 / size))
