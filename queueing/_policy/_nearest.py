"""Every job to the station that it reaches first."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from .._engine._xoshiro import uniform_index
from .._system import System
from ._base import Kernel, Policy, RoutingLaw


@dataclass(frozen=True)
class Nearest(Policy):
    """Every job to a station of least (mean) travel time from its origin, ties uniform.

        P(server i | origin o) = 1{d_oi = min d_o} / #{j: d_oj = min d_o}

    Lengths are not asked for.  Without travel all stations are equally near: random routing.
    Arguments: none.
    Source: [P4].
    """

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K): the mixture over origins."""
        return np.broadcast_to(_shares(system), np.shape(lengths))

    def messages_per_job(self, system: System) -> float:
        """0: nothing is asked."""
        return 0.0

    def law(self, system: System) -> RoutingLaw:
        """The shares by server, over all origins; engines with travel look at each job's own."""
        return RoutingLaw(np.zeros(system.num_servers), _shares(system))

    def sees_origins(self, system: System) -> bool:
        """Whether there are several."""
        return system.num_origins > 1

    def kernel(self, system: System) -> Kernel:
        """A table of the nearest stations of each origin: cost O(1)."""
        if not self.sees_origins(system):
            return super().kernel(system)
        rows = [np.flatnonzero(row) for row in _is_nearest(system)]
        bounds = np.cumsum([0, *(row.size for row in rows)])
        names = np.concatenate((len(rows) + 1 + bounds, *rows))
        return Kernel(choose_nearest, np.zeros(1), names.astype(np.int64))


@numba.njit(forceinline=True)
def choose_nearest(queues, uniform, side, numbers, names, memory):
    """The station of one job, by the table: where the row of each origin begins, then the rows."""
    begin, end = names[np.uintp(queues.origin)], names[np.uintp(queues.origin + 1)]
    return names[np.uintp(begin + uniform_index(uniform, end - begin))]


def _is_nearest(system: System) -> np.ndarray:
    """(origins, K) whether the station is one of the nearest."""
    if system.travel_times is None:
        return np.ones((1, system.num_servers), dtype=bool)
    return system.travel_times == system.travel_times.min(axis=1, keepdims=True)


def _shares(system: System) -> np.ndarray:
    """(K,) the probability that a job goes to each server."""
    nearest = _is_nearest(system)
    probs = np.ones(1) if system.origin_probs is None else system.origin_probs
    return probs @ (nearest / nearest.sum(axis=1, keepdims=True))
