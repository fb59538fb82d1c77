"""The law of waits and responses from the lengths that accepted jobs find.

A job that finds q jobs at a server of rate mu waits for q exponential services, in order of
arrival, and leaves after one more. Given what it finds,

    wait ~ Erlang(q, mu) ,   response ~ Erlang(q + 1, mu) ,

independently of everything before. Averages of these laws over all jobs have the same means as
averages over single times that are measured, and smaller errors; no job is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammainc

from ._log_histogram import HISTOGRAM_SIZE, upper_edges
from ._tally import row_level

_MOST_GROUPS = 256
# Half the width, in logarithms, of the groups of systems with more rates than that.
_HALF_WIDTH = 0.0025


@dataclass(frozen=True, eq=False)
class RateGroups:
    """Servers of equal rates, or of nearly equal ones where there are very many rates.

    Attributes:
        rates: (G,) the rate that stands for each group.
        group_of: (K,) int32.
        unit: of the histograms' times.
        is_exact: whether all servers of a group have its rate.
    """

    rates: np.ndarray
    group_of: np.ndarray
    unit: float
    is_exact: bool
    _rows: dict[tuple[int, float], np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def has_classes(self) -> bool:
        """Whether there are several groups, of exact rates, all of which work."""
        return self.is_exact and self.rates.size > 1 and bool(self.rates[0] > 0.0)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """(G,) sums over the servers of each group of values (K,)."""
        return np.bincount(self.group_of, weights=values, minlength=self.rates.size)

    def histograms(self, found: np.ndarray) -> dict[str, np.ndarray]:
        """Expected numbers of jobs in every bin of "wait" and of "response".

        Arguments:
            found: (L, G) numbers of accepted jobs by row of `level_row` and group.
        Cost: about 0.2 ms for a new pair of length and group, then 1 us.
        """
        wait, response = np.zeros(HISTOGRAM_SIZE), np.zeros(HISTOGRAM_SIZE)
        for row, group in np.argwhere(found):
            level, count = row_level(int(row)), found[row, group]
            wait += count * self._law(int(group), level)
            response += count * self._law(int(group), level + 1)
        return {"wait": wait, "response": response}

    def _law(self, group: int, num_services: float) -> np.ndarray:
        """(HISTOGRAM_SIZE,) the law of a sum of services over the bins."""
        key = (group, num_services)
        if key not in self._rows:
            scale = self.rates[group] * self.unit
            if num_services == 0.0:
                below = np.ones(HISTOGRAM_SIZE - 1)
            else:
                below = gammainc(num_services, scale * upper_edges())
            self._rows[key] = np.diff(below, prepend=0.0, append=1.0)
        return self._rows[key]


def group_rates(service_rates: np.ndarray, unit: float) -> RateGroups:
    """The groups of servers of these rates (K,): exact rates up to 256 of them."""
    rates, group_of = np.unique(service_rates, return_inverse=True)
    is_exact = rates.size <= _MOST_GROUPS
    if not is_exact:
        positive = np.maximum(rates, np.finfo(float).tiny)
        cells = np.floor(np.log(positive / positive[-1]) / (2.0 * _HALF_WIDTH))
        _, first, cell_of = np.unique(cells, return_index=True, return_inverse=True)
        last = np.append(first[1:], rates.size) - 1
        group_of = cell_of.ravel()[group_of.ravel()]
        rates = np.sqrt(rates[first] * rates[last])
    return RateGroups(rates, group_of.ravel().astype(np.int32), unit, is_exact)
