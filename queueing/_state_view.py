"""What is kept of states of queues, as one table for many of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from ._engine import ServerClasses
from ._observables import StateFunction


@dataclass(frozen=True, eq=False)
class StateView:
    """Which observables of a state are kept.

    Attributes:
        num_ranks: how many of the lowest ranks.
        keeps_servers: whether lengths by server too.
        num_levels: levels of `occupancy`.
        classes: for means by class of servers, or None.
        observe: the user's observables.
    """

    num_ranks: int
    keeps_servers: bool
    num_levels: int
    classes: ServerClasses | None
    observe: dict[str, StateFunction]

    def of(self, lengths: np.ndarray) -> dict[str, np.ndarray]:
        """The observables of states (S, K), each (S, ...); cost 1 ns per length, and a sort."""
        ranked, size = self._ranked(lengths), lengths.shape[1]
        totals, longest = lengths.sum(axis=1), lengths.max(axis=1)
        shorter = np.zeros((len(lengths), self.num_levels), np.int64)
        _count_shorter(np.ascontiguousarray(lengths), shorter)
        values: dict[str, Any] = {
            "lengths_ranked": ranked[:, : self.num_ranks],
            "total": totals,
            "imbalance": longest - ranked[:, 0],
            "idle_servers": shorter[:, 0],
            "occupancy": 1.0 - shorter / size,
        }
        if self.keeps_servers:
            values["lengths"] = lengths
        if self.classes is not None:
            means = [self.classes.means(self.classes.reached(state)) for state in lengths]
            values.update({name: np.stack([each[name] for each in means]) for name in means[0]})
        if size > 1:
            values["prob_tie"] = (ranked[:, 0] == ranked[:, 1]).astype(float)
        for name, function in self.observe.items():
            values[name] = np.stack([function.value(state) for state in ranked])
        return values

    def _ranked(self, lengths: np.ndarray) -> np.ndarray:
        """Ascending lengths; of many queues only the lowest, unless the user sees them all."""
        count = max(self.num_ranks, 2)
        if self.observe or 4 * count > lengths.shape[1]:
            return np.sort(lengths, axis=1)
        return np.sort(np.partition(lengths, count - 1, axis=1)[:, :count], axis=1)


class StateTable:
    """Observables of successive states, in arrays that are made when the first ones come.

    Arguments:
        view: what is kept.
        num_rows: of how many states.
    """

    def __init__(self, view: StateView, num_rows: int) -> None:
        self._view = view
        self._num_rows = num_rows
        self.columns: dict[str, np.ndarray] = {}

    def put(self, rows: slice, lengths: np.ndarray) -> None:
        """Keep what is kept of the states (S, K) in these rows."""
        for name, values in self._view.of(lengths).items():
            if name not in self.columns:
                shape = (self._num_rows, *values.shape[1:])
                self.columns[name] = np.empty(shape, values.dtype)
            self.columns[name][rows] = values


@numba.njit(nogil=True)
def _count_shorter(lengths, shorter):
    """Count the queues of each state (S, K) below each level, 1 ... L, into zeros (S, L)."""
    num_levels = shorter.shape[1]
    for s in range(lengths.shape[0]):
        for i in range(lengths.shape[1]):
            if lengths[s, i] < num_levels:
                shorter[s, lengths[s, i]] += 1
        for level in range(1, num_levels):
            shorter[s, level] += shorter[s, level - 1]
