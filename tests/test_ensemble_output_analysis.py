"""Steady-state output analysis on the AR(1) series x_t = phi x_{t-1} + e_t, whose law is known."""

import numpy as np
import pytest
from scipy import signal

from atlas.ensemble import (
    Estimate,
    batch_means,
    effective_sample_size,
    mser5,
    overlapping_batch_means,
)

Z = 4.9


def ar1(seed: int, phi: float, length: int, width: int) -> np.ndarray:
    """Stationary series of unit innovations, shape (length, width)."""
    noise = np.random.default_rng(seed).normal(size=(length, width))
    noise[0] /= np.sqrt(1.0 - phi**2)
    return np.asarray(signal.lfilter([1.0], [1.0, -phi], noise, axis=0))


def covariance(phi: float, length: int) -> np.ndarray:
    lags = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return phi**lags / (1.0 - phi**2)


def quadratic_form(estimator, length: int) -> np.ndarray:
    """The matrix A of std_error^2 = x^T A x, by polarisation."""
    unit = np.eye(length)
    pairs = unit[:, :, None] + unit[:, None, :]
    both = estimator(pairs).std_error ** 2
    alone = estimator(unit).std_error ** 2
    return (both - alone[:, None] - alone[None, :]) / 2.0


ESTIMATORS = {
    "batch_means": (lambda x: batch_means(x, 6), 5.0, 1e-12),
    "overlapping_batch_means": (lambda x: overlapping_batch_means(x, 10), 7.5, 0.12),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_error_is_unbiased_for_independent_samples_with_its_stated_freedom(name):
    """Oracle: for independent normals E V = tr A and var V = 2 tr A^2, so that V is like a
    chi-square of tr(A)^2/tr(A^2) degrees of freedom; no sampling."""
    estimator, dof, tolerance = ESTIMATORS[name]
    form = quadratic_form(estimator, 60)
    np.testing.assert_allclose(np.trace(form), 1.0 / 60.0, rtol=1e-10)
    freedom = np.trace(form) ** 2 / np.trace(form @ form)
    assert estimator(np.arange(60.0)).dof == dof
    np.testing.assert_allclose(freedom, dof, rtol=tolerance)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_error_of_a_correlated_series_has_its_exact_mean(name):
    """Oracle: E V = sum of A * covariance, with A from the *definition* of the estimator.
    30000 series: false-fail 1e-6, detects a difference of 2 %. The error of independent samples,
    3 times too small, is rejected."""
    phi, length = 0.5, 60
    width = 10 if name == "overlapping_batch_means" else 60 // 6
    step = 1 if name == "overlapping_batch_means" else width
    windows = np.array(
        [(np.arange(length) >= s) & (np.arange(length) < s + width) for s in range(0, 51, step)]
    )
    rows = windows / width - 1.0 / length
    factor = width / ((length - width + 1) * (length - width)) if step == 1 else 1.0 / (6 * 5)
    expected = float(np.sum(factor * rows.T @ rows * covariance(phi, length)))

    series = ar1(11, phi, length, 30_000)
    squares = ESTIMATORS[name][0](series).std_error ** 2
    tolerance = Z * squares.std() / np.sqrt(squares.size)
    assert tolerance < 0.02 * expected
    assert abs(squares.mean() - expected) < tolerance
    naive = Estimate.from_samples(series).std_error ** 2
    assert abs(naive.mean() - expected) > tolerance


@pytest.mark.parametrize(
    "estimator", [lambda x: batch_means(x, 20), lambda x: overlapping_batch_means(x, 100)]
)
def test_intervals_of_correlated_series_cover(estimator):
    """Oracle: coverage .95, up to .01 for batches of 100 at an autocorrelation time of 9.
    5000 series: false-fail 1e-6 at .015 more. That of independent samples covers .48: rejected."""
    series = ar1(12, 0.8, 2000, 5000)
    tolerance = Z * np.sqrt(0.95 * 0.05 / 5000) + 0.01
    lower, upper = estimator(series).ci
    assert abs(np.mean((lower < 0) & (upper > 0)) - 0.95) < tolerance
    lower, upper = Estimate.from_samples(series).ci
    assert abs(np.mean((lower < 0) & (upper > 0)) - 0.95) > tolerance


def test_batches_drop_the_beginning_that_fills_none():
    series = np.concatenate([[1e6, 1e6], np.arange(9.0)])
    estimate = batch_means(series, 3)
    assert estimate.value == 4.0
    assert estimate.std_error == pytest.approx(np.sqrt(3.0))


def test_large_means_cost_no_digits():
    series = ar1(13, 0.5, 1000, 1)[:, 0]
    for estimator in (lambda x: batch_means(x, 10), lambda x: overlapping_batch_means(x, 50)):
        np.testing.assert_allclose(
            estimator(series + 1e8).std_error, estimator(series).std_error, rtol=1e-6
        )
    assert mser5(series + 1e8) == mser5(series)


def brute_force_mser5(series: np.ndarray) -> int:
    batches = series[: len(series) // 5 * 5].reshape(-1, 5).mean(axis=1)
    k = len(batches)
    scores = [np.var(batches[d:]) / (k - d) for d in range(k // 2 + 1)]
    return 5 * int(np.argmin(scores))


def test_mser5_is_its_definition():
    rng = np.random.default_rng(14)
    for length in (10, 11, 57, 400):
        transient = 5.0 * np.exp(-np.arange(length) / 20.0)
        series = rng.normal(size=(length, 7)) + transient[:, None]
        cuts = mser5(series)
        assert cuts.dtype == np.int64
        assert cuts.tolist() == [brute_force_mser5(column) for column in series.T]
        assert np.all(cuts <= length // 2)
        assert mser5(series[:, 0]) == cuts[0]


def test_mser5_cuts_a_start_far_from_the_steady_state():
    """Oracle: the mean is 0. 400 series of 2000 with a start that decays over 100 steps from 10:
    false-fail 1e-6 at 4.9 standard errors + .05 for what MSER-5 leaves by choice (it weighs the
    rest of the start against the samples it would lose). The uncut mean, off by .5, is rejected."""
    start = 10.0 * np.exp(-np.arange(2000) / 100.0)
    series = ar1(15, 0.5, 2000, 400) + start[:, None]
    cuts = mser5(series)
    kept = np.array([column[cut:].mean() for column, cut in zip(series.T, cuts, strict=True)])
    tolerance = Z * kept.std() / np.sqrt(kept.size) + 0.05
    assert abs(kept.mean()) < tolerance
    assert abs(series.mean()) > tolerance


def test_mser5_finds_the_end_of_a_step_exactly():
    series = np.concatenate([np.ones(200), np.zeros(800)])
    assert mser5(series) == 200
    assert mser5(np.zeros(100)) == 0
    assert mser5(np.arange(100.0)) == 50


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, -0.5])
def test_effective_sample_size_of_ar1(phi):
    """Oracle: ESS = n (1 - phi)/(1 + phi). Mean over 64 series of 20000: false-fail 1e-6 at 4.9
    standard errors (about 3 %) + 3 % for the bias of the estimator. The size under half the
    correlation is rejected (for phi = 0: that under .2)."""
    n = 20_000
    sizes = effective_sample_size(ar1(16, phi, n, 64)) / n
    tolerance = Z * sizes.std() / 8.0 + 0.03 * (1 - phi) / (1 + phi)
    assert abs(sizes.mean() - (1 - phi) / (1 + phi)) < tolerance
    wrong = phi / 2 if phi else 0.2
    assert abs(sizes.mean() - (1 - wrong) / (1 + wrong)) > tolerance


def test_effective_sample_size_is_its_definition():
    """Oracle: sums over lags and pairs one by one, for 60 series of 5 to 40 samples."""
    rng = np.random.default_rng(12)
    for n in rng.integers(5, 41, size=60):
        x = rng.normal(size=n) + 0.5 * np.cumsum(rng.normal(size=n))
        x -= x.mean()
        gamma = [np.sum(x[: n - k] * x[k:]) / n for k in range(n)]
        least, total = np.inf, 0.0
        for k in range(n // 2):
            pair = gamma[2 * k] + gamma[2 * k + 1]
            if pair <= 0:
                break
            least = min(least, pair)
            total += least
        size = n * gamma[0] / (2 * total - gamma[0])
        bound = n * max(np.log10(n), 1.0)
        expected = size if 0 < size < bound else bound
        assert effective_sample_size(x) == pytest.approx(expected)


def test_effective_sample_size_at_the_edges():
    assert np.isnan(effective_sample_size(np.ones(100)))
    alternating = np.tile([1.0, -1.0], 50)
    assert effective_sample_size(alternating) == pytest.approx(100 * np.log10(100))
    assert isinstance(effective_sample_size(np.arange(10.0)), float)
    assert effective_sample_size(np.arange(20.0)) < 5
    both = effective_sample_size(np.stack([np.ones(100), np.arange(100.0)], axis=1))
    assert np.isnan(both[0]) and both[1] == pytest.approx(effective_sample_size(np.arange(100.0)))


@pytest.mark.parametrize(
    "analysis",
    [
        batch_means,
        lambda x: overlapping_batch_means(x, 2),
        mser5,
        effective_sample_size,
    ],
)
@pytest.mark.parametrize(
    ("series", "error", "message"),
    [
        ([], ValueError, "series must have at least"),
        (1.0, ValueError, "series must have at least"),
        ([1.0], ValueError, "series must have at least .* got 1"),
        ([[1.0, 2.0]] * 20 + [[1.0, np.nan]] * 20, ValueError, r"got nan at index \(20, 1\)"),
        ([np.inf] * 40, ValueError, r"got inf at index \(0,\)"),
        (["a"] * 40, ValueError, "series must hold real numbers"),
    ],
)
def test_bad_series_are_refused(analysis, series, error, message):
    with pytest.raises(error, match=message):
        analysis(series)


@pytest.mark.parametrize("count", [0, 1, 41, -3])
def test_bad_numbers_of_batches_are_refused(count):
    with pytest.raises(ValueError, match=f"num_batches must be .* got {count}"):
        batch_means(np.arange(40.0), count)


@pytest.mark.parametrize("length", [0, 21])
def test_bad_batch_lengths_are_refused(length):
    with pytest.raises(ValueError, match=f"batch_length must be .* got {length}"):
        overlapping_batch_means(np.arange(40.0), length)


@pytest.mark.parametrize("count", [True, 2.0, "3", None])
def test_counts_that_are_no_integers_are_refused(count):
    with pytest.raises(ValueError, match="num_batches must be an integer"):
        batch_means(np.arange(40.0), count)
