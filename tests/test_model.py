"""Models, gap processes and laws: closed forms, and refusals that name argument and remedy."""

import numpy as np
import pytest
import scipy.sparse as sparse

import atlas
from atlas.ensemble import resolve_seed


def test_the_three_closures_have_the_drifts_of_the_design():
    stationary = atlas.reflected_atlas(5, 2.0, 1.0)
    assert stationary.drifts.tolist() == [1, 0, 0, 0, -2]
    prelimit = atlas.reflected_atlas(5, 2.0, 1.0, closure="prelimit")
    np.testing.assert_allclose(prelimit.drifts, [0.6, -0.4, -0.4, -0.4, -0.4])
    assert atlas.reflected_atlas(5, 2.0, 1.0, closure="free").drifts.tolist() == [1, 0, 0, 0, 0]
    assert atlas.reflected_atlas(1, 2.0, 1.0).drifts.tolist() == [-1]
    assert np.all(stationary.variances == 2) and stationary.floor


def test_models_are_values_that_cannot_be_changed():
    model = atlas.reflected_atlas(3, 2.0, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        model.drifts[0] = 5
    with pytest.raises(AttributeError):
        setattr(model, "floor", False)  # noqa: B010


@pytest.mark.parametrize("num_particles", [1, 2, 3, 10, 257])
@pytest.mark.parametrize(("a", "b"), [(2.0, 1.0), (1.3, 0.0), (5.0, 4.99)])
def test_stationary_gap_rates_of_the_closures(num_particles, a, b):
    """lambda_1 = a - b, then a (stationary) or a (N-k+1)/N (prelimit)."""
    stationary = atlas.stationary_gaps(atlas.reflected_atlas(num_particles, a, b))
    expected = np.full(num_particles, a)
    expected[0] -= b
    np.testing.assert_allclose(stationary.rates, expected, rtol=1e-9)
    prelimit = atlas.stationary_gaps(atlas.reflected_atlas(num_particles, a, b, "prelimit"))
    expected = a * np.arange(num_particles, 0, -1) / num_particles
    expected[0] -= b
    np.testing.assert_allclose(prelimit.rates, expected, rtol=1e-8)
    free = atlas.stationary_gaps(atlas.reflected_atlas(num_particles, a, b, "free"))
    np.testing.assert_allclose(free.rates, stationary.rates, rtol=1e-9)


def test_rates_with_a_floor_are_the_sums_of_drifts_from_above():
    drifts, variance = np.array([0.7, 0.2, -0.4, 0.1, -1.5]), 1.7
    law = atlas.stationary_gaps(atlas.RankDiffusion(drifts, np.full(5, variance)))
    np.testing.assert_allclose(law.rates, -(2 / variance) * np.cumsum(drifts[::-1])[::-1])


def test_rates_without_a_floor_are_those_of_the_atlas_model():
    """N = 4, drift 1 on the lowest, sigma 1: means 2/3, 1, 2; and variances affine in the rank."""
    law = atlas.stationary_gaps(atlas.RankDiffusion([1, 0, 0, 0], np.ones(4), floor=False))
    np.testing.assert_allclose(law.mean, [2 / 3, 1, 2])
    drifts, variances = np.array([1.0, 0.3, -0.2, -1.4]), 1 + 0.5 * np.arange(4)
    law = atlas.stationary_gaps(atlas.RankDiffusion(drifts, variances, floor=False))
    centred = np.cumsum(drifts - drifts.mean())[:-1]
    np.testing.assert_allclose(law.rates, 4 * centred / (variances[:-1] + variances[1:]))


def test_a_million_gaps_are_no_dense_matrix():
    law = atlas.stationary_gaps(atlas.reflected_atlas(10**6, 2.0, 1.0, "prelimit"))
    np.testing.assert_allclose(law.rates[[0, 1, -1]], [1, 2 * (1 - 1e-6), 2e-6], rtol=1e-5)


def test_regulator_rates_balance_the_drift():
    process = atlas.GapProcess.from_model(atlas.reflected_atlas(4, 2.0, 1.0))
    np.testing.assert_allclose(process.regulator_rates(), [1, 4, 4, 4])
    np.testing.assert_allclose(process.reflection @ process.regulator_rates(), -process.drift)
    np.testing.assert_allclose(
        process.reflection.toarray(),
        [[1, -0.5, 0, 0], [-1, 1, -0.5, 0], [0, -0.5, 1, -0.5], [0, 0, -0.5, 1]],
    )


@pytest.mark.parametrize("floor", [True, False])
def test_gap_covariance_is_that_of_the_free_motion(floor):
    """Oracle: the linear map from ranked particles to gaps."""
    variances = np.array([1.0, 2.0, 0.5, 3.0])
    model = atlas.RankDiffusion([1, 0, 0, -2], variances, floor=floor)
    to_gaps = np.eye(4) - np.eye(4, k=-1)
    if not floor:
        to_gaps = to_gaps[1:]
    process = atlas.GapProcess.from_model(model)
    expected = to_gaps @ np.diag(variances) @ to_gaps.T
    np.testing.assert_allclose(process.covariance.toarray(), expected)
    np.testing.assert_allclose(process.drift, to_gaps @ model.drifts)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (atlas.RankDiffusion([1.0, 1.0], [2.0, 2.0]), r"unstable: \(-R\^-1 drift\)\[0\]"),
        (atlas.RankDiffusion([1.0, -1.0], [2.0, 2.0]), "unstable"),
        (atlas.RankDiffusion([0.0, 1.0], [1.0, 1.0], floor=False), "unstable"),
        (atlas.RankDiffusion([1.0, -3.0], [2.0, 1.0]), "skew symmetry .* is violated by"),
        (atlas.RankDiffusion([1, 0, -1], [1, 2, 1], floor=False), "affine in the rank"),
        (atlas.RankDiffusion([0.0], [1.0], floor=False), "no gaps"),
        (atlas.reflected_atlas(4, 1.0, 2.0, "free"), "b = 2.0 must be below a = 1.0"),
    ],
)
def test_a_law_that_does_not_exist_names_the_violated_condition(model, message):
    with pytest.raises(ValueError, match=message):
        atlas.stationary_gaps(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2.0, 1.0), "num_particles = 0 is too small"),
        ((2.5, 2.0, 1.0), "num_particles = 2.5 must be a whole number"),
        ((True, 2.0, 1.0), "num_particles = True"),
        ((2**40, 2.0, 1.0), "too large"),
        ((4, 1.0, 2.0), "b = 2.0 must be below a = 1.0"),
        ((4, 2.0, 2.0), "must be below"),
        ((4, 2.0, -1.0), "b = -1.0 must not be negative"),
        ((4, -2.0, 1.0), "a = -2.0 must be positive"),
        ((4, np.inf, 1.0), "a = inf is not a finite number"),
        ((4, 2.0, np.nan), "b = nan"),
        ((4, "2", 1.0), "a = '2' is not a real number"),
        ((4, 2.0, 1.0, "exact"), "closure = 'exact' is unknown; pass one of 'stationary'"),
    ],
)
def test_bad_parameters_of_the_reflected_atlas_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        atlas.reflected_atlas(*arguments)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([], []), "drifts has shape"),
        (([[1.0]], [2.0]), r"drifts has shape \(1, 1\)"),
        (([1.0, np.nan], [2.0, 2.0]), r"drifts\[1\] = nan"),
        (([1.0, 2.0], [2.0]), "variances has 1 values; pass 2"),
        (([1.0], [0.0]), r"variances\[0\] = 0.0 must be positive"),
        (([1.0], ["x"]), "is not an array of numbers"),
        (([1.0], [1.0], "yes"), "floor = 'yes' must be True or False"),
    ],
)
def test_bad_rank_diffusions_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        atlas.RankDiffusion(*fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([0.0, 0.0], np.eye(3), np.eye(2)), r"covariance has shape \(3, 3\)"),
        (([0.0, 0.0], [[1, 0.5], [0, 1]], np.eye(2)), "not symmetric"),
        (([0.0, 0.0], np.eye(2), 2 * np.eye(2)), "unit diagonal"),
        (([0.0, np.inf], np.eye(2), np.eye(2)), "not finite"),
        (([0.0, 0.0], np.diag([1, 0]), np.eye(2)), "needs noise"),
    ],
)
def test_bad_gap_processes_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        atlas.GapProcess(*fields)


def test_a_reflection_that_is_no_m_matrix_has_no_stable_law():
    singular = atlas.GapProcess([-1.0, -1.0], np.eye(2), [[1, -1], [-1, 1]])
    assert not singular.is_m_matrix()
    with pytest.raises(ValueError, match="singular"):
        singular.check_stable()
    positive = atlas.GapProcess([-1.0, -1.0], np.eye(2), sparse.csc_array([[1, 0.5], [0, 1]]))
    assert not positive.is_m_matrix()


class TestProductExponential:
    law = atlas.ProductExponential([1.0, 2.0, 4.0])

    def test_moments_and_functions_are_those_of_exponentials(self):
        np.testing.assert_allclose(self.law.mean, [1, 0.5, 0.25])
        np.testing.assert_allclose(self.law.std, self.law.mean)
        x = np.array([[0.1, 0.2, 0.3], [1, 1, 1]])
        np.testing.assert_allclose(self.law.cdf(x), 1 - np.exp(-x * [1, 2, 4]))
        np.testing.assert_allclose(self.law.survival(x), np.exp(-x * [1, 2, 4]))
        np.testing.assert_allclose(self.law.log_prob(x), np.log(8) - x @ [1, 2, 4])
        np.testing.assert_allclose(self.law.quantile(0.5), np.log(2) / np.array([1, 2, 4]))
        np.testing.assert_allclose(self.law.cdf(self.law.quantile(0.7)), 0.7)

    def test_outside_the_orthant_there_is_nothing(self):
        assert self.law.cdf(-1.0).tolist() == [0, 0, 0]
        assert self.law.survival(-1.0).tolist() == [1, 1, 1]
        assert self.law.log_prob([1.0, -1e-9, 1.0]) == -np.inf
        assert np.isinf(self.law.quantile(1.0)).all()

    def test_samples_follow_the_joint_law(self):
        """Oracle: means, covariances of independent exponentials. 4e5 draws; z = 4.9 (1e-6 each),
        detecting 0.8 % of a mean; a law with rates 2 % higher is rejected."""
        draws = self.law.sample(5, (400_000,))
        assert draws.shape == (400_000, 3) and draws.dtype == np.float64 and draws.min() > 0
        scores = lambda rates: (draws.mean(0) * rates - 1) * np.sqrt(400_000)  # noqa: E731
        assert np.all(np.abs(scores(self.law.rates)) < 4.9)
        assert np.all(np.abs(scores(1.02 * self.law.rates)) > 4.9)
        correlation = np.corrcoef(draws.T) - np.eye(3)
        assert np.max(np.abs(correlation)) < 4.9 / np.sqrt(400_000)
        assert np.max(draws * self.law.rates) > 11

    def test_samples_belong_to_key_and_index(self):
        np.testing.assert_array_equal(self.law.sample(1, 10)[:4], self.law.sample(1, 4))
        assert np.all(self.law.sample(1, 4) != self.law.sample(2, 4))
        of_replicas = self.law.sample_replicas(resolve_seed(1).words, np.array([3, 7]))
        np.testing.assert_array_equal(of_replicas, self.law.sample(1, 10)[[3, 7]])
        assert self.law.sample(1).shape == (3,)
        assert self.law.sample(1, (2, 5)).shape == (2, 5, 3)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda law: atlas.ProductExponential([1.0, 0.0]), r"rates\[1\] = 0.0 must be"),
            (lambda law: atlas.ProductExponential([]), "rates has shape"),
            (lambda law: law.quantile(1.5), "prob = 1.5 must lie in"),
            (lambda law: law.log_prob([1.0]), "must hold 3 gaps"),
        ],
    )
    def test_bad_arguments_are_refused(self, call, message):
        with pytest.raises(ValueError, match=message):
            call(self.law)
