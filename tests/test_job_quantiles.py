"""Quantiles of jobs' times: their bins, their errors, and exact laws."""

import numba
import numpy as np
import pytest
from scipy import stats

import queueing
from atlas.ensemble import StreamingQuantiles
from queueing import JSQ, LongRun, Random, System
from queueing._engine import add_to_histogram, empty_histogram, histogram_unit
from queueing._engine._found_lengths import group_rates
from queueing._engine._log_histogram import HISTOGRAM_SIZE, LARGEST, RELATIVE_ERROR, SMALLEST
from queueing._engine._tally import level_row, row_level
from queueing._job_quantiles import grouped_histograms, job_quantiles, num_histograms


@numba.njit
def _count(times, counts):
    for time in times:
        add_to_histogram(counts, time)


def test_bins_are_those_of_streaming_quantiles():
    """Time by time, apart from rounding at a bin's edge; zero and infinity included."""
    rng = np.random.default_rng(1)
    times = np.concatenate(([0.0, np.inf, 1e-5, 2e6], rng.lognormal(0.0, 3.0, 4000)))
    counts = empty_histogram()
    _count(times, counts)
    bins = StreamingQuantiles.empty(
        relative_error=RELATIVE_ERROR, smallest=SMALLEST, largest=LARGEST
    )
    expected = bins.add(times)
    assert counts.size == expected.counts.size == HISTOGRAM_SIZE
    np.testing.assert_array_equal(counts, expected.counts)


def test_rows_of_found_lengths_keep_their_relative_error():
    """Exact below 512, ascending, within 2^-9 above."""
    levels = np.unique(np.concatenate((np.arange(2000), 2 ** np.arange(11, 50) + 3)))
    rows = np.array([level_row(level) for level in levels])
    assert np.all(np.diff(rows) >= 0)
    values = np.array([row_level(int(row)) for row in rows])
    np.testing.assert_array_equal(values[:512], levels[:512])
    assert np.all(np.abs(values - levels) <= levels / 512)


def test_many_rates_are_put_together_within_the_stated_error():
    rates = np.random.default_rng(2).uniform(0.01, 4.0, 5000)
    groups = group_rates(rates, 1.0)
    assert groups.rates.size < 2000
    assert np.all(np.abs(groups.rates[groups.group_of] / rates - 1.0) < 0.0026)
    assert not groups.is_exact
    few = group_rates(np.array([2.0, 0.5, 2.0]), 1.0)
    np.testing.assert_array_equal(few.rates[few.group_of], [2.0, 0.5, 2.0])


@pytest.fixture(scope="module")
def single_server():
    return queueing.long_run(
        System([2.0], 1.2), Random(), horizon=2e5, replicas=4, seed=61, progress=False
    )


def test_quantiles_of_one_server_are_exact(single_server):
    """M/M/1: P(wait > x) = rho exp(-(mu - lambda) x), P(response > x) = exp(-(mu - lambda) x).

    False-fail rate 1e-6 over 6 values, beside the stated relative error; detects 3 % at .99. The
    quantiles of the response are rejected as those of the wait.
    """
    probs = np.array([0.5, 0.9, 0.99])
    exact = {"wait": -np.log((1.0 - probs) / 0.6) / 0.8, "response": -np.log(1.0 - probs) / 0.8}

    def excess(name, values):
        estimate = single_server.quantile(name, probs)
        error = np.abs(estimate.value - values) - single_server.attrs["quantile_relative_error"] * (
            0.3 * values
        )
        return np.max(error / estimate.std_error / stats.t.isf(0.5e-6 / 6, estimate.dof))

    assert excess("wait", exact["wait"]) < 1.0
    assert excess("response", exact["response"]) < 1.0
    assert excess("wait", exact["response"]) > 1.0
    assert np.all(single_server.quantile("wait", probs).std_error < 0.02 * exact["wait"])
    # Two jobs of five find an idle server.
    assert single_server.quantile("wait", 0.39).value == 0.0


def test_quantiles_keep_the_shape_of_their_probabilities(single_server):
    both = single_server.quantile("response", [[0.5, 0.9], [0.99, 0.1]])
    assert both.shape == (2, 2)
    assert single_server.quantile("response", 0.9).value == both.value[0, 1]
    travel = single_server.quantile("time_to_service", 0.9)
    assert travel.value == single_server.quantile("wait", 0.9).value


def test_quantiles_are_stored(single_server, tmp_path):
    loaded = LongRun.load(single_server.save(tmp_path / "run.nc"))
    assert loaded.quantile("wait", 0.9).value == single_server.quantile("wait", 0.9).value
    assert "wait_histogram" not in loaded.names


@pytest.mark.parametrize(
    ("name", "probs", "message"),
    [
        ("waits", 0.5, "name is 'waits'; give one of wait"),
        ("wait", 1.0, "probs is 1.0"),
        ("wait", 0.0, "probs is 0.0"),
        ("wait", [0.5, np.nan], "probs is"),
        ("wait", None, "probs is None"),
        ("wait", True, "probs is True"),
        ("wait", [], "probs is"),
        ("wait", "median", "probs is 'median'"),
        ("wait", [[0.5], [0.5, 0.6]], "probs is"),
    ],
)
def test_bad_quantiles_are_refused(single_server, name, probs, message):
    with pytest.raises(ValueError, match=message):
        single_server.quantile(name, probs)


def test_what_an_engine_did_not_see_is_refused_with_its_reason():
    paused = queueing.extreme_congestion(n=9, a=3.0, b=2.0).with_pauses()
    run = queueing.long_run(paused, horizon=50.0, seed=1, progress=False)
    with pytest.raises(ValueError, match="follows no single jobs"):
        run.quantile("wait", 0.5)
    silent = queueing.long_run(System([1.0], 0.0), Random(), horizon=50.0, seed=1, progress=False)
    with pytest.raises(ValueError, match="arrival_rate is 0"):
        silent.quantile("wait", 0.5)


def test_errors_of_quantiles_cover_their_truth():
    """Exponential times in 500 repetitions of 5 replicas of 4 groups: 95 % intervals cover 92 to
    98 % (5 standard deviations of the count are 5 %, so the seed is fixed)."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(500):
        counts = np.array([[empty_histogram() for _ in range(4)] for _ in range(5)])
        for row in counts.reshape(20, -1):
            _count(rng.exponential(size=60), row)
        low, high = job_quantiles(counts, 1.0, np.array([0.9])).ci
        hits += low[0] <= np.log(10.0) <= high[0]
    assert 0.92 <= hits / 500 <= 0.98


def test_every_job_is_in_one_histogram():
    """Exactly, but for rounding: all groups together hold the jobs that arrived, and a histogram
    with a batch of the warm-up is left out whole."""
    run = queueing.long_run(
        System([2.0], 1.2), Random(), horizon=200.0, warmup=0.0, replicas=2, seed=5, progress=False
    )
    counts = run.values("wait_histogram").sum()
    assert counts == pytest.approx(run.values("num_arrivals").sum(), rel=1e-12)
    counts = np.array([[[1], [2], [4], [8]]])
    for cut, kept in ((0, 15), (1, 14), (5, 14), (6, 12)):
        assert grouped_histograms(counts, np.array([cut])).sum() == kept


def test_replicas_keep_enough_histograms_for_their_errors():
    for count in (1, 2, 3, 4, 7, 8, 20, 1000):
        kept = num_histograms(count)
        assert 20 % kept == 0
        # Half may be cut as warm-up; together they make 20 groups, or the replicas do.
        assert kept == 20 or (kept // 2) * count >= 15


def test_units_follow_the_mean_service_time():
    assert histogram_unit(System([100.0, 300.0], 1.0)) == pytest.approx(0.005)
    assert histogram_unit(System([0.0], 0.0)) == 1.0
    fast = System([2e6, 2e6], 2e6)
    run = queueing.long_run(fast, JSQ(), horizon=5e-3, replicas=2, seed=4, progress=False)
    assert 0.0 < run.quantile("response", 0.5).value < 1e-6
