"""Checks of arguments: each refusal names the argument, the value and the remedy."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from atlas.ensemble import check_memory, real_array, real_scalar, unwrapped


def check_number(name: str, value: object, *, remedy: str) -> float:
    """`value` as a finite float; a ValueError if it is no number."""
    number = real_scalar(value)
    if number is None or not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return number


def check_positive(name: str, value: object, *, remedy: str) -> float:
    """`value` as a finite float > 0."""
    number = check_number(name, value, remedy=remedy)
    if number <= 0.0:
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return number


def check_nonnegative(name: str, value: object, *, remedy: str) -> float:
    """`value` as a finite float >= 0."""
    number = check_number(name, value, remedy=remedy)
    if number < 0.0:
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return number


def check_integer(name: str, value: Any, *, minimum: int, remedy: str) -> int:
    """`value` as an int >= `minimum`; a float, even an integral one, is refused."""
    value = unwrapped(value)
    is_whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not is_whole or int(value) < minimum:
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return int(value)


def check_size(name: str, value: object) -> int:
    """`value` as a number of servers, of which a few arrays fit into memory."""
    count = check_integer(name, value, minimum=1, remedy="an int >= 1")
    what = f"{name} = {count:.6g}" if count < 2**60 else name
    check_memory(64 * count, what, f"lower {name}")
    return count


def check_array(name: str, values: ArrayLike, *, remedy: str) -> np.ndarray:
    """`values` as a float64 array of its own; what would be changed on the way is refused."""
    try:
        return real_array(values)
    except ValueError as error:
        raise ValueError(f"{name} is {values!r}: {error}; give {remedy}") from None


def check_vector(name: str, values: ArrayLike, *, remedy: str) -> np.ndarray:
    """`values` as a read-only float64 vector of at least one finite entry >= 0."""
    vector = check_array(name, values, remedy=remedy)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} has shape {vector.shape}; give {remedy}")
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0.0)))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {vector[bad[0]]}; give {remedy}")
    vector.flags.writeable = False
    return vector
