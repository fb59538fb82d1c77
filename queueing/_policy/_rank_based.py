"""Routing by rank with given probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_vector
from .._system import System
from ._base import Policy, RoutingLaw
from ._ties import rank_ranges

_REMEDY = "probabilities >= 0 that sum to 1, one per rank, the shortest queue first"


@dataclass(frozen=True, eq=False, init=False)
class RankBased(Policy):
    """Every job to rank k with probability probs[k - 1]; tied servers share their ranks equally.

    Arguments:
        probs: (K,) probabilities, the shortest queue first.
    Raises: ValueError if they are negative, not finite or do not sum to 1 within 1e-9.
    Source: [P1].
    """

    probs: np.ndarray

    def __init__(self, probs: ArrayLike) -> None:
        checked = check_vector("probs", probs, remedy=_REMEDY)
        if abs(checked.sum() - 1.0) > 1e-9:
            raise ValueError(f"probs sum to {checked.sum():.12g}; give {_REMEDY}")
        object.__setattr__(self, "probs", checked)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RankBased):
            return NotImplemented
        return np.array_equal(self.probs, other.probs)

    def __hash__(self) -> int:
        return hash(self.probs.tobytes())

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K): a tied block of ranks is split equally among its servers."""
        shorter, not_longer = rank_ranges(np.asarray(lengths))
        below = np.concatenate(([0.0], np.cumsum(self.probs)))
        return (below[not_longer] - below[shorter]) / (not_longer - shorter)

    def messages_per_job(self, system: System) -> float:
        """K: ranks are known only when every queue is asked (0 if there is only one)."""
        return float(system.num_servers) if system.num_servers > 1 else 0.0

    def validate(self, system: System) -> None:
        """Refuse another number of servers than of probabilities."""
        if self.probs.size != system.num_servers:
            raise ValueError(
                f"probs has {self.probs.size} entries for {system.num_servers} servers; "
                "give one probability per rank"
            )

    def law(self, system: System) -> RoutingLaw:
        """The probabilities by rank."""
        return RoutingLaw(self.probs / self.probs.sum(), np.zeros(system.num_servers))
