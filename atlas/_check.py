"""Checks of arguments: every refusal names the argument, the value and the remedy."""

import math
import numbers

import numpy as np

from .ensemble._real_numbers import real_array, real_scalar, unwrapped


def check_finite(name: str, value, remedy: str = "pass a finite number") -> float:
    """`value` as a finite float."""
    number = real_scalar(value)
    if number is None:
        raise ValueError(f"{name} = {value!r} is not a real number; {remedy}.")
    if not math.isfinite(number):
        raise ValueError(f"{name} = {_short(value)} is not a finite number; {remedy}.")
    return number


def check_positive(name: str, value, remedy: str = "pass a finite number above 0") -> float:
    """`value` as a finite float above zero."""
    number = check_finite(name, value, remedy)
    if number <= 0:
        raise ValueError(f"{name} = {value!r} must be positive; {remedy}.")
    return number


def check_count(name: str, value, minimum: int = 1, maximum: int | None = None) -> int:
    """`value` as an int between `minimum` and `maximum`."""
    value = unwrapped(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise ValueError(f"{name} = {value!r} must be a whole number; pass an int.")
    count = int(value)
    if count < minimum:
        raise ValueError(f"{name} = {_short(count)} is too small; pass at least {minimum}.")
    if maximum is not None and count > maximum:
        raise ValueError(f"{name} = {_short(count)} is too large; pass at most {maximum}.")
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


def check_array(name: str, values) -> np.ndarray:
    """`values` as a float64 array of its own; what would be changed on the way is refused."""
    try:
        return real_array(values)
    except ValueError as error:
        raise ValueError(f"{name} = {values!r} is not an array of numbers: {error}.") from None


def check_vector(name: str, values, length: int | None = None) -> np.ndarray:
    """`values` as a read-only, finite float64 vector, of the given length if there is one."""
    vector = check_array(name, values)
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
    return _check_broadcast("gaps", gaps, num_gaps, "gaps")


def check_all_gaps(gaps, num_gaps: int) -> np.ndarray:
    """Vectors of all gaps along the last axis, as float64."""
    array = check_array("gaps", gaps)
    if array.ndim == 0 or array.shape[-1] != num_gaps:
        raise ValueError(f"gaps has shape {array.shape}; its last axis must hold {num_gaps} gaps.")
    return array


def check_probs(prob, num_gaps: int) -> np.ndarray:
    """Probabilities that broadcast against the gaps along the last axis, as float64."""
    array = _check_broadcast("prob", prob, num_gaps, "of them")
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"prob = {prob} must lie in [0, 1].")
    return array


def _check_broadcast(name: str, values, num_gaps: int, what: str) -> np.ndarray:
    array = check_array(name, values)
    if array.ndim and array.shape[-1] not in (1, num_gaps):
        raise ValueError(
            f"{name} has shape {array.shape}; its last axis must hold 1 or {num_gaps} {what}."
        )
    return array


def _short(value) -> str:
    """The value in a message; thousands of digits tell nobody anything."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
