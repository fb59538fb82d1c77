"""Estimates: what their intervals cover, and what pooling and ratios do to them."""

from typing import Any

import numpy as np
import pytest

from atlas.ensemble import Estimate, RelativeHalfWidth

# Two-sided 1e-6 for a normal deviation.
Z = 4.9

# What the types forbid is refused at run time too.
UNCHECKED: Any = "95%"


def coverage(estimate: Estimate, truth: float) -> float:
    lower, upper = estimate.ci
    return float(np.mean((lower <= truth) & (truth <= upper)))


def test_student_interval_covers_five_normal_samples():
    """Oracle: coverage .95 exactly. 40000 repetitions: false-fail 1e-6, detects .0053. The normal
    quantile 1.96 in place of Student's covers .878 and is rejected."""
    samples = np.random.default_rng(1).normal(3.0, 2.0, (5, 40_000))
    estimate = Estimate.from_samples(samples)
    tolerance = Z * np.sqrt(0.95 * 0.05 / 40_000)
    assert abs(coverage(estimate, 3.0) - 0.95) < tolerance
    normal = Estimate(estimate.value, estimate.std_error, np.inf)
    assert abs(coverage(normal, 3.0) - 0.95) > tolerance


def test_error_of_a_mean_is_that_of_its_definition():
    samples = np.array([[1.0, 2.0], [2.0, 2.0], [6.0, 2.0]])
    estimate = Estimate.from_samples(samples)
    np.testing.assert_allclose(estimate.value, [3.0, 2.0])
    np.testing.assert_allclose(estimate.std_error, [np.sqrt(7.0 / 3.0), 0.0])
    np.testing.assert_array_equal(estimate.dof, [2.0, 2.0])
    np.testing.assert_allclose(estimate[0].half_width(), 4.302652729696 * np.sqrt(7.0 / 3.0))
    along = Estimate.from_samples(samples.T[:, :, None], axis=-2)
    np.testing.assert_array_equal(along.value[:, 0], estimate.value)


def test_float32_samples_are_averaged_in_float64():
    samples = np.full(2**20, 0.1, np.float32)
    assert abs(Estimate.from_samples(samples).value - np.float64(np.float32(0.1))) < 1e-12


def test_one_sample_has_no_error_and_an_infinite_interval():
    estimate = Estimate.from_samples([[1.0, 2.0]])
    assert np.isnan(estimate.std_error).all()
    lower, upper = estimate.ci
    assert np.all(lower == -np.inf) and np.all(upper == np.inf)


def test_known_error_gives_the_normal_interval():
    lower, upper = Estimate(0.0, 1.0, np.inf).interval(0.9)
    np.testing.assert_allclose([lower, upper], [-1.6448536, 1.6448536], rtol=1e-7)


def test_pooled_batches_are_one_sample_of_all_batches():
    """Equal batches without correlation: within and between pooled are the plain variance."""
    batches = np.random.default_rng(2).normal(size=(6, 10, 3))
    each = Estimate.from_samples(batches, axis=1)
    pooled = Estimate.pooled(each.value, each.std_error, each.dof)
    whole = Estimate.from_samples(batches.reshape(60, 3))
    np.testing.assert_allclose(pooled.value, whole.value)
    np.testing.assert_allclose(pooled.std_error, whole.std_error)
    np.testing.assert_array_equal(pooled.dof, whole.dof)


def test_pooling_covers_when_replicas_differ_more_than_their_batches():
    """Oracle: coverage .95 (by Student, 7 degrees of freedom, once batches are recognised as
    correlated). Each replica has an offset that its batches do not see, as in a run shorter than
    the relaxation time. 20000 repetitions: false-fail 1e-6 at .0075, .01 more allowed for the test
    of correlation. Pooling without that test covers .43 and is rejected."""
    rng = np.random.default_rng(3)
    batches = rng.normal(size=(8, 20, 20_000)) + 2.0 * rng.normal(size=(8, 1, 20_000))
    each = Estimate.from_samples(batches, axis=1)
    tolerance = Z * np.sqrt(0.95 * 0.05 / 20_000) + 0.01
    pooled = Estimate.pooled(each.value, each.std_error, each.dof)
    assert abs(coverage(pooled, 0.0) - 0.95) < tolerance
    blind = Estimate.from_samples(batches.reshape(160, -1))
    assert abs(coverage(blind, 0.0) - 0.95) > tolerance


def test_pooling_covers_when_batches_are_independent():
    """Oracle: coverage .95; 20000 repetitions, false-fail 1e-6 at .0075 plus .001 for the rate at
    which independent batches are called correlated. Errors twice too small cover .67: rejected."""
    batches = np.random.default_rng(4).normal(size=(4, 10, 20_000))
    each = Estimate.from_samples(batches, axis=1)
    tolerance = Z * np.sqrt(0.95 * 0.05 / 20_000) + 0.001
    pooled = Estimate.pooled(each.value, each.std_error, each.dof)
    assert abs(coverage(pooled, 0.0) - 0.95) < tolerance
    halved = Estimate(pooled.value, pooled.std_error / 2, pooled.dof)
    assert abs(coverage(halved, 0.0) - 0.95) > tolerance


def test_pooling_one_replica_keeps_its_own_error():
    pooled = Estimate.pooled([[2.0]], [[0.5]], 9)
    assert (pooled.value[0], pooled.std_error[0], pooled.dof[0]) == (2.0, 0.5, 9.0)


def test_pooling_replicas_without_batches_uses_their_spread():
    pooled = Estimate.pooled([1.0, 2.0, 6.0], [np.nan] * 3, 0)
    spread = Estimate.from_samples([1.0, 2.0, 6.0])
    assert (pooled.std_error, pooled.dof) == (spread.std_error, spread.dof)


def test_replicas_without_an_error_of_their_own_leave_the_spread_alone():
    some = Estimate.pooled([1.0, 2.0, 6.0], [np.nan, 3.0, 3.0], [0, 9, 9])
    spread = Estimate.from_samples([1.0, 2.0, 6.0])
    assert some.std_error == pytest.approx(float(spread.std_error)) and some.dof == 2


@pytest.mark.parametrize(("ratio", "dof"), [(5.0, 39.0), (8.0, 3.0)])
def test_batches_are_called_correlated_beyond_the_stated_quantile(ratio, dof):
    """F(3, 36) has its 0.95 quantile at 2.87, its 0.999 quantile at 6.74."""
    means = np.sqrt(ratio) * np.array([-1.0, -1.0, 1.0, 1.0]) * np.sqrt(0.75)
    pooled = Estimate.pooled(means, np.ones(4), 9)
    assert pooled.dof == dof
    # Within is 1/4, between is `ratio` times as much.
    expected = (36 + 3 * ratio) / 39 if dof > 3 else ratio
    assert pooled.std_error**2 == pytest.approx(expected / 4)


def test_ratio_to_ones_is_the_mean():
    samples = np.array([1.0, 2.0, 6.0])
    ratio, mean = Estimate.from_ratio(samples, np.ones(3)), Estimate.from_samples(samples)
    assert (ratio.value, ratio.std_error, ratio.dof) == (mean.value, mean.std_error, mean.dof)


def test_ratio_is_an_average_over_jobs():
    """Oracle: x = 1 + Poisson(2) jobs wait 1 + x each on average, E x(1 + x) / E x = (3 + 11)/3.
    10000 repetitions of 200 pairs: coverage .95, false-fail 1e-6 at .0107 + .01 for the delta
    method. The mean of the ratios, an average over replicas, covers 0 and is rejected."""
    rng = np.random.default_rng(5)
    jobs = 1.0 + rng.poisson(2.0, (200, 10_000))
    waits = jobs * (1.0 + jobs) + rng.normal(size=jobs.shape)
    truth = 14.0 / 3.0
    tolerance = Z * np.sqrt(0.95 * 0.05 / 10_000) + 0.01
    assert abs(coverage(Estimate.from_ratio(waits, jobs), truth) - 0.95) < tolerance
    assert abs(coverage(Estimate.from_samples(waits / jobs), truth) - 0.95) > tolerance


def test_ratio_without_any_job_is_nan():
    estimate = Estimate.from_ratio(np.zeros((3, 1)), np.zeros((3, 1)))
    assert np.isnan(estimate.value).all() and np.isnan(estimate.std_error).all()


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(0.66667, 0.00123, 99), "Estimate(0.6667 +/- 0.0012, dof 99)"),
        (Estimate(123456.7, 250.0, 9), "Estimate(123457 +/- 250, dof 9)"),
        (Estimate(1.5, 0.0, np.inf), "Estimate(1.5 +/- 0, dof inf)"),
        (Estimate(1.5, 0.0, 0), "Estimate(1.5 +/- nan, dof 0)"),
        (Estimate(1.234567e-12, 2.5e-14, 9), "Estimate(1.235e-12 +/- 2.5e-14, dof 9)"),
        (Estimate([1.0, 2.0], 0.5, 3), "Estimate([1.00 +/- 0.50, 2.00 +/- 0.50], shape (2,))"),
    ],
)
def test_shown_digits_are_those_the_error_supports(estimate, shown):
    assert repr(estimate) == shown


def test_stopping_rule_waits_for_narrow_intervals_of_every_entry():
    rule = RelativeHalfWidth(0.1, level=0.95)
    # Half-widths at 1000 degrees of freedom: 1.962 standard errors; the bound is 1/11 of the value.
    assert rule.met(Estimate([10.0, -10.0], [0.46, 0.46], 1000))
    assert not rule.met(Estimate([10.0, 10.0], [0.46, 0.47], 1000))
    assert not rule.met(Estimate(10.0, 0.01, 8)) and rule.met(Estimate(10.0, 0.01, 9))
    assert not rule.met(Estimate(0.0, 0.0, 1000))
    assert not rule.met(Estimate(1.0, 0.0, 0))
    assert not rule.met(Estimate(np.nan, np.nan, 1000))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Estimate([1.0, 2.0], [1.0], 1), ValueError, "std_error must have the shape"),
        (lambda: Estimate(1.0, -1.0, 1), ValueError, "std_error must not be negative, got -1"),
        (lambda: Estimate("a", 1.0, 1), ValueError, "value must hold real numbers"),
        (lambda: Estimate(1j, 1.0, 1), ValueError, "value must hold real numbers"),
        (lambda: Estimate.from_samples([]), ValueError, "at least one sample"),
        (lambda: Estimate.from_samples(1.0), ValueError, "axis must be an axis of samples"),
        (lambda: Estimate.from_samples([1.0], axis=1), ValueError, "axis must be an axis"),
        (lambda: Estimate.pooled([1.0], [1.0, 2.0], 1), ValueError, "std_errors must have"),
        (lambda: Estimate.from_ratio([1.0], [1.0, 2.0]), ValueError, "denominators must have"),
        (lambda: Estimate(1.0, 1.0, 1).interval(95), ValueError, "level must lie .* got 95"),
        (lambda: Estimate(1.0, 1.0, 1).interval(UNCHECKED), ValueError, "level must be a number"),
        (lambda: RelativeHalfWidth(0.0), ValueError, "target must lie"),
        (lambda: RelativeHalfWidth(0.1, level=1.0), ValueError, "level must lie"),
        (lambda: RelativeHalfWidth(0.1, min_dof=0), ValueError, "min_dof must be at least 1"),
        (lambda: RelativeHalfWidth(0.1).met(UNCHECKED), ValueError, "must be an Estimate"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()
