"""Histograms of jobs' times that engines fill: the bins of `atlas.ensemble.StreamingQuantiles`.

Times are counted in units of the mean service time, so that one range of bins serves every system.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from atlas.ensemble import StreamingQuantiles

RELATIVE_ERROR = 0.005
# Of quantiles, as stated in results: engines may put values together that differ by as much again.
QUANTILE_RELATIVE_ERROR = 0.01
# In units of the mean service time: below it a time counts as 0, above as infinite.
SMALLEST = 1e-4
LARGEST = 1e6

_BINS = StreamingQuantiles.empty(relative_error=RELATIVE_ERROR, smallest=SMALLEST, largest=LARGEST)
NUM_BINS = _BINS.num_bins
HISTOGRAM_SIZE = NUM_BINS + 2


def histogram_unit(system: Any) -> float:
    """The mean service time K / sum_i mu_i of a system; 1 if nobody works."""
    total = system.total_service_rate
    return system.num_servers / total if total > 0.0 else 1.0


def upper_edges() -> np.ndarray:
    """(NUM_BINS + 1,) upper edges of the bin of zero and of all others but the last, in units."""
    return SMALLEST * np.exp(_BINS.log_growth * np.arange(NUM_BINS + 1))


# Bits of a float below the 7 leading ones of its fraction: 2^-7 is less than a bin is wide.
_CELL_SHIFT = 45
_FIRST_CELL = int(np.float64(SMALLEST).view(np.int64) >> _CELL_SHIFT)


def _bins_of_cells() -> np.ndarray:
    """The bin of the least time of each cell of floats, from `SMALLEST` to `LARGEST`."""
    last = int(np.float64(LARGEST).view(np.int64) >> _CELL_SHIFT)
    least = (np.arange(_FIRST_CELL, last + 1) << _CELL_SHIFT).view(np.float64)
    return np.searchsorted(_UPPER_EDGES, least).astype(np.int16)


_UPPER_EDGES = np.append(upper_edges()[:-1], np.inf)
_BIN_OF_CELL = _bins_of_cells()


def empty_histogram() -> np.ndarray:
    """(HISTOGRAM_SIZE,) int64 zeros: zero, the bins, overflow."""
    return np.zeros(HISTOGRAM_SIZE, np.int64)


@numba.njit(forceinline=True)
def add_to_histogram(counts, time):
    """Count one time >= 0, given in units of the mean service time.

    The upper bits of a float are a table of logarithms with steps of less than 1 %, so that a cell
    of it has at most one edge of a bin.  Cost: two loads and a comparison.
    """
    place = np.int64(NUM_BINS + 1)
    if time <= LARGEST:
        cell = max(np.float64(time).view(np.int64) >> _CELL_SHIFT, _FIRST_CELL) - _FIRST_CELL
        place = np.int64(_BIN_OF_CELL[np.uintp(cell)])
        place += time > _UPPER_EDGES[np.uintp(place)]
    counts[np.uintp(place)] += 1
