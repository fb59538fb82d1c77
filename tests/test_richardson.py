"""Extrapolation to step 0 on coupled runs, and its own account of its error."""

import numpy as np
import pytest

import atlas

from .problems import TABLE_MODEL

MEAN = atlas.stationary_gaps(TABLE_MODEL).mean


def extrapolate(scheme, **options):
    return atlas.richardson(TABLE_MODEL, scheme, horizon=4.0, replicas=40_000, key=0, **options)


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
