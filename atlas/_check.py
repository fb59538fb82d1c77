"""Checks of arguments: every refusal names the argument, the value and the remedy."""

import math
import numbers

import numpy as np


def check_finite(name: str, value, remedy: str = "pass a finite number") -> float:
    """`value` as a finite float."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} = {value!r} is not a real number; {remedy}.")
    if not math.isfinite(value):
        raise ValueError(f"{name} = {value!r} is not a finite number; {remedy}.")
    return float(value)


def check_positive(name: str, value, remedy: str = "pass a finite number above 0") -> float:
    """`value` as a finite float above zero."""
    number = check_finite(name, value, remedy)
    if number <= 0:
        raise ValueError(f"{name} = {value!r} must be positive; {remedy}.")
    return number


def check_count(name: str, value, minimum: int = 1, maximum: int | None = None) -> int:
    """`value` as an int between `minimum` and `maximum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name} = {value!r} must be a whole number; pass an int.")
    count = int(value)
    if count < minimum:
        raise ValueError(f"{name} = {count} is too small; pass at least {minimum}.")
    if maximum is not None and count > maximum:
        raise ValueError(f"{name} = {count} is too large; pass at most {maximum}.")
    return count


def check_flag(name: str, value) -> bool:
    """`value` as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r} must be True or False.")
    return bool(value)


def check_choice(name: str, value, known) -> str:
    """`value` if it is one of the strings `known`."""
    if not isinstance(value, str) or value not in known:
        listed = ", ".join(repr(choice) for choice in known)
        raise ValueError(f"{name} = {value!r} is unknown; pass one of {listed}.")
    return value


def check_vector(name: str, values, length: int | None = None) -> np.ndarray:
    """`values` as a read-only, finite float64 vector, of the given length if there is one."""
    try:
        given = np.asarray(values)
        # NumPy would read True as 1 and "1" as 1.
        if given.dtype.kind not in "iufO":
            raise TypeError(f"dtype {given.dtype}")
        vector = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {values!r} is not an array of numbers.") from error
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"{name} has shape {vector.shape}; pass a vector with one value each.")
    if length is not None and vector.size != length:
        raise ValueError(f"{name} has {vector.size} values; pass {length} of them.")
    if not np.all(np.isfinite(vector)):
        index = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name}[{index}] = {vector[index]} is not finite; pass finite values.")
    vector.flags.writeable = False
    return vector


def check_shape(name: str, shape) -> tuple[int, ...]:
    """`shape` as a tuple of whole numbers >= 0; a number stands for one axis."""
    axes = (shape,) if isinstance(shape, numbers.Integral) else shape
    if isinstance(axes, str) or not hasattr(axes, "__iter__"):
        raise ValueError(f"{name} = {shape!r} must be an int or a tuple of ints.")
    return tuple(check_count(name, axis, minimum=0) for axis in axes)


def check_gaps(gaps, num_gaps: int) -> np.ndarray:
    """Numbers that broadcast against the gaps along the last axis, as float64."""
    try:
        array = np.asarray(gaps, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"gaps = {gaps!r} is not an array of numbers.") from error
    if array.ndim and array.shape[-1] not in (1, num_gaps):
        raise ValueError(
            f"gaps has shape {array.shape}; its last axis must hold 1 or {num_gaps} gaps."
        )
    return array
