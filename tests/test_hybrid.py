"""Drifts by name and by rank: the mixture over orders, and particles that keep their names."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import atlas

from .problems import gap_bias, gap_means_of_hybrid

MODEL = atlas.hybrid_atlas([1.0, 0.0, -1.0], [0.25, -0.15, 0.1], np.ones(3))


def known_law() -> atlas.ExponentialMixture:
    law = atlas.stationary_gaps(MODEL)
    assert isinstance(law, atlas.ExponentialMixture)
    return law


LAW = known_law()
SCHEME = atlas.Splitting(step=0.02)


def test_the_mixture_is_that_of_the_formula():
    np.testing.assert_allclose(
        LAW.mean, gap_means_of_hybrid(MODEL.drifts, MODEL.name_drifts, MODEL.variances)
    )
    assert LAW.order_probs.sum() == pytest.approx(1)
    np.testing.assert_allclose(LAW.rank_probs.sum(axis=0), 1)
    np.testing.assert_allclose(LAW.rank_probs.sum(axis=1), 1)
    # The name with the higher drift is the highest more often.
    assert LAW.rank_probs[0, 2] > LAW.rank_probs[2, 2] > LAW.rank_probs[1, 2]


def test_equal_names_leave_the_product_law():
    same = atlas.stationary_gaps(atlas.hybrid_atlas([1.0, 0, -1], np.full(3, 0.7), np.ones(3)))
    alone = atlas.stationary_gaps(atlas.first_order([1.0, 0, -1], np.ones(3)))
    assert isinstance(same, atlas.ExponentialMixture)
    np.testing.assert_allclose(same.order_probs, 1 / 6)
    np.testing.assert_allclose(same.mean, alone.mean)
    np.testing.assert_allclose(same.std, alone.std)
    x = np.array([[0.3, 1.2], [0.0, 4.0]])
    np.testing.assert_allclose(same.log_prob(x), alone.log_prob(x))
    np.testing.assert_allclose(same.quantile([0.2, 0.9]), alone.quantile([0.2, 0.9]))


@pytest.mark.slow
def test_functions_of_the_mixture_fit_together():
    probs = np.array([[0.05], [0.5], [0.99]])
    np.testing.assert_allclose(LAW.cdf(LAW.quantile(probs)), np.broadcast_to(probs, (3, 2)))
    np.testing.assert_allclose(LAW.cdf(0.4) + LAW.survival(0.4), 1)
    assert np.isinf(LAW.quantile(1.0)).all() and LAW.log_prob([-1.0, 1.0]) == -np.inf
    grid = np.linspace(0, 30, 1500)
    both = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    density = np.exp(LAW.log_prob(both))
    mass = np.trapezoid(np.trapezoid(density, grid, axis=1), grid)
    assert mass == pytest.approx(1, abs=1e-3)


def test_samples_follow_the_joint_law_of_gaps_and_order():
    """2e5 draws; chi-square of the six orders with p > 1e-6, means with z = 4.9 (1e-6), detecting
    1.1 %; orders all alike are rejected."""
    gaps, orders = LAW.sample_ordered(3, 200_000)
    np.testing.assert_array_equal(LAW.sample(3, 50), gaps[:50])
    index = np.argmax(np.all(orders[:, None] == LAW.orders, axis=2), axis=1)
    counts = np.bincount(index, minlength=6)
    assert stats.chisquare(counts, LAW.order_probs * len(orders)).pvalue > 1e-6
    assert stats.chisquare(counts).pvalue < 1e-6
    error = LAW.std / np.sqrt(len(gaps))
    assert np.all(np.abs(gaps.mean(0) - LAW.mean) < 4.9 * error)
    for k in range(6):
        chosen = gaps[index == k]
        score = (chosen.mean(0) * LAW.rates[k] - 1) * np.sqrt(len(chosen))
        assert np.all(np.abs(score) < 4.9)


@pytest.mark.parametrize(("scheme", "bias"), [(SCHEME, 0.01), (atlas.HeunBridge(step=0.05), 0.02)])
def test_orders_and_gaps_stay_in_law(scheme, bias):
    """P(order p) of 2e4 replicas after t = 3 from the law: chi-square, p > 1e-6; equal orders are
    rejected. Mean gaps within the bias and z = 4.9."""
    solution = atlas.simulate(MODEL, scheme, times=[0.0, 3.0], replicas=20_000, key=1, names=True)
    names = solution.names_ranked
    assert np.all(np.sort(names, axis=-1) == np.arange(3))
    for t in range(2):
        index = np.argmax(np.all(names[t][:, None] == LAW.orders, axis=2), axis=1)
        counts = np.bincount(index, minlength=6)
        assert stats.chisquare(counts, LAW.order_probs * len(index)).pvalue > 1e-6
        assert stats.chisquare(counts).pvalue < 1e-6
    assert np.mean(np.any(names[0] != names[1], axis=1)) > 0.5
    gaps = solution.estimate("gaps")[1]
    assert np.all(np.abs(gaps.value - LAW.mean) < bias * LAW.mean + 4.9 * gaps.std_error)


@pytest.mark.slow
def test_a_floor_and_equal_variances_have_a_mixture_too():
    """Reversible, so its density is exp((2/sigma^2) sum (g_k x_(k) + gamma_i x_i)). 1e5 replicas,
    z = 4.9 (1e-6) and 2 % of bias; the product without name drifts is rejected."""
    rank_drifts, name_drifts = [0.5, -0.2, -1.3], [0.2, -0.3, 0.1]
    model = atlas.RankDiffusion(rank_drifts, np.full(3, 2.0), True, name_drifts=name_drifts)
    expected = gap_means_of_hybrid(rank_drifts, name_drifts, np.full(3, 2.0), floor=True)
    np.testing.assert_allclose(atlas.stationary_gaps(model).mean, expected)
    bias, error = gap_bias(model, SCHEME, 60_000, horizon=2.0)
    assert np.all(np.abs(bias) < 0.02 + 4.9 * error)
    alone = atlas.stationary_gaps(atlas.RankDiffusion(rank_drifts, np.full(3, 2.0)))
    assert np.any(np.abs((bias + 1) * expected / alone.mean - 1) > 0.02 + 4.9 * error)


class TestNames:
    def run(self, **changes: Any):
        options: dict[str, Any] = dict(
            times=[0.0, 0.5], replicas=60, key=0, names=True, initial=[5.0, 1.0, 3.0]
        )
        return atlas.simulate(MODEL, SCHEME, **(options | changes))

    def test_positions_are_given_by_name(self):
        solution = self.run()
        assert np.all(solution.ranked[0] == [1, 3, 5])
        assert np.all(solution.names_ranked[0] == [1, 2, 0])
        assert solution.to_xarray()["names_ranked"].dims == ("time", "replica", "rank")

    def test_a_replica_is_the_same_in_any_batch(self):
        for initial in ([5.0, 1.0, 3.0], "stationary"):
            whole = self.run(initial=initial)
            part = self.run(initial=initial, replicas=7)
            np.testing.assert_array_equal(part.ranked, whole.ranked[:, :7])
            np.testing.assert_array_equal(part.names_ranked, whole.names_ranked[:, :7])

    def test_far_apart_every_name_drifts_by_itself(self):
        """At distance 100 nothing meets: mean displacement g_rank + gamma_name, 2e4 replicas,
        z = 4.9 (1e-6); drifts swapped between names are rejected."""
        solution = self.run(initial=[100.0, 300.0, 200.0], replicas=20_000)
        moved = (solution.ranked[1] - solution.ranked[0]).astype(float)
        names = np.array([0, 2, 1])
        expected = 0.5 * (MODEL.drifts + np.array([0.25, -0.15, 0.1])[names])
        error = np.sqrt(0.5 / 20_000)
        assert np.all(np.abs(moved.mean(0) - expected) < 4.9 * error)
        assert np.any(
            np.abs(moved.mean(0) - 0.5 * (MODEL.drifts + MODEL.name_drifts)) > 4.9 * error
        )

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (dict(keep="moments"), "names have no mean"),
            (dict(names=1), "names = 1 must be True or False"),
            (dict(regulators=True), "is not there for a model with name"),
            (dict(initial=[1.0, np.nan, 2.0]), "initial is nan"),
            (dict(observe={"names_ranked": len}), "the name 'names_ranked'"),
        ],
    )
    def test_bad_arguments_are_named(self, changes, message):
        with pytest.raises(ValueError, match=message):
            self.run(**changes)

    def test_exchangeable_particles_have_no_names(self):
        with pytest.raises(ValueError, match="exchangeable and not told apart"):
            atlas.simulate(
                atlas.atlas_model(3, 1.0), SCHEME, horizon=1.0, replicas=2, key=0, names=True
            )
