"""The store of chunks: killed at any moment, it goes on to the same result."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atlas.ensemble import ChunkStore, Interrupted, plan_chunks, run_chunks

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"model": "atlas", "step": 0.1, "seed": 7, "rates": [1.0, 2.0], "floor": True}

# Ten chunks; killed by SIGKILL in the task or while a chunk is being put in place.
PROGRAM = """
import os, signal, sys
import numpy as np
from atlas.ensemble import ChunkStore, plan_chunks, run_chunks

folder, result, moment = sys.argv[1:]
counted = []

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def task(chunk):
    counted.append(chunk)
    if moment == "task" and len(counted) == 4:
        kill()
    if moment == "replace" and len(counted) == 4:
        os.replace = kill
    return {"normal": np.random.default_rng(chunk.start).normal(size=(len(chunk), 3))}

store = ChunkStore(folder, {"seed": 1, "step": 0.1})
done = run_chunks(task, plan_chunks(100, 10), store=store)
np.savez(result, **{f"c{i}": part["normal"] for i, part in enumerate(done)})
print(len(counted))
"""


def run_program(folder: Path, moment: str) -> subprocess.CompletedProcess[str]:
    result = folder.with_suffix(".npz")
    command = [sys.executable, "-c", PROGRAM, str(folder), str(result), moment]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.parametrize("moment", [pytest.param("task", marks=pytest.mark.slow), "replace"])
def test_a_killed_run_goes_on_to_the_same_result(tmp_path, moment):
    killed = run_program(tmp_path / "killed", moment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    store = ChunkStore(tmp_path / "killed", {"seed": 1, "step": 0.1})
    assert store.chunks() == plan_chunks(30, 10)
    assert all(store.get(chunk) is not None for chunk in store.chunks())

    resumed = run_program(tmp_path / "killed", "never")
    assert resumed.stdout.strip() == "7", resumed.stderr
    for number, chunk in enumerate(plan_chunks(100, 10)):
        expected = np.random.default_rng(chunk.start).normal(size=(10, 3))
        with np.load(tmp_path / "killed.npz") as found:
            np.testing.assert_array_equal(found[f"c{number}"], expected)


def task(chunk: range) -> dict[str, np.ndarray]:
    return {"x": np.arange(chunk.start, chunk.stop, dtype=np.float32), "n": np.array(len(chunk))}


def test_a_store_gives_back_what_was_saved(tmp_path):
    store = ChunkStore(tmp_path / "a" / "store", SETTINGS)
    arrays = {
        "file": np.arange(3, dtype=np.uint8),
        "group/name": np.array(2.5),
        "flags": np.array([[True], [False]]),
        "none": np.zeros((0, 2), np.float32),
        "list": [1, 2],
    }
    saved = store.save(range(4, 8), arrays)
    found = store.get(range(4, 8))
    assert found is not None and list(found) == list(arrays)
    for name, array in found.items():
        assert array.dtype == saved[name].dtype
        np.testing.assert_array_equal(array, saved[name])
    assert store.get(range(4)) is None
    assert store.chunks() == [range(4, 8)]


@pytest.mark.parametrize("num_threads", [1, 2])
def test_finished_chunks_are_not_run_again(tmp_path, num_threads):
    chunks = plan_chunks(6, 2)
    store = ChunkStore(tmp_path / "store", SETTINGS)
    first = run_chunks(task, chunks, store=store, num_threads=num_threads)

    def fail(chunk):
        raise AssertionError("run again")

    again = run_chunks(fail, chunks, store=ChunkStore(tmp_path / "store", SETTINGS))
    for one, other in zip(first, again, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
            assert one[name].dtype == other[name].dtype


def test_a_longer_run_takes_over_the_chunks_of_a_shorter_one(tmp_path):
    run = []

    def counted(chunk):
        run.append(chunk)
        return task(chunk)

    for replicas in (4, 8):
        run_chunks(counted, plan_chunks(replicas, 2), store=ChunkStore(tmp_path / "s", SETTINGS))
    assert run == plan_chunks(8, 2)


def test_ctrl_c_leaves_the_finished_chunks_in_the_store(tmp_path):
    def interrupted(chunk):
        if chunk.start == 4:
            raise KeyboardInterrupt
        return task(chunk)

    store = ChunkStore(tmp_path / "store", SETTINGS)
    with pytest.raises(Interrupted):
        run_chunks(interrupted, plan_chunks(10, 2), store=store)
    assert store.chunks() == plan_chunks(4, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 8}, "made with seed = 7, this run has 8"),
        ({"step": 0.1 + 1e-16}, "made with step = 0.1, this run has 0.1000000000000001:"),
        ({"rates": [1.0, 3.0]}, r"rates = \[1.0, 2.0\], this run has \[1.0, 3.0\]"),
        ({"floor": 1}, "floor = true, this run has 1"),
        ({"burn": 5}, "burn = absent, this run has 5"),
    ],
)
def test_other_settings_are_refused_by_the_first_that_differs(tmp_path, change, message):
    ChunkStore(tmp_path / "store", SETTINGS)
    with pytest.raises(ValueError, match=message):
        ChunkStore(tmp_path / "store", {**SETTINGS, **change})


def test_a_missing_setting_is_refused(tmp_path):
    ChunkStore(tmp_path / "store", SETTINGS)
    with pytest.raises(ValueError, match="seed = 7, this run has absent"):
        ChunkStore(tmp_path / "store", {k: v for k, v in SETTINGS.items() if k != "seed"})


def test_the_same_settings_of_numpy_are_the_same(tmp_path):
    ChunkStore(tmp_path / "store", SETTINGS)
    same = {"step": np.float64(0.1), "seed": np.int32(7), "rates": np.array([1.0, 2.0])}
    ChunkStore(tmp_path / "store", {**SETTINGS, **same})


def test_leftovers_are_ignored_and_damage_is_run_again(tmp_path):
    store = ChunkStore(tmp_path / "store", SETTINGS)
    run_chunks(task, plan_chunks(6, 2), store=store)
    (tmp_path / "store" / ".0123.npz").write_bytes(b"half")
    assert store.chunks() == plan_chunks(6, 2)
    file = sorted((tmp_path / "store").glob("replicas-*.npz"))[1]
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(b"NUMPY") + 130] ^= 0xFF
    for damaged in (b"", whole[:-40], b"x" * len(whole), bytes(flipped)):
        file.write_bytes(damaged)
        with pytest.warns(UserWarning, match="is damaged: its replicas are run again"):
            assert store.get(range(2, 4)) is None
    with pytest.warns(UserWarning, match="damaged"):
        again = run_chunks(task, plan_chunks(6, 2), store=store)
    np.testing.assert_array_equal(again[1]["x"], [2, 3])
    assert store.get(range(2, 4)) is not None


@pytest.mark.parametrize("result", [3.0, [1.0], None])
def test_what_is_no_dict_of_arrays_is_refused(tmp_path, result):
    store = ChunkStore(tmp_path / "store", SETTINGS)
    with pytest.raises(ValueError, match="must return a dict of arrays, got"):
        run_chunks(lambda chunk: result, plan_chunks(2, 2), store=store)


@pytest.mark.parametrize("value", ["text", [None], {"a": 1}])
def test_what_needs_pickle_is_refused(tmp_path, value):
    store = ChunkStore(tmp_path / "store", SETTINGS)
    with pytest.raises(ValueError, match="x must be a numerical array"):
        store.save(range(1), {"x": value})
    assert store.chunks() == []
    assert [file.name for file in store.path.iterdir()] == ["fingerprint.json"]


def test_foreign_places_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="must be a folder, got the file"):
        ChunkStore(tmp_path / "file", SETTINGS)
    with pytest.raises(ValueError, match="holds other files"):
        ChunkStore(tmp_path, SETTINGS)
    store = ChunkStore(tmp_path / "store", SETTINGS)
    (store.path / "fingerprint.json").write_text('{"model": ')
    with pytest.raises(ValueError, match="is damaged: remove the folder"):
        ChunkStore(store.path, SETTINGS)
    with pytest.raises(ValueError, match="must be a number, string"):
        ChunkStore(tmp_path / "other", {"model": object()})
    with pytest.raises(ValueError, match="chunk must be a range of step 1"):
        store.get(range(0, 4, 2))
