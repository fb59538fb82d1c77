"""Columns of numbers or dates as float64, every value of which is usable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ._place import Place

# What says when, not how long; only differences between these count.
STAMPS = ("arrival", "start", "end")
_SECOND = np.timedelta64(1, "s")


class _Moment(NamedTuple):
    """Seconds since 1970, a whole number, and the fraction of a second beyond."""

    seconds: np.ndarray
    fraction: np.ndarray


def as_times(
    columns: Mapping[str, np.ndarray], names: Mapping[str, str], place: Place
) -> dict[str, np.ndarray]:
    """The columns, by role, as finite float64 vectors.

    Dates become seconds from the first date. Whole numbers that are timestamps are counted from
    the first one: of nanoseconds since 1970 a float64 would lose the last two digits.

    Raises:
        ValueError: a column that is no vector of numbers or dates, a missing, NaN or infinite
            value, columns of unequal length, or no rows.
    """
    _check_lengths(columns, names, place)
    for role, column in columns.items():
        if column.dtype.kind in "Mm":
            place.refuse_first(np.isnat(column), column, names[role], "is missing")
    stamps = {names[role]: column for role, column in columns.items() if role in STAMPS}
    if 0 < sum(column.dtype.kind == "M" for column in stamps.values()) < len(stamps):
        listed = ", ".join(f"{name!r} has {column.dtype}" for name, column in stamps.items())
        raise ValueError(
            f"{place.source}: some timestamps are dates and others numbers, {listed}; give all of "
            "one kind"
        )
    first = next((int(c[0]) for c in stamps.values() if c.dtype.kind in "iu"), 0)
    dates = [column for column in columns.values() if column.dtype.kind == "M"]
    origin = _moments(dates[0][:1]) if dates else None
    times = {}
    for role, column in columns.items():
        if column.dtype.kind == "M" and origin is not None:
            times[role] = _seconds_since(column, origin)
        elif column.dtype.kind in "iu" and role in STAMPS:
            times[role] = _differences_from(column, first)
        elif column.dtype.kind == "f" and role in STAMPS:
            times[role] = _finite(column, names[role], place) - float(first)
        else:
            times[role] = _plain_times(column, names[role], place)
    return times


def _check_lengths(
    columns: Mapping[str, np.ndarray], names: Mapping[str, str], place: Place
) -> None:
    for role, column in columns.items():
        if column.ndim != 1:
            raise ValueError(
                f"{place.source}: column {names[role]!r} has shape {column.shape}; give a vector"
            )
    lengths = {names[role]: column.shape[0] for role, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise ValueError(
            f"{place.source}: columns differ in length, {listed}; give one row per job"
        )
    if not all(lengths.values()):
        raise ValueError(f"{place.source} has no rows; give a trace of at least one job")


def _moments(dates: np.ndarray) -> _Moment:
    """Dates in two parts: nanoseconds alone would overflow after 292 years."""
    whole = dates.astype("M8[s]")
    fraction = np.zeros(dates.shape)
    if np.datetime_data(dates.dtype)[0] in ("ms", "us", "ns", "ps", "fs", "as"):
        fraction = (dates - whole.astype(dates.dtype)) / _SECOND
    return _Moment(whole.astype(np.int64), fraction)


def _seconds_since(dates: np.ndarray, origin: _Moment) -> np.ndarray:
    moments = _moments(dates)
    return (moments.seconds - origin.seconds) + (moments.fraction - origin.fraction)


def _differences_from(stamps: np.ndarray, first: int) -> np.ndarray:
    if stamps.dtype == np.uint64:
        # Modulo 2^64, which is right for all that differ by less than 2^63.
        return (stamps - np.uint64(first % 2**64)).view(np.int64).astype(np.float64)
    return (stamps.astype(np.int64) - np.int64(first)).astype(np.float64)


def _plain_times(column: np.ndarray, name: str, place: Place) -> np.ndarray:
    if column.dtype.kind == "m":
        unit = np.datetime_data(column.dtype)[0]
        if unit in ("generic", "Y", "M"):
            raise ValueError(
                f"{place.source}: column {name!r} holds {column.dtype}, of no fixed length; give "
                "seconds, or days"
            )
        return column / _SECOND
    if column.dtype.kind not in "iuf":
        kind = "truth values" if column.dtype.kind == "b" else "no plain numbers"
        where = _first_that_is_no_number(column, place)
        raise ValueError(
            f"{place.source}{where}: column {name!r} holds {kind} ({column.dtype}); "
            "give numbers, all times in one unit"
        )
    return _finite(column, name, place)


def _finite(column: np.ndarray, name: str, place: Place) -> np.ndarray:
    with np.errstate(over="ignore"):
        # Longer floats have values that a double has not.
        times = np.asarray(column, np.float64)
    place.refuse_first(~np.isfinite(times), times, name, "is not finite")
    return times


def _first_that_is_no_number(column: np.ndarray, place: Place) -> str:
    for row, value in enumerate(column.tolist()):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f", {place.row(row)}, {value!r}"
    return ""
