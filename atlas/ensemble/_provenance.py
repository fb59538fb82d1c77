"""Where a result comes from: versions, revision and machine."""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from pathlib import Path
from typing import Any

import jax

_DISTRIBUTIONS = ("atlas-queueing", "numpy", "jax", "numba", "scipy")


def provenance(device: Any = None) -> dict[str, str]:
    """Versions, git revision, platform and device of this run, as strings.

    Arguments:
        device: what the run uses: a JAX device, a name such as "cpu" for code without JAX, or None
            for JAX's default device.
    Returns: "version" (of atlas-queueing), "numpy", "jax", "numba", "scipy", "python", "platform",
        "device", and "git_revision" if the package runs from a git checkout ("+changes" is
        appended if tracked files differ from it).
    """
    found = {name: _version(name) for name in _DISTRIBUTIONS}
    found["version"] = found.pop("atlas-queueing")
    found["python"] = platform.python_version()
    found["platform"] = platform.platform()
    chosen = jax.devices()[0] if device is None else device
    found["device"] = chosen if isinstance(chosen, str) else chosen.device_kind
    revision = _git_revision(Path(__file__).resolve().parents[2])
    return found if revision is None else {**found, "git_revision": revision}


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@functools.cache
def _git_revision(root: Path) -> str | None:
    # Only the checkout itself: a site-packages folder inside someone's repository is none.
    if not (root / ".git").exists():
        return None
    revision = _git(root, "rev-parse", "HEAD")
    if not revision:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{revision}+changes" if changed else revision


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
