"""Columns of a Parquet file, by pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._columns import choose_columns
from ._place import Place


def read_parquet(
    path: Path, names: Mapping[str, str] | None
) -> tuple[dict[str, str], dict[str, np.ndarray], Place]:
    """The chosen columns' names, their values, both by role, and how to name a row.

    Only the columns that are used are read.

    Raises:
        ValueError: naming the column or row and the remedy.
        ImportError: pyarrow is not installed.
    """
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            f"{path} needs the package pyarrow: install it, or save the trace as CSV"
        ) from None
    place = Place(str(path), lambda row: f"row {row + 1}")
    try:
        with parquet.ParquetFile(path) as file:
            chosen = choose_columns(file.schema_arrow.names, names, str(path))
            table = file.read(columns=sorted(set(chosen.values())))
    except arrow.ArrowException as error:
        raise ValueError(
            f"{path} cannot be read as Parquet ({error}); write it again, or save it as CSV"
        ) from None
    columns = {role: _values(table.column(name), name, place) for role, name in chosen.items()}
    return chosen, columns, place


def _values(column: Any, name: str, place: Place) -> np.ndarray:
    if column.null_count:
        missing = np.asarray(column.is_null())
        place.refuse_first(missing, np.full(missing.size, "null"), name, "is missing")
    return np.asarray(column.to_numpy())
