"""A trace from a file or from arrays, refused as a whole where any part of it is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from atlas.ensemble import check_path

from ._columns import choose_columns, make_times
from ._numbers import as_times
from ._place import Place
from ._read_csv import read_csv
from ._read_parquet import read_parquet
from ._trace import Trace

_READERS = {".csv": read_csv, ".parquet": read_parquet}


def from_trace(
    source: str | os.PathLike[str] | Mapping[str, ArrayLike],
    *,
    columns: Mapping[str, str] | None = None,
) -> Trace:
    """The interarrival and service times of a trace, one row per job in order of arrival.

    The columns are

        interarrival   time since the job before, or
        arrival        timestamp, never before that of the row above; and
        service        time that the job takes, or
        start, end     timestamps of its service.

    All times are in one unit.  Rates are then per that unit; dates (of arrays and Parquet) become
    seconds.  From timestamps of n arrivals come n - 1 interarrival times.  Timestamps that are far
    from 0, such as seconds or nanoseconds since 1970, keep all their digits; refusals then name
    them counted from the first one.

    Arguments:
        source: path of a .csv file (names in line 1; comma, semicolon or tabulator; decimal
            points; UTF-8) or a .parquet file, or a mapping from column names to (n,) arrays (a
            dict or a data frame).
        columns: your names of some of the columns, such as {"arrival": "t_submit"}; None: as
            above.

    Returns:
        The trace.

    Raises:
        ValueError: text, missing, NaN, infinite or negative values, timestamps out of order,
            lines of another length, blank lines in between, no rows, columns that are not there:
            with the line (CSV) or row from 1, and the remedy.  Nothing is left out in silence.
        FileNotFoundError: there is no such file.
        ImportError: a Parquet file, and pyarrow is not installed.

    Cost: about 1 s per million rows of CSV, 8 bytes per value.
    """
    if isinstance(source, (str, os.PathLike)):
        names, raw, place = _read_file(check_path("source", source), columns)
    else:
        names, raw, place = _read_arrays(source, columns)
    interarrivals, services = make_times(as_times(raw, names, place), names, place)
    return Trace(interarrivals, services)


def _read_file(
    path: Path, columns: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, np.ndarray], Place]:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise ValueError(
            f"source is {str(path)!r}; give a file that ends in {' or '.join(_READERS)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"source is {str(path)!r}, but there is no such file")
    if not path.is_file():
        raise ValueError(f"source is {str(path)!r}, which is no file; give a file")
    return _READERS[suffix](path, columns)


def _read_arrays(
    source: Any, columns: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, np.ndarray], Place]:
    if not (hasattr(source, "keys") and hasattr(source, "__getitem__")):
        raise ValueError(
            f"source is {source!r}; give a path, or a mapping such as "
            "{'interarrival': [...], 'service': [...]}"
        )
    keys = {str(name): name for name in source}
    chosen = choose_columns(keys, columns, "source")
    place = Place("source", lambda row: f"row {row + 1}")
    arrays = {}
    for role, name in chosen.items():
        arrays[role] = _as_array(name, source[keys[name]], place)
    return chosen, arrays, place


def _as_array(name: str, values: Any, place: Place) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(values)
        place.refuse_first(hidden.ravel(), np.full(hidden.size, "masked"), name, "is missing")
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:
        # A data frame's dates with a time zone: moments, whatever the clocks there show.
        return np.asarray(values, dtype="M8[ns]")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"source[{name!r}] is {values!r}; give a vector") from error
