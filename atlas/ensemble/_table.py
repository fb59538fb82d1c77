"""Tidy tables: one row per value, as CSV or Parquet."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._checks import check_path
from ._variable import Variable
from ._write_atomically import write_atomically

if TYPE_CHECKING:
    import pandas


def write_table(
    path: str | os.PathLike[str],
    variables: Mapping[str, Variable],
    coordinates: Mapping[str, np.ndarray],
) -> Path:
    """Write `variables` with the columns variable, replica, their other dims, value."""
    suffix = check_path("path", path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise ValueError(f"path must end in .csv or .parquet, got {str(path)!r}")
    pandas = _imported("pandas", suffix)
    if suffix == ".parquet":
        _imported("pyarrow", suffix)
    dims = sorted({dim: None for v in variables.values() for dim in v.dims}, key=_replica_first)
    parts = [_rows(pandas, name, v, dims, coordinates) for name, v in variables.items()]
    table = pandas.concat(parts, ignore_index=True)

    def write(file: Path) -> None:
        if suffix == ".csv":
            table.to_csv(file, index=False)
        else:
            table.to_parquet(file, index=False)

    return write_atomically(path, write)


def _replica_first(dim: str) -> bool:
    return dim != "replica"


def _rows(
    pandas: Any,
    name: str,
    variable: Variable,
    dims: list[str],
    coordinates: Mapping[str, np.ndarray],
) -> pandas.DataFrame:
    shape = variable.values.shape
    columns: dict[str, Any] = {"variable": name}
    for dim in dims:
        labels = coordinates.get(dim)
        if dim not in variable.dims:
            # Missing labels of the column's own type keep whole numbers whole.
            missing = "Float64" if labels is not None and labels.dtype.kind == "f" else "Int64"
            columns[dim] = pandas.array([None] * variable.values.size, dtype=missing)
            continue
        axis = variable.dims.index(dim)
        labels = np.arange(shape[axis]) if labels is None else labels
        along = labels.reshape(*[-1 if i == axis else 1 for i in range(len(shape))])
        flat = np.broadcast_to(along, shape).ravel()
        columns[dim] = pandas.array(flat, dtype="Float64" if flat.dtype.kind == "f" else "Int64")
    columns["value"] = variable.values.astype(np.float64).ravel()
    return pandas.DataFrame(columns, index=range(variable.values.size))


def _imported(package: str, suffix: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ImportError(f"{suffix} tables need the package {package}: install it") from None
