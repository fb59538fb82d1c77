"""The files of an experiment: claims as strict JSON, numbers as CSV, the figure as PNG and PDF."""

import csv
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from atlas.ensemble import check_path

from ._claim import Verdict
from ._experiment import Outcome
from ._figure import save_figure


def write_files(folder: Path, writers: Mapping[str, Callable[[Path], None]]) -> list[Path]:
    """Write a set of files so that readers see all of the old or all of the new ones.

    Every file is first written to the end in a hidden folder beside its place; only when all are
    there do they take their names, one rename after the other. A run that fails or is killed while
    it computes or writes leaves the former files as they were.

    Arguments:
        folder: where the files go; made if it is not there.
        writers: for each file name, a function that writes to the path it is given.

    Returns:
        The paths, in the order of `writers`.

    Raises:
        ValueError: `folder` is no path, or one of the names is a folder there.
    """
    folder = check_path("folder", folder)
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / name for name in writers]
    for target in targets:
        if target.is_dir():
            raise ValueError(f"{target} is a folder: move it away, or choose another --out")
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=folder) as name:
        unfinished = Path(name)
        for target, write in zip(targets, writers.values(), strict=True):
            write(unfinished / target.name)
        for target in targets:
            os.replace(unfinished / target.name, target)
    return targets


def check_folder(name: str, folder: Path) -> None:
    """Refuse a folder that is none, or that could not be made or written to.

    Raises:
        ValueError: with the remedy; `name` is what the folder is called there.
    """
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        is_folder, is_open = nearest.is_dir(), os.access(nearest, os.W_OK | os.X_OK)
    except OSError as error:
        raise ValueError(f"{name} {folder} cannot be looked at ({error}): name another") from None
    if not is_folder:
        raise ValueError(
            f"{name} {folder} is a file: name a folder, made if it is not there"
            if nearest == folder
            else f"{name} {folder} lies in {nearest}, which is a file: name another folder"
        )
    if not is_open:
        raise ValueError(f"{name} {folder}: {nearest} cannot be written to; name another folder")


def write_json(document: Mapping[str, Any], path: Path) -> None:
    """Strict JSON: numbers that JSON does not have (NaN, infinities) become null."""
    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    check_path("path", path).write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """The rows under the columns of the first one; a row with others is refused."""
    if not rows:
        raise ValueError("rows is empty: hand back the numbers behind the figure")
    with check_path("path", path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def claim_document(verdict: Verdict) -> dict[str, Any]:
    """One entry of the JSON's list of claims."""
    claim = verdict.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "quantity": claim.quantity,
        "estimate": claim.estimate,
        "std_error": claim.std_error,
        "theory": claim.theory,
        "bias_bound": claim.bias_bound,
        "detectable": verdict.detectable,
        "holds": verdict.holds,
    }


def write_report(
    folder: Path, name: str, document: Mapping[str, Any], outcome: Outcome
) -> list[Path]:
    """NAME.json, NAME.csv, NAME.png and NAME.pdf, replaced together."""
    return write_files(
        folder,
        {
            f"{name}.csv": lambda path: write_csv(outcome.rows, path),
            f"{name}.png": lambda path: save_figure(outcome.figure, path),
            f"{name}.pdf": lambda path: save_figure(outcome.figure, path),
            f"{name}.json": lambda path: write_json(document, path),
        },
    )


def settings_document(settings: Any, *, seed: int, quick: bool) -> dict[str, Any]:
    """All that a second run needs to give the same numbers."""
    return {"seed": seed, "quick": quick, **asdict(settings)}
