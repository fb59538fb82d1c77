"""Labelled arrays in netCDF-4 files, written at once or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np

from ._checks import check_path
from ._variable import Variable
from ._write_atomically import write_atomically


def write_netcdf(
    path: str | os.PathLike[str], variables: Mapping[str, Variable], attrs: Mapping[str, Any]
) -> Path:
    """Write `variables` and scalar `attrs`; one whose only dim has its name is a coordinate."""
    return write_atomically(path, lambda temporary: _write(temporary, variables, attrs))


def read_netcdf(path: str | os.PathLike[str]) -> tuple[dict[str, Variable], dict[str, Any]]:
    """What `write_netcdf` was given.

    Raises: FileNotFoundError; ValueError if `path` is no path, or the file no netCDF-4 file or
        damaged.
    """
    source = check_path("path", path)
    if not source.exists():
        raise FileNotFoundError(f"path must name an existing file, got {str(path)!r}")
    try:
        with h5netcdf.File(source, "r") as file:
            variables = {name: _read(variable) for name, variable in file.variables.items()}
            return variables, dict(file.attrs)
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"path must be a whole netCDF-4 file, got {str(path)!r}: {error}"
        ) from error


def _write(path: Path, variables: Mapping[str, Variable], attrs: Mapping[str, Any]) -> None:
    with h5netcdf.File(path, "w") as file:
        for variable in variables.values():
            for dim, size in zip(variable.dims, variable.values.shape, strict=True):
                if dim not in file.dimensions:
                    file.dimensions[dim] = size
        for name, variable in variables.items():
            values = variable.values
            # netCDF has no bool; xarray writes and reads it in this way.
            flags = values.dtype == np.bool_
            data = values.astype(np.int8) if flags else values
            stored = file.create_variable(name, variable.dims, data=data)
            if flags:
                stored.attrs["dtype"] = "bool"
        for name, value in attrs.items():
            file.attrs[name] = value


def _read(variable: h5netcdf.Variable) -> Variable:
    values = np.asarray(variable[...])
    if variable.attrs.get("dtype") == "bool":
        values = values.astype(np.bool_)
    return Variable(tuple(variable.dimensions), values)
