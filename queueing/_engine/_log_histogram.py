"""Histograms of jobs' times that engines fill: the bins of `atlas.ensemble.StreamingQuantiles`.

Times are counted in units of the mean service time, so that one range of bins serves every system.
"""

from __future__ import annotations

import math
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
_PER_LOG = 1.0 / _BINS.log_growth


def histogram_unit(system: Any) -> float:
    """The mean service time K / sum_i mu_i of a system; 1 if nobody works."""
    total = system.total_service_rate
    return system.num_servers / total if total > 0.0 else 1.0


def upper_edges() -> np.ndarray:
    """(NUM_BINS + 1,) upper edges of the bin of zero and of all others but the last, in units."""
    return SMALLEST * np.exp(_BINS.log_growth * np.arange(NUM_BINS + 1))


def empty_histogram() -> np.ndarray:
    """(HISTOGRAM_SIZE,) int64 zeros: zero, the bins, overflow."""
    return np.zeros(HISTOGRAM_SIZE, np.int64)


@numba.njit(forceinline=True)
def add_to_histogram(counts, time):
    """Count one time >= 0, given in units of the mean service time.  Cost: a logarithm."""
    if time <= SMALLEST:
        place = 0
    elif time <= LARGEST:
        place = min(math.ceil(math.log(time / SMALLEST) * _PER_LOG), NUM_BINS)
    else:
        place = NUM_BINS + 1
    counts[np.uintp(place)] += 1
