"""Columns of numbers or dates as float64, every value of which is usable."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ._place import Place

_NANOSECONDS = 1e9  # per second


def as_times(columns: Mapping[str, np.ndarray], place: Place) -> dict[str, np.ndarray]:
    """The columns as finite float64 vectors; dates become seconds from the first date.

    Raises:
        ValueError: a column that is no vector of numbers or dates, a missing, NaN or infinite
            value, columns of unequal length, or no rows.
    """
    lengths = {name: column.shape[0] if column.ndim else 0 for name, column in columns.items()}
    for name, column in columns.items():
        if column.ndim != 1:
            raise ValueError(
                f"{place.source}: column {name!r} has shape {column.shape}; give a vector"
            )
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise ValueError(
            f"{place.source}: columns differ in length, {listed}; give one row per job"
        )
    if not all(lengths.values()):
        raise ValueError(f"{place.source} has no rows; give a trace of at least one job")
    origin = next((c[0] for c in columns.values() if c.dtype.kind == "M"), None)
    return {name: _times(column, name, origin, place) for name, column in columns.items()}


def _times(column: np.ndarray, name: str, origin: object, place: Place) -> np.ndarray:
    if column.dtype.kind in "Mm":
        missing = np.isnat(column)
        place.refuse_first(missing, column, name, "is missing")
        since = column - origin if column.dtype.kind == "M" else column
        return since.astype("timedelta64[ns]").astype(np.int64) / _NANOSECONDS
    if column.dtype.kind not in "iuf":
        kind = "truth values" if column.dtype.kind == "b" else "no plain numbers"
        where = _first_that_is_no_number(column, place)
        raise ValueError(
            f"{place.source}{where}: column {name!r} holds {kind} ({column.dtype}); "
            "give numbers, all times in one unit"
        )
    times = np.asarray(column, np.float64)
    place.refuse_first(~np.isfinite(times), times, name, "is not finite")
    return times


def _first_that_is_no_number(column: np.ndarray, place: Place) -> str:
    for row, value in enumerate(column.tolist()):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f", {place.row(row)}, {value!r}"
    return ""
