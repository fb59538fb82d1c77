"""Checks of what laws and `sample` are given."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from atlas.ensemble import real_scalar

from .._checks import check_number


def check_generator(generator: object) -> np.random.Generator:
    """`generator` if it is a NumPy Generator; a ValueError otherwise."""
    if not isinstance(generator, np.random.Generator):
        raise ValueError(
            f"generator is {generator!r}; give a numpy Generator, such as np.random.default_rng(0)"
        )
    return generator


def check_law(name: str, law: Any, *, remedy: str) -> None:
    """Refuse a law whose `scv` is no number >= 0 (it may be infinite)."""
    scv = real_scalar(law.scv)
    if scv is None or not scv >= 0.0:
        raise ValueError(f"{name} is {law!r}, whose scv is {law.scv!r}; give {remedy}")


def check_sampling(generator: object, size: Any) -> tuple[np.random.Generator, tuple[int, ...]]:
    """The generator, and the shape of the samples as a tuple.

    Raises:
        ValueError: unless `size` is an int >= 0 or a tuple of such.
    """
    shape = size if isinstance(size, tuple) else (size,)
    for length in shape:
        if isinstance(length, bool) or not isinstance(length, Integral) or length < 0:
            raise ValueError(f"size is {size!r}; give an int >= 0, or a tuple of such")
    return check_generator(generator), tuple(int(length) for length in shape)


def check_between(name: str, value: object, low: float, high: float, *, remedy: str) -> float:
    """`value` as a float of [low, high]; a ValueError otherwise."""
    remedy = f"a number from {low:g} to {high:g}, {remedy}"
    number = check_number(name, value, remedy=remedy)
    if not low <= number <= high:
        raise ValueError(f"{name} is {value!r}; give {remedy}")
    return number
