"""A labelled array, the unit of which results are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._estimate import Estimate

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DTYPES = ("bool", "float32", "float64", *_INTEGERS)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Variable:
    """An array with a name for each axis.

    Arguments:
        dims: names of the axes in order, such as ("time", "replica", "rank").
        values: bool, integer, float32 or float64 array with as many axes; it is not copied, but
            shown read-only.
    Raises: ValueError for dims that do not fit, or another dtype.
    """

    dims: tuple[str, ...]
    values: np.ndarray

    def __init__(self, dims: Sequence[str], values: ArrayLike) -> None:
        is_sequence = isinstance(dims, list | tuple) and all(isinstance(dim, str) for dim in dims)
        if not is_sequence:
            raise ValueError(f"dims must be a tuple of names, got {dims!r}")
        dims = tuple(dims)
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise ValueError("values must not be masked: fill them in, floats with nan")
        try:
            values = np.asarray(values).view()
        except ValueError as error:
            raise ValueError(f"values must be an array, got {values!r}") from error
        if len(set(dims)) != len(dims) or len(dims) != values.ndim:
            raise ValueError(
                f"dims must be one different name per axis, got {dims} for shape {values.shape}"
            )
        if values.dtype.name not in _DTYPES:
            raise ValueError(
                f"values must be bool, integer, float32 or float64, got dtype {values.dtype}"
            )
        values.flags.writeable = False
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{d}: {n}" for d, n in zip(self.dims, self.values.shape, strict=True))
        return f"Variable({sizes or 'scalar'}; {self.values.dtype})"


def estimate_variables(name: str, dims: Sequence[str], estimate: Estimate) -> dict[str, Variable]:
    """An estimate as the three variables from which `Result.estimate(name)` makes it again.

    Arguments:
        name: the observable.
        dims: names of the axes of `estimate`.
        estimate: what was streamed.
    Returns: `name`, `name_std_error` and `name_dof`, all with `dims`.
    """
    return {
        name: Variable(dims, estimate.value),
        f"{name}_std_error": Variable(dims, estimate.std_error),
        f"{name}_dof": Variable(dims, estimate.dof),
    }


def check_name(name: Any, what: str) -> str:
    """`name` if it can name a variable, a dimension or an attribute in a file."""
    if not isinstance(name, str):
        raise ValueError(f"the name of {what} must be a string, got {name!r}")
    if not name.isidentifier():
        raise ValueError(
            f"the name of {what} must be made of letters, digits and underscores, got {name!r}"
        )
    return name
