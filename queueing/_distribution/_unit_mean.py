"""Observed times in units of their mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_vector
from ._base import Distribution

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
    if not 0.0 < mean * largest < np.inf:
        raise ValueError(f"{name} have a mean out of range; give them in another unit of time")
    return times, mean * largest


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ObservedTimes(Distribution):
    """A law that is made of observed times in units of their mean.

    Two of them are equal if they are of one kind and hold the same times of the same mean.

    Attributes:
        values: (m,) the times in units of their mean, read-only.
        original_mean: the mean of the times as they were given.
    """

    values: np.ndarray
    original_mean: float

    def __init__(self, values: ArrayLike) -> None:
        times, mean = scale_to_unit_mean("values", values)
        object.__setattr__(self, "values", times)
        object.__setattr__(self, "original_mean", mean)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, ObservedTimes):
            return NotImplemented
        same_mean = self.original_mean == other.original_mean
        return same_mean and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.values.tobytes(), self.original_mean))


def read_in_order(times: np.ndarray, position: int, out: np.ndarray) -> int:
    """Fill `out` from `position` on, over and over; the position after the last one."""
    end = position + out.size
    if end <= times.size:
        out[:] = times[position:end]
    else:
        out[:] = times[np.arange(position, end) % times.size]
    return end % times.size
