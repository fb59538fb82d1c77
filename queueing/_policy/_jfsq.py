"""Join the fastest of the shortest queues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from .._engine._inlined import inlined
from .._system import System
from ._base import Kernel, Policy, RoutingLaw
from ._jsq import JSQ
from ._speed_classes import class_memory, class_names, fastest_of_shortest, update_classes


@dataclass(frozen=True)
class JFSQ(Policy):
    """Every job to the fastest server among those with a shortest queue; ties uniform.

    With m = min Q over all servers and mu* = max {mu_j : Q_j = m},

        P(server i) = 1{Q_i = m, mu_i = mu*} / #{j : Q_j = m, mu_j = mu*} .

    The job in service counts. At equal rates this is JSQ.

    Source: [P2].  Cost: near constant per job, whatever the number of servers and of rates.
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the fastest of the shortest."""
        lengths = np.asarray(lengths)
        is_shortest = lengths == lengths.min(axis=-1, keepdims=True)
        rates = np.where(is_shortest, system.service_rates, -1.0)
        is_chosen = rates == rates.max(axis=-1, keepdims=True)
        return is_chosen / is_chosen.sum(axis=-1, keepdims=True)

    def messages_per_job(self, system: System) -> float:
        """K: every queue is asked (0 if there is only one)."""
        return JSQ().messages_per_job(system)

    def law(self, system: System) -> RoutingLaw | None:
        """That of JSQ at equal rates; else ranks do not tell."""
        return JSQ().law(system) if system.is_exchangeable else None

    def kernel(self, system: System) -> Kernel:
        """The rule with its sets of classes; that of JSQ at equal rates."""
        if system.is_exchangeable:
            return JSQ().kernel(system)
        names = class_names(system.service_rates)
        memory = partial(class_memory, names=names, buffer=system.buffer)
        return Kernel(_choose, np.zeros(1), names, memory, update_classes, uses_order=False)


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    return fastest_of_shortest(queues, uniform, names, memory)
