"""Refusing, before it starts, a run that does not fit into memory."""

from __future__ import annotations

import os
from pathlib import Path

from ._checks import check_integer

# Current use and limit of a container (control groups, version 2 and 1).
_CONTAINER_FILES = (
    ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.max"),
    (
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ),
)


def check_memory(num_bytes: int, what: str, remedy: str, limit: int | None = None) -> None:
    """Refuse what needs more memory than is available.

    Arguments:
        num_bytes: the bytes that will be needed.
        what: what needs them, to begin the message with.
        remedy: what the user can change, to end it with.
        limit: bytes that may be used; None: `available_memory()`, and no check where the system
            does not tell.
    Raises: ValueError with both numbers in GiB.
    """
    needed = check_integer("num_bytes", num_bytes, 0)
    allowed = available_memory() if limit is None else check_integer("limit", limit, 0)
    if allowed is not None and needed > allowed:
        raise ValueError(
            f"{what} needs {_gibibytes(needed)} GiB of memory, "
            f"{_gibibytes(allowed)} GiB are available: {remedy}"
        )


def available_memory() -> int | None:
    """Bytes that can still be used without swapping, container limits included; None if unknown."""
    known = [size for size in (_system_memory(), *map(_container_memory, _CONTAINER_FILES)) if size]
    return min(known, default=None)


def _system_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        # Elsewhere only the size of the whole memory is known.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _container_memory(files: tuple[str, str]) -> int | None:
    try:
        used, limit = (Path(file).read_text().strip() for file in files)
        return None if limit == "max" else max(int(limit) - int(used), 1)
    except (OSError, ValueError):
        return None


def _gibibytes(num_bytes: int) -> str:
    # Whole numbers first: no float holds an absurdly large one.
    size = min(num_bytes, 2**1000) / 2**30
    if size >= 1e9:
        return f"{size:.3g}"
    return f"{size:,.2f}" if size >= 0.01 else f"{size:.2g}"
