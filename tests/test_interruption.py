"""A run that is killed or interrupted goes on to the same result; nothing is lost."""

import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import atlas
from atlas.ensemble import ChunkStore

MODEL = atlas.reflected_atlas(num_particles=6, a=2.0, b=1.0)
SCHEME = atlas.Splitting(step=0.05)


def run(**changes: Any) -> atlas.Solution:
    options = dict(times=[0.0, 0.33, 1.0], replicas=32, key=0) | changes
    model, scheme = options.pop("model", MODEL), options.pop("scheme", SCHEME)
    return atlas.simulate(model, scheme, **options)


SCRIPT = """
import os, signal, sys
import atlas
from atlas.ensemble import ChunkStore
kill_after = int(sys.argv[2])
save = ChunkStore.save
count = 0
def save_and_die(self, chunk, arrays):
    global count
    stored = save(self, chunk, arrays)
    count += 1
    if count == kill_after:
        os.kill(os.getpid(), signal.SIGKILL)
    return stored
ChunkStore.save = save_and_die
model = atlas.reflected_atlas(6, 2.0, 1.0)
sol = atlas.simulate(model, atlas.Splitting(step=0.05), times=[0.0, 0.33, 1.0], replicas=100,
                     chunk=10, key=0, store=sys.argv[1], num_threads=1)
print(count)
"""


class TestInterruption:
    @pytest.mark.slow
    def test_a_killed_run_goes_on_to_the_same_result(self, tmp_path):
        store = tmp_path / "store"
        environment = dict(os.environ, PYTHONPATH=os.getcwd(), JAX_PLATFORMS="cpu")

        def script(kill_after):
            command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(store), str(kill_after)]
            return subprocess.run(command, capture_output=True, text=True, env=environment)

        killed = script(3)
        assert killed.returncode == -signal.SIGKILL
        finished = script(0)
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout.strip() == "7"
        again = run(replicas=100, chunk=10, store=store)
        np.testing.assert_array_equal(again.ranked, run(replicas=100).ranked)

    def test_ctrl_c_between_chunks_keeps_what_is_done(self, tmp_path, monkeypatch):
        save = ChunkStore.save

        def save_and_interrupt(self, chunk, arrays):
            stored = save(self, chunk, arrays)
            if chunk.start == 20:
                raise KeyboardInterrupt
            return stored

        monkeypatch.setattr(ChunkStore, "save", save_and_interrupt)
        with pytest.raises(atlas.SimulationInterrupted) as caught:
            run(replicas=60, chunk=10, store=tmp_path / "s", num_threads=1)
        partial = caught.value.solution
        assert partial is not None and partial.ranked.shape[1] >= 20
        monkeypatch.undo()
        whole = run(replicas=60, chunk=10, store=tmp_path / "s")
        np.testing.assert_array_equal(whole.ranked, run(replicas=60).ranked)
        np.testing.assert_array_equal(partial.ranked, whole.ranked[:, : partial.ranked.shape[1]])

    def test_a_store_of_other_settings_is_refused(self, tmp_path):
        run(store=tmp_path / "s", chunk=16)
        with pytest.raises(ValueError, match="step"):
            run(store=tmp_path / "s", chunk=16, scheme=atlas.Splitting(step=0.1))
        with pytest.raises(ValueError, match="key or a seed"):
            run(store=tmp_path / "t", key=None)
        with pytest.raises(ValueError, match="observe"):
            run(store=tmp_path / "t", observe={"x": lambda ranked: ranked[0]})
