"""Observed times in units of their mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_vector

_TIMES = "a vector of at least one finite time >= 0, not all of them 0"


def scale_to_unit_mean(name: str, values: ArrayLike) -> tuple[np.ndarray, float]:
    """Times over their mean, in their order and read-only, and that mean.

    Raises:
        ValueError: they are not such a vector, or all 0.
    """
    given = check_vector(name, values, remedy=_TIMES)
    largest = float(given.max())
    if largest == 0.0:
        raise ValueError(f"{name} are all 0; give {_TIMES}")
    # Divided by the largest first: sums of huge and of tiny times stay in range.
    times = given / largest
    mean = float(times.mean())
    times /= mean
    times.flags.writeable = False
    return times, mean * largest


def read_in_order(times: np.ndarray, position: int, out: np.ndarray) -> int:
    """Fill `out` from `position` on, over and over; the position after the last one."""
    end = position + out.size
    if end <= times.size:
        out[:] = times[position:end]
    else:
        out[:] = times[np.arange(position, end) % times.size]
    return end % times.size
