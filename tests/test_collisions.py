"""Asymmetric collisions and rank variances: pushes of all gaps solved together."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._noise import from_slots, to_slots
from atlas._problem import Problem
from atlas._scheme._collision_bridge import _least_push
from atlas._skorokhod import least_push

from .problems import ASYMMETRIC

Q_MINUS = np.array([0.2, 0.6, 0.35, 0.5])


@pytest.mark.parametrize("floor", [True, False])
def test_pushes_solve_the_complementarity_problem(floor):
    """Oracle: the least push of the dense problem, 300 random cases."""
    model = atlas.RankDiffusion(np.zeros(5), np.ones(5), floor, q_minus=Q_MINUS, q_plus=1 - Q_MINUS)
    problem = Problem.from_model(model, np.dtype("float32"), True)
    least = np.random.default_rng(0).normal(size=(5, 1, 300)).astype(np.float32)
    slots = problem.fill_empty_slots(to_slots(jnp.asarray(least)), 1e30)
    if not floor:
        slots = slots.at[0, 0].set(1e30)
    push = np.asarray(from_slots(_least_push(problem, slots), 5))[:, 0].T
    reflection = atlas.GapProcess.from_model(model).reflection.toarray()
    gaps = least[:, 0].T if floor else least[1:, 0].T
    expected = least_push(gaps.astype(float), reflection)
    np.testing.assert_allclose(push if floor else push[:, 1:], expected, atol=2e-5)
    if not floor:
        assert np.all(push[:, 0] == 0)


def test_mass_moves_by_the_shares_of_each_collision():
    """The ranked equations: moved ranks minus drift are noise plus q_plus l_{k-1} - q_minus l_k, so
    with the regulators subtracted the rest has the variance of the noise and no mean. 2e4
    replicas, z = 4.9 (1e-6); symmetric shares leave a mean and are rejected."""
    drifts = np.array([1.0, 0.2, 0.0, -0.4, -0.8])
    model = atlas.asymmetric_collisions(drifts, np.full(5, 1.5), Q_MINUS, 1 - Q_MINUS)
    start = np.array([0.0, 0.3, 0.9, 1.0, 2.0])
    solution = atlas.simulate(
        model,
        atlas.CollisionBridge(step=0.05),
        horizon=1.0,
        initial=start,
        replicas=20_000,
        seed=9,
        regulators=True,
        dtype="float64",
    )
    moved = solution.ranked[0] - start - drifts
    pushes = np.pad(solution.regulators[0], ((0, 0), (1, 1)))
    assert np.all(pushes >= 0)

    def noise(q_minus):
        up, down = np.append(0, 1 - q_minus), np.append(q_minus, 0)
        return moved - up * pushes[:, :-1] + down * pushes[:, 1:]

    rest = noise(Q_MINUS)
    assert np.all(np.abs(rest.mean(0)) < 4.9 * rest.std(0) / np.sqrt(20_000))
    np.testing.assert_allclose(rest.var(0), 1.5, rtol=0.07)
    wrong = noise(np.full(4, 0.5))
    assert np.any(np.abs(wrong.mean(0)) > 4.9 * wrong.std(0) / np.sqrt(20_000))


def test_regulator_rates_are_those_of_the_asymmetric_reflection():
    """Oracle: E l(t) = -R^{-1} (mu t - E z(t) + E z(0)) by summing the ranked equations; 1e4
    replicas, z = 4.9 (1e-6); R of symmetric collisions is rejected."""
    solution = atlas.simulate(
        ASYMMETRIC,
        atlas.CollisionBridge(step=0.05),
        times=[0.0, 6.0],
        replicas=10_000,
        seed=3,
        regulators=True,
        dtype="float64",
    )
    change = (solution.gaps[1] - solution.gaps[0]).mean(0)
    grown = solution.regulators[1].mean(0)
    error = solution.regulators[1].std(0) / np.sqrt(10_000)

    def expected(model):
        process = atlas.GapProcess.from_model(model)
        return -np.linalg.solve(process.reflection.toarray(), 6.0 * process.drift - change)

    assert np.all(np.abs(grown - expected(ASYMMETRIC)) < 4.9 * error)
    symmetric = atlas.first_order(ASYMMETRIC.drifts, ASYMMETRIC.variances)
    assert np.any(np.abs(grown - expected(symmetric)) > 4.9 * error)


@pytest.mark.parametrize(
    ("variances", "floor", "expected"),
    [
        ([1.0, 1.0], True, 0.0),
        ([1.0, 3.0], True, 0.5),
        ([3.0, 1.0], True, -1.0),
        ([1.0, 1.5, 2.0], False, 0.0),
        ([3.0, 1.0, 3.0], False, 0.38341),
        ([1.0, 3.0, 1.0], False, -1.0),
    ],
)
def test_the_singularity_at_a_corner_decides_the_order(variances, floor, expected):
    """Oracle: angles of the wedge, from whitened vectors; 0 for a product law. Below 0, where the
    density vanishes at the corner, the order is 1."""
    drifts = np.linspace(1, -2, len(variances))
    model = atlas.first_order(drifts, variances, floor=floor)
    process = atlas.GapProcess.from_model(model)
    (exponent,) = process.corner_exponents()
    assert exponent == pytest.approx(expected, abs=1e-4)
    assert exponent == pytest.approx(wedge_exponent(process), abs=1e-9)
    order = atlas.CollisionBridge(step=0.1).weak_order(model)
    assert order == pytest.approx(1 - max(expected, 0.0) / 2, abs=1e-4)


def wedge_exponent(process):
    """(theta_1 + theta_2) / xi of two gaps with white noise."""
    whiten = np.linalg.inv(np.linalg.cholesky(process.covariance.toarray()))
    sides = whiten / np.linalg.norm(whiten, axis=0)
    pushes = whiten @ process.reflection.toarray()
    angles = 0.0
    for k in (0, 1):
        along, push = sides[:, 1 - k], pushes[:, k]
        normal = sides[:, k] - (sides[:, k] @ along) * along
        angles += np.arctan2(-push @ along, push @ normal / np.linalg.norm(normal))
    return angles / np.arccos(sides[:, 0] @ sides[:, 1])


def test_the_order_is_that_of_the_worst_corner():
    """At the floor alpha = 1/2, further up the variances are affine; one gap has no corner; other
    schemes have one order for all models."""
    scheme = atlas.CollisionBridge(step=0.1)
    model = atlas.first_order([1, 0, -1.5], [1.0, 3.0, 5.0], floor=True)
    process = atlas.GapProcess.from_model(model)
    np.testing.assert_allclose(process.corner_exponents(), [0.5, 0.0], atol=1e-12)
    assert scheme.weak_order(model) == pytest.approx(0.75)
    assert scheme.weak_order(atlas.first_order([-1], [2], floor=True)) == 1.0
    assert scheme.weak_order(ASYMMETRIC) == 1.0
    assert atlas.BridgeEuler(step=0.1).weak_order(model) == 1.0


@pytest.mark.slow
def test_at_a_floor_and_with_symmetric_collisions_it_tends_to_the_known_law():
    """The limit, apart from the order: extrapolated with exponent 1 from steps .04, .02 and .01,
    2e4 replicas, the bias is below 3 % with z = 4.9 (1e-6); the run at .04 itself is not."""
    model = atlas.first_order([1, 0.3, -0.2, -2], np.full(4, 2.0), floor=True)
    mean = atlas.stationary_gaps(model).mean
    result = atlas.richardson(
        model, atlas.CollisionBridge(step=0.04), horizon=3.0, replicas=20_000, key=0
    )
    error = result.estimate.std_error[0]
    assert np.all(np.abs(result.estimate.value[0] - mean) < 0.03 * mean + 4.9 * error)
    coarse = result.runs[0]
    assert np.any(np.abs(coarse.value[0] - mean) > 0.03 * mean + 4.9 * coarse.std_error[0])


@pytest.mark.slow
def test_a_replica_is_the_same_in_any_batch():
    def run(count, **options: Any):
        return atlas.simulate(
            ASYMMETRIC,
            atlas.CollisionBridge(step=0.1),
            times=[0.33, 1.0],
            replicas=count,
            key=0,
            **options,
        ).ranked

    whole = run(600)
    assert np.all(np.diff(whole, axis=-1) >= 0)
    for count in (1, 7):
        np.testing.assert_array_equal(run(count), whole[:, :count])
    np.testing.assert_array_equal(run(600, chunk=50), whole)


@pytest.mark.parametrize(
    ("model", "scheme", "message"),
    [
        (ASYMMETRIC, atlas.Splitting, "collisions are asymmetric; CollisionBridge can"),
        (ASYMMETRIC, atlas.BridgeEuler, "CollisionBridge can"),
        (ASYMMETRIC, atlas.ProjectedEuler, "CollisionBridge can"),
        (ASYMMETRIC, atlas.HeunBridge, "CollisionBridge can"),
        (
            atlas.hybrid_atlas([1, -1], [0, 0.1], [1, 1]),
            atlas.CollisionBridge,
            "drifts of their own, which ranks do not know; BridgeEuler can",
        ),
        (
            atlas.first_order([1, -1], [1, 2]),
            atlas.Splitting,
            "variances differ between ranks; BridgeEuler can",
        ),
        (atlas.first_order([1, -1], [1, 2]), atlas.HeunBridge, "BridgeEuler can"),
        (atlas.first_order([1, 0, -1], [1, 2, 1]), atlas.Splitting, "variances differ"),
        (
            atlas.asymmetric_collisions([1, 0, -1], np.ones(3), [0.3, 0.7], [0.7, 0.3]),
            atlas.Splitting,
            "CollisionBridge can",
        ),
    ],
)
def test_a_scheme_refuses_what_it_cannot_do_and_names_one_that_can(model, scheme, message):
    with pytest.raises(ValueError, match=f"{scheme.__name__} cannot solve this model: .*{message}"):
        atlas.simulate(model, scheme(step=0.1), horizon=1.0, initial=[0.0] * model.num_particles)
