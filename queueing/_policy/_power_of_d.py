"""The shortest of d sampled queues."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import check_integer
from .._system import System
from ._base import Policy, RoutingLaw
from ._ties import rank_ranges


@dataclass(frozen=True)
class PowerOfD(Policy):
    """Every job to the shortest of `num_choices` queues sampled uniformly; ties uniform.

    The rank of the one that is joined has, for d choices among K,

        without replacement  p_k = C(K-k, d-1) / C(K, d)
        with replacement     p_k = ((K-k+1)^d - (K-k)^d) / K^d .

    d = 1 is random routing; d = K without replacement is JSQ.

    Arguments:
        num_choices: d, from 1 to the number of servers.
        replacement: whether a server can be sampled twice.
    Raises: ValueError that names the argument.
    Source: [Mitzenmacher2001], [VvedenskayaDobrushinKarpelevich1996].
    """

    num_choices: int
    replacement: bool = False

    def __post_init__(self) -> None:
        remedy = "an int >= 1, the number of queues that are compared"
        choices = check_integer("num_choices", self.num_choices, minimum=1, remedy=remedy)
        object.__setattr__(self, "num_choices", choices)
        if not isinstance(self.replacement, bool):
            raise ValueError(f"replacement is {self.replacement!r}; give True or False")

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K): P(the least of the sample is this length), split among those that have it."""
        shorter, not_longer = rank_ranges(np.asarray(lengths))
        none_shorter = self._tails(system.num_servers)
        return (none_shorter[shorter] - none_shorter[not_longer]) / (not_longer - shorter)

    def messages_per_job(self, system: System) -> float:
        """d: each sampled queue is asked (0 for d = 1, where nothing is compared)."""
        return float(self.num_choices) if self.num_choices > 1 else 0.0

    def validate(self, system: System) -> None:
        """Refuse more choices than servers."""
        if self.num_choices > system.num_servers:
            raise ValueError(
                f"num_choices is {self.num_choices} for {system.num_servers} servers; "
                f"give at most {system.num_servers}, or compare all of them by JSQ()"
            )

    def law(self, system: System) -> RoutingLaw:
        """The law of the joined rank."""
        tails = self._tails(system.num_servers)
        return RoutingLaw(tails[:-1] - tails[1:], np.zeros(system.num_servers))

    def _tails(self, num_servers: int) -> np.ndarray:
        """(K + 1,) P(none of the lowest k ranks is in the sample), k = 0 ... K."""
        others = np.arange(num_servers, -1, -1, dtype=np.float64)
        tails = np.ones(num_servers + 1)
        for drawn in range(self.num_choices):
            gone = 0 if self.replacement else drawn
            tails *= np.maximum(others - gone, 0.0) / (num_servers - gone)
        return tails
