"""Files that are replaced whole, memory that is counted first, and where a result comes from."""

import json
import os
import platform
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atlas.ensemble import available_memory, check_memory, provenance, write_atomically

ROOT = Path(__file__).resolve().parents[1]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "table.csv"
    assert write_atomically(target, lambda file: file.write_text("old")) == target.resolve()

    def fail(file):
        file.write_text("half")
        assert target.read_text() == "old"
        raise RuntimeError("disk full")

    def interrupt(file):
        file.write_text("half")
        raise KeyboardInterrupt

    for writer, error in ((fail, RuntimeError), (interrupt, KeyboardInterrupt)):
        with pytest.raises(error):
            write_atomically(target, writer)
        assert target.read_text() == "old"
        assert os.listdir(tmp_path) == ["table.csv"]
    write_atomically(target, lambda file: file.write_text("new"))
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_the_temporary_file_has_the_suffix_and_the_usual_rights(tmp_path):
    seen = []
    target = tmp_path / ("n" * 250 + ".png")
    write_atomically(target, lambda file: (seen.append(file.suffix), file.write_bytes(b"x")))
    assert seen == [".png"]
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "file.json")
    write_atomically(tmp_path / "link.json", lambda file: file.write_text("{}"))
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real" / "file.json").read_text() == "{}"


def test_places_that_are_no_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="must lie in an existing folder"):
        write_atomically(tmp_path / "missing" / "file", lambda file: file.write_text(""))
    with pytest.raises(IsADirectoryError, match="path must name a file"):
        write_atomically(tmp_path, lambda file: file.write_text(""))


def test_a_run_that_does_not_fit_is_refused_with_both_numbers():
    check_memory(2**30, "x", "y", limit=2**30)
    with pytest.raises(ValueError) as caught:
        check_memory(3 * 2**30 + 1, "keeping all paths", "lower replicas", limit=2**30)
    text = "keeping all paths needs 3.00 GiB of memory, 1.00 GiB are available: lower replicas"
    assert str(caught.value) == text
    with pytest.raises(ValueError, match=r"needs 909,494,701\.77 GiB"):
        check_memory(10**18 * 10**3 // 1024, "x", "y")


def test_memory_that_is_available_is_counted():
    found = available_memory()
    if sys.platform == "linux":
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert found is not None and 2**20 < found <= total
    check_memory(1, "x", "y")


@pytest.mark.parametrize("size", [-1, 1.5, "1"])
def test_sizes_that_are_no_counts_are_refused(size):
    with pytest.raises(ValueError, match="num_bytes must be"):
        check_memory(size, "x", "y")


def test_provenance_tells_versions_and_machine():
    found = provenance()
    assert all(isinstance(value, str) and value for value in found.values())
    assert found["numpy"] == np.__version__
    assert found["python"] == platform.python_version()
    assert {"version", "jax", "numba", "scipy", "platform", "device"} <= set(found)
    assert provenance(device="cpu")["device"] == "cpu"
    json.dumps(found)


def test_provenance_names_the_revision_of_a_checkout_only(tmp_path):
    """A copy of the package: no revision without its own repository, one with it, marked once
    tracked files differ."""
    from atlas.ensemble._provenance import _git_revision

    def git(*arguments):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, timeout=20)

    git("init", "-q")
    (tmp_path / "inside").mkdir()
    assert _git_revision(tmp_path / "inside") is None
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    _git_revision.cache_clear()
    revision = _git_revision(tmp_path)
    assert revision is not None and len(revision) == 40
    (tmp_path / "file").write_text("2")
    _git_revision.cache_clear()
    assert _git_revision(tmp_path) == f"{revision}+changes"
    _git_revision.cache_clear()


def test_ensemble_depends_on_nothing_beside_it():
    """`queueing` uses it without the diffusions, and it knows nothing of queues."""
    import ast

    for file in (ROOT / "atlas" / "ensemble").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level < 2, file.name
                assert node.level == 1 or not (node.module or "").startswith(("atlas", "queueing"))
            if isinstance(node, ast.Import):
                assert not any(a.name.split(".")[0] in ("atlas", "queueing") for a in node.names)
