"""What every routing policy offers: its law, its kernel for event loops, its messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._system import System
from ._law_kernel import choose_by_law, law_parameters


@dataclass(frozen=True, eq=False)
class RoutingLaw:
    """A routing law that knows the state through the ranks alone.

    A job goes to rank k with probability by_rank[k - 1] (ties broken uniformly), or to server i
    with probability by_server[i], whatever the state.  All of them together sum to 1.

    Attributes:
        by_rank: (K,) probabilities, the shortest first.
        by_server: (K,) probabilities.
    """

    by_rank: np.ndarray
    by_server: np.ndarray

    def mixed_with(self, other: RoutingLaw, weight: float) -> RoutingLaw:
        """This law with probability `weight`, else `other`."""
        return RoutingLaw(
            weight * self.by_rank + (1.0 - weight) * other.by_rank,
            weight * self.by_server + (1.0 - weight) * other.by_server,
        )


class Kernel(NamedTuple):
    """A policy as compiled code.

    Attributes:
        choose: numba function (queues, uniform, side, numbers, names) -> server, compiled with
            `forceinline=True`.  `queues` is a `QueueView`; `uniform` a number in [0, 1) that is
            this job's own; `side` the generator of further draws, `next_uniform(side)`.  All are
            pointers, which have no shape.
        numbers: (m,) float64, every number of the policy, so that one compilation serves all
            values.
        names: (m',) int64, every integer of the policy.
    """

    choose: Callable[..., Any]
    numbers: np.ndarray
    names: np.ndarray


class Policy(ABC):
    """How an arriving job chooses its server.

    Concrete policies are frozen dataclasses and final: a new one is one file and one line in
    `POLICIES`.  It gives `routing_probabilities` and `messages_per_job`, and either `law` (then it
    runs on every engine) or `kernel`.
    """

    @abstractmethod
    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """The law of the server that a job is sent to, ties broken uniformly.

        Arguments:
            lengths: (..., K) jobs at each server, in service included.
            system: the system, of K servers.
        Returns: (..., K) probabilities.
        """

    @abstractmethod
    def messages_per_job(self, system: System) -> float:
        """The mean number of queue lengths that are asked for per arriving job."""

    def validate(self, system: System) -> None:
        """Refuse a system that the policy cannot serve, by a ValueError with the remedy."""
        del system

    def law(self, system: System) -> RoutingLaw | None:
        """The routing law if ranks and servers' names determine it, else None."""
        del system
        return None

    def kernel(self, system: System) -> Kernel:
        """The compiled rule for event loops; by default that of `law`."""
        law = self.law(system)
        if law is None:
            raise ValueError(f"{type(self).__name__} must define law or kernel")
        return Kernel(choose_by_law, *law_parameters(law.by_rank, law.by_server))
