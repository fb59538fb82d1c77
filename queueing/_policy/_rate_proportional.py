"""Routing in proportion to the service rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._system import System
from ._base import Policy, RoutingLaw


@dataclass(frozen=True)
class RateProportional(Policy):
    """Every job to server i with probability mu_i / sum mu, without asking: equal loads."""

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities mu_i / sum mu."""
        return np.broadcast_to(_shares(system), np.shape(lengths))

    def messages_per_job(self, system: System) -> float:
        """0: nothing is asked."""
        return 0.0

    def validate(self, system: System) -> None:
        """Refuse service rates that are all 0."""
        if not system.service_rates.any():
            raise ValueError(
                "service_rates are all 0, so RateProportional() has no proportions; "
                "give a positive rate, or route by Random()"
            )

    def law(self, system: System) -> RoutingLaw:
        """The shares by server."""
        return RoutingLaw(np.zeros(system.num_servers), _shares(system))


def _shares(system: System) -> np.ndarray:
    return system.service_rates / system.total_service_rate
