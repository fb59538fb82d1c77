"""Compiled functions that only other compiled functions call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

# Without what Python and C would need to call them, which takes half of the time of compilation.
_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
internal: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(**_OPTIONS)
inlined: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(
    forceinline=True, **_OPTIONS
)
