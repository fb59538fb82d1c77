"""Stationary densities of up to three gaps: product laws, wrong references, and simulation."""

import numpy as np
import pytest

import atlas

SKEW = [
    atlas.RankDiffusion([-1.0], [2.0]),
    atlas.reflected_atlas(2, 2.0, 1.0),
    atlas.reflected_atlas(3, 2.0, 1.0),
    atlas.first_order([1.0, 0.2, -1.0], [1.0, 2.0, 3.0]),
    atlas.asymmetric_collisions([1, 0, 0, -1], np.ones(4), [0.3] * 3, [0.7] * 3),
]


@pytest.mark.parametrize("model", SKEW)
def test_product_laws_are_exact(model):
    law = atlas.stationary_gaps(model)
    density = atlas.stationary_density(model, degree=6)
    np.testing.assert_allclose(density.mean, law.mean, rtol=1e-9)
    np.testing.assert_allclose(density.std, law.std, rtol=1e-9)
    assert np.all(density.mean_error < 1e-8)
    points = np.random.default_rng(0).exponential(size=(20, law.num_gaps))
    np.testing.assert_allclose(density.density(points), np.exp(law.log_prob(points)), rtol=1e-7)


@pytest.mark.parametrize(("model", "accuracy"), [(SKEW[1], 1e-3), (SKEW[3], 1e-3), (SKEW[2], 0.01)])
def test_from_a_wrong_reference_it_converges_to_the_product(model, accuracy):
    """Nothing of the answer is put in; the estimated error covers the true one (times three), and
    the reference's own means are rejected."""
    law = atlas.stationary_gaps(model)
    wrong = law.rates * np.array([1.3, 0.8, 1.2])[: law.num_gaps]
    density = atlas.stationary_density(model, rates=wrong)
    error = np.abs(density.mean - law.mean)
    assert np.all(error < accuracy * law.mean)
    assert np.all(error < 3 * density.mean_error + 1e-4)
    assert np.all(np.abs(1 / wrong - law.mean) > 10 * accuracy * law.mean)
    # More is better: a third of the degree is farther off.
    rough = atlas.stationary_density(model, rates=wrong, degree=4)
    assert np.sum(np.abs(rough.mean - law.mean)) > np.sum(error)
    two_thirds = atlas.stationary_density(model, rates=wrong, degree=2 * density.degree // 3)
    np.testing.assert_allclose(density.mean_error, np.abs(density.mean - two_thirds.mean))
    np.testing.assert_allclose(density.std_error, np.abs(density.std - two_thirds.std))


def test_the_other_moments_satisfy_the_generator():
    """Oracle: E G f = 0 for f(z) = z_0^2 - z_1^2 + ... is not linear in what the means fix. With a
    floor, f = sum x^2 of the positions: sum_k delta_k E X_(k) = -(1/2) sum sigma_k^2."""
    model = atlas.first_order([1.0, 0.0, -3.0], [1.0, 2.0, 4.0], floor=True)
    density = atlas.stationary_density(model)
    ranked_mean = np.cumsum(density.mean)
    defect = model.drifts @ ranked_mean + model.variances.sum() / 2
    assert abs(defect) < 0.01
    # With faces weighted by no rates of pushes the error of two gaps is larger by far.
    assert np.all(density.mean_error < 0.006 * density.mean)
    assert density.expectation(lambda z: np.ones(len(z))) == pytest.approx(1)
    first = density.expectation(lambda z: z[:, 0])
    assert first == pytest.approx(density.mean[0])


def test_two_equal_outer_variances_are_symmetric():
    model = atlas.first_order([1.0, 0.0, -1.0], [1.0, 3.0, 1.0])
    density = atlas.stationary_density(model)
    np.testing.assert_allclose(density.mean[0], density.mean[1], rtol=1e-6)
    points = np.array([[0.3, 1.1], [2.0, 0.1]])
    np.testing.assert_allclose(density.density(points), density.density(points[:, ::-1]), rtol=1e-4)
    assert density.density([-0.1, 1.0]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "scheme"),
    [
        (atlas.first_order([1.0, 0.0, -1.0], [1.0, 1.0, 4.0]), atlas.BridgeEuler(step=0.04)),
        pytest.param(
            atlas.first_order([1.0, 0.0, -3.0], [1.0, 2.0, 4.0], floor=True),
            atlas.BridgeEuler(step=0.04),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_without_skew_symmetry_it_is_what_simulation_finds(model, scheme):
    """Oracle: means of gaps extrapolated to step 0, 2e4 replicas after t = 10: z = 4.9 (1e-6) with
    both error estimates; detects 5 %. The product formula without its condition is rejected."""
    with pytest.raises(ValueError, match="skew symmetry"):
        atlas.stationary_gaps(model)
    density = atlas.stationary_density(model)
    start = np.cumsum(density.mean) if model.floor else np.cumsum([0, *density.mean])
    result = atlas.richardson(model, scheme, horizon=10.0, initial=start, replicas=20_000, key=0)
    allowed = 4.9 * result.estimate.std_error[0] + result.bias_bound[0] + density.mean_error

    def is_rejected(mean):
        return np.any(np.abs(result.estimate.value[0] - mean) > allowed)

    assert not is_rejected(density.mean)
    process = atlas.GapProcess.from_model(model)
    assert is_rejected(process.covariance.diagonal() / (2 * process.regulator_rates()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: atlas.stationary_density(atlas.reflected_atlas(4, 2.0, 1.0)), "model has 4 gaps"),
        (lambda: atlas.stationary_density(atlas.first_order([-1, 1], [1, 1])), "unstable"),
        (
            lambda: atlas.stationary_density(atlas.hybrid_atlas([1, -1], [0, 0.1], [1, 1])),
            "pass a permutation",
        ),
        (lambda: atlas.stationary_density(SKEW[1], degree=1), "degree = 1 is too small"),
        (lambda: atlas.stationary_density(SKEW[1], rates=[1.0]), "rates has 1 values; pass 2"),
        (lambda: atlas.stationary_density(SKEW[1], rates=[1.0, -1.0]), "must be positive"),
        (
            lambda: atlas.stationary_density(SKEW[1], degree=3).density([1.0]),
            "must hold 2 gaps",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
