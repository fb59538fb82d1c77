"""Join the queue with the least expected work."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from .._engine._inlined import inlined
from .._engine._xoshiro import uniform_index
from .._system import System
from ._base import Kernel, Policy, RoutingLaw
from ._jsq import JSQ

# Work that is equal in exact arithmetic may differ in the last bits.
_TIE = 1.0 + 1e-12


@dataclass(frozen=True)
class LeastExpectedWork(Policy):
    """Every job to where it is expected to leave first, its own service counted; ties uniform.

        w_i = (Q_i + 1) / mu_i ,   P(server i) = 1{w_i = min w} / #{j : w_j = min w} .

    Also called the shortest expected delay. Values within a relative 1e-12 are tied. A server of
    rate 0 is never joined, unless all have rate 0. At equal rates this is JSQ.

    Cost: O(K) per job at unequal rates.
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K) probabilities, uniform on the least expected work."""
        with np.errstate(divide="ignore"):
            work = (np.asarray(lengths) + 1.0) / system.service_rates
        is_chosen = work <= work.min(axis=-1, keepdims=True) * _TIE
        return is_chosen / is_chosen.sum(axis=-1, keepdims=True)

    def messages_per_job(self, system: System) -> float:
        """K: every queue is asked (0 if there is only one)."""
        return JSQ().messages_per_job(system)

    def law(self, system: System) -> RoutingLaw | None:
        """That of JSQ at equal rates; else ranks do not tell."""
        return JSQ().law(system) if system.is_exchangeable and system.service_rates[0] else None

    def kernel(self, system: System) -> Kernel:
        """The rule that looks at every server; that of JSQ at equal rates."""
        if self.law(system) is not None:
            return JSQ().kernel(system)
        with np.errstate(divide="ignore"):
            means = 1.0 / system.service_rates
        return Kernel(_choose, means, np.zeros(1, np.int64), uses_order=False)


@inlined
def _choose(queues, uniform, side, numbers, names, memory):
    return _scan(queues, uniform, numbers)


@numba.njit
def _scan(queues, uniform, numbers):
    least = np.inf
    for k in range(queues.num_servers):
        least = min(least, (queues.lengths[np.uintp(k)] + 1) * numbers[np.uintp(k)])
    bound = least * _TIE
    tied = 0
    for k in range(queues.num_servers):
        tied += (queues.lengths[np.uintp(k)] + 1) * numbers[np.uintp(k)] <= bound
    skip = uniform_index(uniform, tied)
    for k in range(queues.num_servers):
        if (queues.lengths[np.uintp(k)] + 1) * numbers[np.uintp(k)] <= bound:
            if skip == 0:
                return k
            skip -= 1
    return np.int64(-1)
