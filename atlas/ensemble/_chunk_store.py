"""A folder of finished chunks, from which an interrupted run goes on."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ._checks import check_path
from ._json_values import plain
from ._write_atomically import write_atomically

_FINGERPRINT = "fingerprint.json"
# Inside the archive, so that no array's name meets an argument of numpy's.
_PREFIX = "array/"


class ChunkStore:
    """Finished chunks as one file each, tied to the settings that made them.

    The folder holds `fingerprint.json` and one `replicas-START-STOP.npz` per chunk; each appears
    whole or not at all, so the store can be read at every moment, also after the process was
    killed. Hidden files are leftovers of a killed process and are ignored. The number of replicas
    need not be in the fingerprint: a longer run then takes over the chunks of a shorter one.

    Arguments:
        path: the folder; made if missing.
        fingerprint: everything that determines a replica (model, scheme, step, seed, versions ...),
            as numbers, strings, bools, None, lists and dicts.
    Raises: ValueError if the folder belongs to other settings (naming the first that differs) or
        holds something else.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: Mapping[str, Any]) -> None:
        self.path = check_path("path", path)
        self.fingerprint: dict[str, Any] = plain(fingerprint, "fingerprint")
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"path must be a folder, got the file {str(path)!r}")
        self.path.mkdir(parents=True, exist_ok=True)
        self._claim()

    def get(self, chunk: range) -> dict[str, np.ndarray] | None:
        """The arrays of `chunk`, or None if it is not stored (or damaged: with a warning)."""
        file = self._file(chunk)
        try:
            # Opened here, because np.load leaves a damaged file open.
            with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as archive:
                return {name.removeprefix(_PREFIX): archive[name] for name in archive.files}
        except FileNotFoundError:
            return None
        except (OSError, EOFError, ValueError, zipfile.BadZipFile):
            warnings.warn(f"{file} is damaged: its replicas are run again", stacklevel=2)
            return None

    def save(self, chunk: range, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Store the arrays of `chunk` and return them as `get` will.

        Raises: ValueError unless `arrays` maps names to numerical arrays.
        """
        if not isinstance(arrays, Mapping):
            raise ValueError(
                "a stored task must return a dict of arrays, "
                f"got {type(arrays).__name__} for replicas {chunk.start} to {chunk.stop - 1}"
            )
        numerical = {name: _numerical(name, value) for name, value in arrays.items()}
        prefixed = {_PREFIX + name: array for name, array in numerical.items()}
        # numpy would append .npz to a path, not to an open file.
        write_atomically(self._file(chunk), lambda temporary: _save(temporary, prefixed))
        return numerical

    def chunks(self) -> list[range]:
        """The chunks that are stored, in order of their first replica."""
        bounds = [file.stem.split("-")[1:] for file in self.path.glob("replicas-*-*.npz")]
        found = [range(int(start), int(stop)) for start, stop in bounds]
        return sorted(found, key=lambda chunk: (chunk.start, chunk.stop))

    def _file(self, chunk: range) -> Path:
        if not isinstance(chunk, range) or chunk.step != 1:
            raise ValueError(f"chunk must be a range of step 1, got {chunk!r}")
        return self.path / f"replicas-{chunk.start:010d}-{chunk.stop:010d}.npz"

    def _claim(self) -> None:
        file = self.path / _FINGERPRINT
        if not file.exists():
            if any(not entry.name.startswith(".") for entry in self.path.iterdir()):
                raise ValueError(
                    f"path must be an empty folder or a store of chunks, got {str(self.path)!r}, "
                    f"which holds other files and no {_FINGERPRINT}"
                )
            text = json.dumps(self.fingerprint, indent=1)
            write_atomically(file, lambda temporary: temporary.write_text(text, "utf-8"))
        try:
            stored = json.loads(file.read_text("utf-8"))
        except ValueError:
            raise ValueError(f"{file} is damaged: remove the folder and start again") from None
        _refuse_other(self.path, stored, self.fingerprint)


def _refuse_other(path: Path, stored: dict[str, Any], given: dict[str, Any]) -> None:
    absent = "absent"
    for key in [*given, *(key for key in stored if key not in given)]:
        before = json.dumps(stored[key], sort_keys=True) if key in stored else absent
        now = json.dumps(given[key], sort_keys=True) if key in given else absent
        if before != now:
            raise ValueError(
                f"the store {str(path)!r} was made with {key} = {before}, this run has {now}: "
                "use the same settings, or another folder"
            )


def _numerical(name: Any, value: Any) -> np.ndarray:
    if not isinstance(name, str):
        raise ValueError(f"the name of a stored array must be a string, got {name!r}")
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"{name} must be a numerical array to be stored, got dtype {array.dtype}")
    return array


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with open(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
