"""Checks of arguments: each refusal names the argument, the value and the remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike


def check_number(name: str, value: object, *, remedy: str) -> float:
    """`value` as a finite float; a ValueError if it is no number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    number = float(value)
    if not math.isfinite(number):
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


def check_integer(name: str, value: object, *, minimum: int, remedy: str) -> int:
    """`value` as an int >= `minimum`; a float, even an integral one, is refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    if not isinstance(value, Integral) or int(value) < minimum:
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return int(value)


def check_vector(name: str, values: ArrayLike, *, remedy: str) -> np.ndarray:
    """`values` as a read-only float64 vector of at least one finite entry >= 0."""
    try:
        raw = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is {values!r}; give {remedy}") from error
    if raw.dtype.kind not in "iuf":
        raise ValueError(f"{name} is {values!r}; give {remedy}")
    if raw.ndim != 1 or raw.size == 0:
        raise ValueError(f"{name} has shape {raw.shape}; give {remedy}")
    vector = raw.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(vector) & (vector >= 0.0)))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {vector[bad[0]]}; give {remedy}")
    vector.flags.writeable = False
    return vector
