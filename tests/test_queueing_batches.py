"""How batches of replicas become values, errors and warm-ups."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from atlas.ensemble import Estimate, mser5
from queueing._batch_estimates import NUM_BATCHES, Batches, warmup_cuts
from queueing._engine import Window
from queueing._long_run_task import WEIGHT, LongRunTask


def test_values_are_ratios_of_sums():
    """A batch with more samples counts more: the plain mean of batches would be another number."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 9, (3, NUM_BATCHES)).astype(float)
    values = weights[..., None] + rng.normal(size=(3, NUM_BATCHES, 2))
    cuts = np.array([0, 4, 10])
    estimate = Batches(cuts, weights).mean(values)
    for replica, cut in enumerate(cuts):
        kept, counts = values[replica, cut:], weights[replica, cut:]
        exact = (kept * counts[:, None]).sum(axis=0) / counts.sum()
        np.testing.assert_allclose(estimate.value[replica], exact, rtol=1e-13)
        assert np.all(np.abs(exact - kept.mean(axis=0)) > 0.1)


def test_windows_of_a_batch_count_by_their_weights():
    """Exact, by hand: means by weights 1 and 3, sums as they are."""
    windows = [
        Window({"lengths_ranked": np.array([0.0, 4.0]), "own": 1.0}, {"jobs": 2.0}, 1.0),
        Window({"lengths_ranked": np.array([1.0, 8.0]), "own": 5.0}, {"jobs": 7.0}, 3.0),
    ]
    task: Any = SimpleNamespace(num_ranks=1)
    batch = LongRunTask._reduce(task, windows)
    found = [batch[name] for name in ("own", "total", "imbalance", "sum_jobs", WEIGHT)]
    assert found == pytest.approx([4.0, 7.75, 6.25, 9.0, 4.0])
    assert batch["lengths_ranked"] == pytest.approx([0.75])


def test_errors_are_those_of_groups_of_batches():
    """Four replicas: five groups each; what fills no group is left out at the beginning."""
    values = np.random.default_rng(1).normal(size=(4, NUM_BATCHES))
    cuts = np.array([0, 3, 3, 0])
    batches = Batches(cuts, np.ones((4, NUM_BATCHES)))
    assert batches.num_groups == 5
    estimate = batches.mean(values)
    for replica, cut in enumerate(cuts):
        size = (NUM_BATCHES - cut) // 5
        groups = values[replica, NUM_BATCHES - 5 * size :].reshape(5, size).mean(axis=1)
        expected = Estimate.from_samples(groups)
        assert estimate.std_error[replica] == pytest.approx(float(expected.std_error))
        assert estimate.dof[replica] == 4


@pytest.mark.parametrize(
    ("num_replicas", "num_groups"), [(1, 20), (2, 10), (8, 2), (20, 1), (99, 1)]
)
def test_there_are_about_twenty_groups_in_all(num_replicas, num_groups):
    batches = Batches(np.zeros(num_replicas, int), np.ones((num_replicas, NUM_BATCHES)))
    assert batches.num_groups == num_groups
    estimate = batches.mean(np.ones((num_replicas, NUM_BATCHES)))
    assert np.all(np.isnan(estimate.std_error)) == (num_groups == 1)


def test_a_replica_is_cut_by_the_others():
    """What is cut does not depend on what is kept; a single replica has only itself."""
    series = np.random.default_rng(2).normal(size=(3, 5 * NUM_BATCHES))
    series[:, :30] += 50.0
    cuts = warmup_cuts(series)
    assert np.all((cuts >= 6) & (cuts <= NUM_BATCHES // 2))
    changed = series.copy()
    changed[0] = np.random.default_rng(3).normal(size=5 * NUM_BATCHES)
    assert mser5(changed[0]) // 5 != cuts[0]
    assert warmup_cuts(changed)[0] == cuts[0]
    assert warmup_cuts(series[:1])[0] == mser5(series[0]) // 5
    assert warmup_cuts(np.zeros((2, 5 * NUM_BATCHES))).max() <= NUM_BATCHES // 2


def test_replicas_without_jobs_are_noticed():
    sums = np.ones((2, NUM_BATCHES))
    sums[1, 5:] = 0.0
    weights = np.ones((2, NUM_BATCHES))
    assert Batches(np.array([0, 0]), weights).has_any(sums)
    assert not Batches(np.array([0, 5]), weights).has_any(sums)
    # The first batch that is kept counts.
    assert Batches(np.array([0, 4]), weights).has_any(sums)
