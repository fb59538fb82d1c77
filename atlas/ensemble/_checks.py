"""Checks of arguments: each refusal names the argument, the value and the remedy."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import Any

import numpy as np

from ._real_numbers import real_array, real_scalar


def check_integer(name: str, value: Any, low: int, high: int | None = None) -> int:
    """`value` as an int within `[low, high]`; bool and float are refused."""
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be an integer, got the bool {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {value!r}") from None
    if number < low:
        raise ValueError(f"{name} must be at least {low}, got {number}")
    if high is not None and number > high:
        raise ValueError(f"{name} must be at most {high}, got {number}")
    return number


def check_fraction(name: str, value: Any) -> float:
    """`value` as a float strictly between 0 and 1."""
    number = real_scalar(value)
    if number is None:
        raise ValueError(f"{name} must be a number, got {value!r}")
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value}")
    return number


def check_path(name: str, value: Any) -> Path:
    """`value` as a Path: a string or a path of strings, without NUL; it need not exist.

    Raises: ValueError that names the argument.
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise ValueError(
            f"{name} must be a string or a pathlib.Path that names a file or folder, got {value!r}"
        )
    if "\0" in text:
        raise ValueError(f"{name} must hold no NUL character, got {text!r}: remove it")
    return Path(text)


def check_numbers(name: str, values: Any) -> np.ndarray:
    """`values` as a float64 array; what is not made of real numbers, or is masked, is refused."""
    try:
        return real_array(values, with_bools=True)
    except ValueError as error:
        raise ValueError(f"{name} must hold real numbers: {error}") from None


def check_axis(axis: Any, array: np.ndarray, name: str) -> int:
    """`axis` as the number of an axis of the array called `name`."""
    try:
        return check_integer("axis", axis, -array.ndim, array.ndim - 1)
    except ValueError:
        raise ValueError(
            f"axis must be an axis of {name} of shape {array.shape}, got {axis!r}"
        ) from None


def check_flag(name: str, value: Any) -> bool:
    """`value` if it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_sizes(name: str, shape: Any) -> tuple[int, ...]:
    """`shape` as a tuple of lengths of axes."""
    if isinstance(shape, str) or not hasattr(shape, "__iter__") or np.ndim(shape) != 1:
        raise ValueError(f"{name} must be a tuple of lengths, got {shape!r}")
    return tuple(check_integer(name, size, 0) for size in shape)


def check_series(series: Any, min_length: int) -> np.ndarray:
    """A series with time leading as float64: finite and at least `min_length` long."""
    array = check_numbers("series", series)
    if array.ndim == 0 or array.shape[0] < min_length:
        length = array.shape[0] if array.ndim else "no axis"
        raise ValueError(
            f"series must have at least {min_length} samples along its first axis, got {length}: "
            "run longer or record more often"
        )
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        where = tuple(int(i) for i in bad[0])
        raise ValueError(f"series must be finite, got {array[where]} at index {where}")
    return array
