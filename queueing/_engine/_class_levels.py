"""Exact time averages of the levels that each class of servers reaches, one addition per event.

A class is the servers of one rate. Where Q_i is the length of server i, the number of servers of
class c with at least l jobs changes by one when one of them passes from l - 1 to l or back, so that
every change belongs to one cell (c, l); `_tally` and `_calendar_tally` say how integrals come from
signed times of changes. Levels above the highest, L, share one cell, whose integral is that of
sum_i (Q_i - L)^+; all cells of a class together are its number of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._inlined import inlined


@dataclass(frozen=True, eq=False)
class ServerClasses:
    """The servers of each rate, slowest first.

    Attributes:
        rates: (C,) service rates.
        class_of: (K,) int64.
        sizes: (C,) servers of each class.
        num_levels: L, the levels that are told apart.
    """

    rates: np.ndarray
    class_of: np.ndarray
    sizes: np.ndarray
    num_levels: int

    def cells(self, dtype: type[np.generic]) -> np.ndarray:
        """(C, L + 2) zeros for the signed times of changes: column l of level l, 0 is unused."""
        return np.zeros((self.rates.size, self.num_levels + 2), dtype)

    def reached(self, lengths: np.ndarray) -> np.ndarray:
        """(C, L + 1): servers with at least 1 ... L of the lengths (K,), then the jobs above L."""
        count, top = self.rates.size, self.num_levels
        cells = self.class_of * (top + 1) + np.minimum(lengths, top)
        at_level = np.bincount(cells, minlength=count * (top + 1)).reshape(count, top + 1)
        at_least = np.cumsum(at_level[:, ::-1], axis=1)[:, ::-1]
        above = np.bincount(self.class_of, np.maximum(lengths - top, 0), count)
        return np.column_stack([at_least[:, 1:], above])

    def means(self, reached: np.ndarray) -> dict[str, np.ndarray]:
        """The observables per server of each class, from (C, L + 1) numbers as of `reached`."""
        shares = reached / self.sizes[:, None]
        return {
            "occupancy_by_class": shares[:, :-1],
            "utilisation_by_class": shares[:, 0],
            "lengths_by_class": shares.sum(axis=1),
        }

    def throughput(self, served: np.ndarray) -> np.ndarray:
        """(C,) the mean over the servers of each class of their throughputs (K,)."""
        return np.bincount(self.class_of, served, self.rates.size) / self.sizes


def server_classes_by_rate(service_rates: np.ndarray, num_levels: int) -> ServerClasses:
    """The classes of servers of these rates (K,)."""
    rates, class_of, sizes = np.unique(service_rates, return_inverse=True, return_counts=True)
    return ServerClasses(rates, class_of.ravel().astype(np.int64), sizes, num_levels)


@inlined
def tally_class(cells, width, group, bound, signed):
    """Account for a change between `bound` - 1 and `bound` at a server of class `group`."""
    cells[np.uintp(group * width + min(bound, width - 1))] += signed
