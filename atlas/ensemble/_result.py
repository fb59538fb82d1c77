"""Results: labelled arrays with attributes, estimates with errors, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ._estimate import Estimate
from ._json_values import from_scalars, plain, to_scalars
from ._netcdf import read_netcdf, write_netcdf
from ._table import write_table
from ._variable import Variable, check_name

if TYPE_CHECKING:
    import xarray

_FROM_ONE = ("rank", "gap", "server", "collision", "level")
_KIND = "atlas_kind"
_FORMAT = "atlas_format"
_FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Result:
    """Labelled arrays over common axes, with attributes that say how they were made.

    A subclass adds properties, no fields, and a name for its files, the package's first:
    `class Solution(Result, kind="atlas.Solution")`.

    Arguments:
        variables: Variable by name.
        attrs: model, scheme, seed, versions ...: strings, numbers, bools, None, lists and dicts
            (numpy's are converted).
        coordinates: the labels along a dim, 1-d; "time" must be given where it occurs. Ranks, gaps,
            servers, collisions and levels count from 1, replicas from 0 unless given.
    Raises: ValueError for sizes that disagree, bad names or a missing time; ValueError for values
        that no file can hold.
    """

    variables: dict[str, Variable]
    attrs: dict[str, Any]
    coordinates: dict[str, np.ndarray]

    kind: ClassVar[str] = "atlas.Result"
    _kinds: ClassVar[dict[str, type[Result]]] = {}

    def __init__(
        self,
        variables: Mapping[str, Variable],
        attrs: Mapping[str, Any] | None = None,
        coordinates: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        variables = _mapping("variables", variables)
        attrs = _mapping("attrs", {} if attrs is None else attrs)
        coordinates = _mapping("coordinates", {} if coordinates is None else coordinates)
        for name, variable in variables.items():
            check_name(name, "a variable")
            if not isinstance(variable, Variable):
                raise ValueError(f"{name} must be a Variable, got {type(variable).__name__}")
        kept = {check_name(k, "an attribute"): plain(v, k) for k, v in attrs.items()}
        object.__setattr__(self, "variables", dict(variables))
        object.__setattr__(self, "attrs", kept)
        object.__setattr__(self, "coordinates", _labels(variables, coordinates))

    def __init_subclass__(cls, *, kind: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = Result._kinds.get(kind)
        if kind == Result.kind or (known and _full_name(known) != _full_name(cls)):
            raise ValueError(f"kind must be a name of its own, {kind!r} is taken")
        cls.kind = kind
        Result._kinds[kind] = cls

    @property
    def sizes(self) -> dict[str, int]:
        """The length of every dim."""
        return _sizes(self.variables, self.coordinates)

    @property
    def names(self) -> list[str]:
        """The variables that can be estimated: all but the errors that belong to others."""
        companions = {f"{n}{end}" for n in self.variables for end in ("_std_error", "_dof")}
        return [name for name in self.variables if name not in companions]

    def values(self, name: str) -> np.ndarray:
        """The array of a variable (read-only); ValueError for an unknown name."""
        return self._variable(name).values

    def estimate(self, name: str) -> Estimate:
        """The mean over replicas with its standard error.

        From the replicas themselves; or, where each has its own error from batch means
        (`name_std_error`, `name_dof`), pooled with these; or, for what was streamed, the stored
        mean and error.

        Arguments:
            name: one of `names`.
        Returns: an Estimate over the other axes of the variable, in order.
        Raises: ValueError for an unknown name, or one with neither replicas nor a stored error.
        """
        variable = self._variable(name)
        replicas = variable.dims.index("replica") if "replica" in variable.dims else None
        errors = self.variables.get(f"{name}_std_error")
        dof = self.variables.get(f"{name}_dof")
        if errors is not None and dof is not None:
            if replicas is None:
                return Estimate(variable.values, errors.values, dof.values)
            return Estimate.pooled(variable.values, errors.values, dof.values, axis=replicas)
        if replicas is None:
            raise ValueError(
                f"name must be a variable with replicas or a stored error, got {name!r} "
                f"with dims {variable.dims}"
            )
        return Estimate.from_samples(variable.values, axis=replicas)

    def to_xarray(self) -> xarray.Dataset:
        """The same as an xarray Dataset; attributes that no file can hold become JSON text."""
        import xarray

        return xarray.Dataset(
            {name: (v.dims, v.values) for name, v in self.variables.items()},
            {dim: (dim, labels) for dim, labels in self.coordinates.items()},
            to_scalars(self.attrs),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a netCDF-4 file, in place at once or not at all; returns its path.

        Raises: ValueError for what is no path; FileNotFoundError for a missing folder,
            IsADirectoryError for a folder.
        """
        marks = {_KIND: self.kind, _FORMAT: _FORMAT_VERSION}
        clash = sorted(set(marks) & set(self.attrs))
        if clash:
            raise ValueError(f"attrs must leave {clash} to the file, rename them")
        labels = {dim: Variable((dim,), values) for dim, values in self.coordinates.items()}
        return write_netcdf(path, {**labels, **self.variables}, {**to_scalars(self.attrs), **marks})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote: the same class, arrays, dtypes and attributes.

        Arguments:
            path: the file. `Result.load` reads every kind, a subclass its own.
        Raises: FileNotFoundError; ValueError if the file is no netCDF-4 file, is damaged, is not
            ours, or is of another kind.
        """
        variables, scalars = read_netcdf(path)
        kind = scalars.pop(_KIND, None)
        version = scalars.pop(_FORMAT, None)
        if kind is None or version is None:
            raise ValueError(
                f"path must be a file that a result's save wrote, got {str(path)!r} "
                "of another program: open it with xarray.open_dataset"
            )
        if version != _FORMAT_VERSION:
            raise ValueError(
                f"{str(path)!r} has format {version}, this version reads {_FORMAT_VERSION}: "
                "install the version that wrote it"
            )
        loaded = Result if kind == Result.kind else Result._kinds.get(kind)
        if loaded is None:
            package = kind.split(".")[0]
            raise ValueError(f"{str(path)!r} holds an unknown {kind!r}: import {package} first")
        if not issubclass(loaded, cls):
            raise ValueError(f"{str(path)!r} holds {kind!r}, not {cls.kind!r}: use {kind}.load")
        labels = {name: v.values for name, v in variables.items() if v.dims == (name,)}
        others = {name: v for name, v in variables.items() if name not in labels}
        return loaded(others, from_scalars(scalars), labels)

    def save_table(self, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Path:
        """Write one row per value, with a column per dim, as CSV or Parquet.

        Columns: variable, replica, the other dims (empty where a variable has no such dim), value.

        Arguments:
            path: its suffix, .csv or .parquet, is the format.
            names: the variables; None: all with replicas.
        Returns: the path.
        Raises: ValueError for another suffix or an unknown name; ImportError that names the missing
            package.
        """
        if names is not None and not isinstance(names, list | tuple):
            raise ValueError(f"names must be a list of names, got {names!r}")
        if names is None:
            names = [name for name, v in self.variables.items() if "replica" in v.dims]
        if not names:
            raise ValueError(f"names must hold at least one of {self.names}, got none")
        chosen = {name: self._variable(name) for name in names}
        return write_table(path, chosen, self.coordinates)

    def _variable(self, name: str) -> Variable:
        if not isinstance(name, str) or name not in self.variables:
            raise ValueError(f"name must be one of {self.names}, got {name!r}")
        return self.variables[name]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {size}" for dim, size in self.sizes.items())
        return f"{type(self).__name__}({', '.join(self.names)}; {sizes})"


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _mapping(name: str, given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{name} must be a dict by name, got {given!r}")
    return given


def _labels(variables: Mapping[str, Variable], given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    sizes = _sizes(variables, {})
    labels = {}
    for dim, values in given.items():
        labels[check_name(dim, "a dim")] = Variable((dim,), values).values
        if sizes.setdefault(dim, len(labels[dim])) != len(labels[dim]):
            raise ValueError(
                f"coordinates of {dim} must have length {sizes[dim]}, got {len(labels[dim])}"
            )
    for dim, size in sizes.items():
        if dim in variables:
            raise ValueError(f"a variable must not have the name of a dim, got {dim!r}")
        if dim == "time" and dim not in labels:
            raise ValueError("coordinates must give 'time', got none: pass the times")
        if dim in _FROM_ONE:
            labels.setdefault(dim, np.arange(1, size + 1))
        elif dim == "replica":
            labels.setdefault(dim, np.arange(size))
    return labels


def _sizes(variables: Mapping[str, Variable], labels: Mapping[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, variable in variables.items():
        for dim, size in zip(variable.dims, variable.values.shape, strict=True):
            if sizes.setdefault(check_name(dim, "a dim"), size) != size:
                raise ValueError(f"{name} must have {sizes[dim]} entries along {dim}, got {size}")
    for dim, values in labels.items():
        sizes.setdefault(dim, len(values))
    return sizes
