"""Real numbers out of what a caller passes; what would be changed on the way is refused."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np


def unwrapped(value: Any) -> Any:
    """The number in a 0-d array of NumPy or JAX; anything else as it is."""
    is_array = getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic)
    if not is_array or isinstance(value, np.ma.MaskedArray):
        return value
    return value.item() if getattr(value.dtype, "kind", None) in tuple("biuf") else value


def real_scalar(value: Any) -> float | None:
    """`value` as a float, infinite where no float is so large; None where it is no real number.

    A bool is none, and a string is none; a 0-d array is the number that it holds.
    """
    value = unwrapped(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def real_array(values: Any, *, with_bools: bool = False) -> np.ndarray:
    """`values` as float64; numbers beyond its range become infinite.

    Raises: ValueError that says, beginning with "it", what is wrong: rows of different lengths,
        entries that are no real numbers, masked entries.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"it has {np.ma.count_masked(values)} masked entries: fill them in")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"it is no array ({error})") from None
    if array.dtype.kind == "O":
        # Fractions, and integers of more than 64 bits.
        array = np.array([_real_entry(entry) for entry in array.flat]).reshape(array.shape)
    elif array.dtype.kind not in ("biuf" if with_bools else "iuf"):
        raise ValueError(f"it has the dtype {array.dtype}, not one of real numbers")
    with np.errstate(over="ignore"):
        # Longer floats have values that a double has not.
        return np.array(array, dtype=np.float64)


def _real_entry(entry: Any) -> float:
    number = real_scalar(entry)
    if number is None:
        raise ValueError(f"it holds {entry!r}, which is no real number")
    return number
