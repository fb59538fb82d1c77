"""Labelled arrays in netCDF-4 files, written at once or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5netcdf
import numpy as np

from ._checks import check_path
from ._variable import Variable
from ._write_atomically import write_atomically

# What follows the file itself: this, and its digest.
_SEAL = b"atlas-sha256:"
# More than HDF5's own tables take.
_OVERHEAD = 1 << 20


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
        if not _is_as_written(source):
            raise ValueError("its digest is another, so the file was damaged")
        with h5netcdf.File(source, "r") as file:
            variables = {name: _read(variable) for name, variable in file.variables.items()}
            return variables, dict(file.attrs)
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(
            f"path must be a whole netCDF-4 file, got {str(path)!r}: {error}"
        ) from error


def _write(path: Path, variables: Mapping[str, Variable], attrs: Mapping[str, Any]) -> None:
    texts = sum(len(str(value)) for value in attrs.values())
    _reserve(path, sum(v.values.nbytes for v in variables.values()) + 4 * texts + _OVERHEAD)
    _write_groups(path, variables, attrs)
    with open(path, "r+b") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, os.SEEK_END)
        file.write(_SEAL + digest)


def _reserve(path: Path, num_bytes: int) -> None:
    """Find out whether the disk has room: HDF5 ends the whole process if it has none.

    Raises: OSError, such as "No space left on device".
    """
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, num_bytes)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
                raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
            # Some file systems cannot reserve anything.


def _is_as_written(path: Path) -> bool:
    """Whether a file that ends in a seal has the digest that is written there.

    HDF5 reads no further than its own end; but with a single bit that is wrong it may read other
    numbers, or for ever. Files without a seal are of others, or were cut.
    """
    size = len(_SEAL) + hashlib.sha256().digest_size
    digest, left = hashlib.sha256(), path.stat().st_size - size
    with open(path, "rb") as file:
        while left > 0:
            block = file.read(min(left, 1 << 20))
            digest.update(block)
            left -= len(block)
        end = file.read()
    return not end.startswith(_SEAL) or end == _SEAL + digest.digest()


def _write_groups(path: Path, variables: Mapping[str, Variable], attrs: Mapping[str, Any]) -> None:
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
