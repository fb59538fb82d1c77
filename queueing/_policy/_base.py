"""What every routing policy offers: its law, its kernel for event loops, its messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._engine._inlined import inlined
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


@inlined
def no_update(queues, memory, server, level, up, numbers, names):
    """What a policy does after a change of a length if it remembers nothing of it."""


def no_memory(lengths: np.ndarray) -> np.ndarray:
    """The memory of a policy that has none: one entry, so that there is something to point at."""
    del lengths
    return np.zeros(1, np.int64)


class Kernel(NamedTuple):
    """A policy as compiled code.

    All arrays reach the compiled functions as pointers, which have no shape.

    Attributes:
        choose: numba function (queues, uniform, side, numbers, names, memory) -> server, compiled
            with `forceinline=True` and called once per arriving job.  `queues` is a `QueueView`;
            `uniform` a number in [0, 1) that is this job's own; `side` the generator of further
            draws, `next_uniform(side)`.
        numbers: (m,) float64, every number of the policy, so that one compilation serves all
            values.
        names: (m',) int64, every integer of the policy.
        memory: (lengths) -> int64 array, one-dimensional and not empty: what the policy remembers
            in a replica that starts at `lengths` (K,).  `choose` and `update` may change it.
        update: numba function (queues, memory, server, level, up, numbers, names), compiled with
            `forceinline=True` and called after each change of a length: `level` was the length of
            `server`, up = 1 for an arrival and 0 for a departure; `queues` shows the state after.
        uses_order: whether `choose` or `update` reads `queues.order`; if not, engines need not
            keep the servers in order, and `queues.order` may be out of date.

    Engines may fetch entry i of `memory` ahead of an event at server i: what belongs to servers
    is best put first.
    """

    choose: Callable[..., Any]
    numbers: np.ndarray
    names: np.ndarray
    memory: Callable[[np.ndarray], np.ndarray] = no_memory
    update: Callable[..., Any] = no_update
    uses_order: bool = True


class Policy(ABC):
    """How an arriving job chooses its server.

    Concrete policies are frozen dataclasses and final: a new one is one file and one line in
    `POLICIES`.  It gives `routing_probabilities` and `messages_per_job`, and either `law` (then it
    runs on every engine) or `kernel`.
    """

    #: d where a job joins a server with fewer than d jobs if there is one, and any server,
    #: uniformly, if there is none: with unequal rates that may be unstable; None for others.
    fallback_length: ClassVar[int | None] = None

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

    def mean_law(self, system: System) -> RoutingLaw | None:
        """The law in the mean over what the policy remembers of earlier jobs; by default `law`."""
        return self.law(system)

    def num_phases(self, system: System) -> int:
        """How many values the policy's memory beyond the lengths has; the first is its start."""
        del system
        return 1

    def phase_routing(self, lengths: np.ndarray, phase: int, system: System) -> np.ndarray:
        """The joint law of the server and the next phase, for a policy with several phases.

        Arguments:
            lengths: (..., K).
            phase: the present one, from 0.
            system: the system.
        Returns: (..., K, P) probabilities.
        """
        del phase
        return self.routing_probabilities(lengths, system)[..., None]

    def sees_origins(self, system: System) -> bool:
        """Whether the kernel looks at `queues.origin`, so that `law` says less than the kernel."""
        del system
        return False

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
