"""The GPU benchmark: what it says without one, and that what it measures runs anywhere."""

import json

import jax
import pytest

from benchmarks import gpu
from benchmarks._harness import Spread


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="this machine has a graphics processor")
def test_without_a_graphics_processor_it_says_so_and_succeeds(tmp_path, capsys):
    assert gpu.main(["--out", str(tmp_path)]) == 0
    assert "no graphics processor" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_report_holds_rates_bandwidth_and_a_figure(tmp_path):
    workload = gpu.Workload("adding", "sum", 8.0, lambda batch: (lambda: sum(range(batch)), batch))
    rates = gpu.measure_rates([workload], (8, 16), rounds=2, time_limit=10.0)
    assert [rate.batch for rate in rates] == [8, 16]
    assert all(0 < r.per_second.min <= r.per_second.median <= r.per_second.max for r in rates)
    hurried = gpu.measure_rates([workload], (8, 16), rounds=2, time_limit=0.0)
    assert [rate.batch for rate in hurried] == [8]
    gpu.write_report(tmp_path, rates, gpu.copy_bandwidth(1000, rounds=2), [workload])
    document = json.loads((tmp_path / "gpu.json").read_text())
    assert document["copy_bytes_per_second"]["median"] > 0
    assert document["rates"][1]["batch"] == 16
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".png", ".pdf"}


@pytest.mark.slow
def test_every_workload_runs_at_a_small_batch(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu, "NUM_STEPS", 4)
    monkeypatch.setattr(gpu, "LEAPING_SERVERS", 16)
    rates = gpu.measure_rates(gpu.WORKLOADS, (16,), rounds=1, time_limit=60.0)
    assert len(rates) == len(gpu.WORKLOADS)
    gpu.write_report(tmp_path, rates, Spread(1.0, 2.0, 3.0), gpu.WORKLOADS)
