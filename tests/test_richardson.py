"""Extrapolation to step 0 on coupled runs, and its own account of its error."""

import numpy as np
import pytest

import atlas

from .problems import TABLE_MODEL

LOUD_ABOVE = atlas.first_order([1.0, -3.0], [1.0, 3.0], floor=True)

MEAN = atlas.stationary_gaps(TABLE_MODEL).mean


def extrapolate(scheme, **options):
    return atlas.richardson(TABLE_MODEL, scheme, horizon=4.0, replicas=40_000, key=0, **options)


@pytest.mark.parametrize(
    ("model", "scheme", "given", "order"),
    [
        (TABLE_MODEL, atlas.BridgeEuler(step=0.4), None, 1.0),
        (TABLE_MODEL, atlas.BridgeEuler(step=0.4), 2.0, 2.0),
        (LOUD_ABOVE, atlas.CollisionBridge(step=0.4), None, 0.75),
    ],
)
def test_means_with_a_bias_of_two_powers_are_extrapolated_by_the_formula(
    model, scheme, given, order, monkeypatch
):
    """Means 2 + 3 h^p + h^3 in each replica, beside its own shift: exact. With the bias h^p alone
    nothing remains, and all runs have one key and the noise of the shortest step."""
    shift = np.random.default_rng(0).normal(size=(1, 50, 2))
    rest, runs = 1.0, []

    class Run:
        def __init__(self, step):
            self.step = step

        def values(self, quantity):
            assert quantity == "ranked"
            return 2 + shift + 3 * self.step**order + rest * self.step**3

    def simulate(model, scheme, *, key, noise_step, **options):
        runs.append((key, noise_step))
        return Run(scheme.step)

    monkeypatch.setattr("atlas._richardson.simulate", simulate)
    options: dict = dict(quantity="ranked", order=given, horizon=0.4, replicas=50, key=5)
    found = atlas.richardson(model, scheme, **options)
    assert found.order == pytest.approx(order) and found.steps == (0.4, 0.2, 0.1)
    assert len(set(runs)) == 1 and runs[0][1] == 0.1
    weight = 1 / (2**order - 1)
    mean = 2 + shift.mean(axis=1)
    # What h^3 leaves of the two extrapolations.
    long, short = (h**3 + weight * (h**3 - (2 * h) ** 3) for h in (0.2, 0.1))
    np.testing.assert_allclose(found.estimate.value, mean + short)
    np.testing.assert_allclose(found.remaining.value, np.full((1, 2), short - long))
    np.testing.assert_allclose(found.correction.value, found.estimate.value - found.runs[2].value)
    np.testing.assert_allclose(found.runs[0].value, mean + 3 * 0.4**order + 0.4**3)
    error = found.estimate.std_error
    np.testing.assert_allclose(error, shift.std(axis=1, ddof=1) / np.sqrt(50))
    rest = 0.0
    found = atlas.richardson(model, scheme, **options)
    np.testing.assert_allclose(found.remaining.value, 0, atol=1e-12)
    np.testing.assert_allclose(found.estimate.value, 2 + shift.mean(axis=1))


def test_the_bias_is_bounded_with_two_errors_of_what_remains():
    one = atlas.ensemble.Estimate(np.array([-0.3, 0.1]), np.array([0.02, 0.05]), 9)
    found = atlas.Extrapolation(one, one, one, (one, one, one), (0.4, 0.2, 0.1), 1.0)
    np.testing.assert_allclose(found.bias_bound, [0.34, 0.2])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [atlas.Splitting(step=0.2), atlas.BridgeEuler(step=0.2)])
def test_the_bias_is_gone_and_the_error_covers_it(scheme):
    """Oracle: the product law. 4e4 replicas: z = 4.9 (1e-6) plus the estimated remaining bias, at
    most 4 % of the mean; the run at the longest step is rejected by the same bound."""
    result = extrapolate(scheme)
    assert result.order == type(scheme).order
    assert result.steps == (0.2, 0.1, 0.05)
    bound = result.bias_bound[0] + 4.9 * result.estimate.std_error[0]
    assert np.all(np.abs(result.estimate.value[0] - MEAN) < bound)
    assert np.all(result.bias_bound[0] < 0.04 * MEAN)
    assert np.any(np.abs(result.runs[0].value[0] - MEAN) > bound)
    # Coupling: the correction is known far better than the means themselves.
    assert np.all(result.correction.std_error < 0.35 * result.estimate.std_error)
    finest = result.runs[2].value + result.correction.value
    np.testing.assert_allclose(result.estimate.value, finest)


@pytest.mark.slow
def test_a_wrong_exponent_leaves_more():
    """Exponent 3 for BridgeEuler hardly corrects: remaining tells, by more than ten errors."""
    right = extrapolate(atlas.BridgeEuler(step=0.2))
    wrong = extrapolate(atlas.BridgeEuler(step=0.2), order=3.0)
    gap = 3
    assert abs(wrong.remaining.value[0, gap]) > 10 * wrong.remaining.std_error[0, gap]
    assert abs(wrong.remaining.value[0, gap]) > 3 * abs(right.remaining.value[0, gap])


@pytest.mark.slow
def test_ranked_means_at_several_times():
    result = atlas.richardson(
        TABLE_MODEL, atlas.BridgeEuler(step=0.2), times=[0.2, 1.0], replicas=50, key=0,
        quantity="ranked", num_ranks=2,
    )  # fmt: skip
    assert result.estimate.shape == (2, 2)
    again = atlas.richardson(
        TABLE_MODEL, atlas.BridgeEuler(step=0.2), times=[0.2, 1.0], replicas=50, key=0,
        quantity="ranked", num_ranks=2, chunk=7,
    )  # fmt: skip
    np.testing.assert_array_equal(result.estimate.value, again.estimate.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(quantity="gap"), "quantity = 'gap' is unknown"),
        (dict(order=0), "order = 0 must be positive"),
        (dict(horizon=0.3), "multiples of the step"),
    ],
)
def test_bad_arguments_are_named(changes, message):
    options = dict(horizon=0.4, replicas=2, key=0) | changes
    with pytest.raises(ValueError, match=message):
        atlas.richardson(TABLE_MODEL, atlas.BridgeEuler(step=0.2), **options)
