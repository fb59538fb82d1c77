"""Settings as plain JSON values, and as the scalars that a netCDF attribute can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_JSON_NAMES = "json_attributes"


def plain(value: Any, name: str) -> Any:
    """`value` as str, int, float, bool, None, list or dict of these; numpy's are converted.

    Raises: ValueError that names the entry for anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{name} must have strings as keys, got {key!r}")
        return {key: plain(item, f"{name}[{key!r}]") for key, item in value.items()}
    raise ValueError(
        f"{name} must be a number, string, bool, None, list or dict, got {type(value).__name__}"
    )


def to_scalars(values: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Strings, 64-bit ints and floats as they are; the rest as JSON text, listed by name."""
    scalars: dict[str, str | int | float] = {}
    encoded = []
    for name, value in values.items():
        if _is_scalar(value):
            scalars[name] = value
        else:
            scalars[name] = json.dumps(value)
            encoded.append(name)
    if encoded:
        scalars[_JSON_NAMES] = json.dumps(encoded)
    return scalars


def from_scalars(scalars: Mapping[str, Any]) -> dict[str, Any]:
    """What `to_scalars` was given."""
    encoded = json.loads(scalars.get(_JSON_NAMES, "[]"))
    values = {}
    for name, value in scalars.items():
        if name != _JSON_NAMES:
            values[name] = json.loads(value) if name in encoded else plain(value, name)
    return values


def _is_scalar(value: Any) -> bool:
    if isinstance(value, str):
        # HDF5 ends a string at a null character.
        return "\0" not in value
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**63)
