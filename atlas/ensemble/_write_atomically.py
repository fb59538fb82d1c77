"""Files that are either the old or the new ones, never half of either."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from ._checks import check_path


def write_atomically(path: str | os.PathLike[str], writer: Callable[[Path], object]) -> Path:
    """Write a file under a temporary name beside `path`, then put it in place in one step.

    A reader sees the former file or the whole new one at every moment, a power cut included. The
    temporary name is hidden, in the same folder and has the same suffix; after an error or Ctrl-C
    nothing is left of it.

    Arguments:
        path: the file to make or replace; its folder must exist.
        writer: called once with the temporary path; it creates and closes that file.
    Returns: the path written, with symbolic links resolved.
    Raises: ValueError for what is no path, FileNotFoundError for a missing folder,
        IsADirectoryError for a folder, and whatever `writer` raises.
    """
    target = check_path("path", path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"path must name a file, got the folder {str(path)!r}")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path must lie in an existing folder, got {str(path)!r}: make {target.parent} first"
        )
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        writer(temporary)
        _flush(temporary, os.O_RDWR)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        # The new name itself must reach the disk too.
        _flush(target.parent, os.O_RDONLY)
    return target


def _flush(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
