"""Arbitrary rank drifts: sorting in slots, isotonic regression, and the scheme that they make."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._drift_flow import drift_flow
from atlas._isotonic import pool_adjacent_violators
from atlas._noise import from_slots, to_slots
from atlas._problem import Problem
from atlas._ranked_slots import sort_slots

from .problems import GENERAL, gap_bias
from .test_drift_flow import isotonic


@eqx.filter_jit
def _sorted_flow(problem, positions, length):
    return problem.unpack(problem.sort(drift_flow(problem, positions, length)))


def run_flow(model, columns, length):
    """`columns`: (rank, replica) in ascending order; returns the same after the flow."""
    problem = Problem.from_model(model, np.dtype("float32"), True)
    positions = problem.pack(jnp.asarray(columns[:, None, :], jnp.float32))
    return np.asarray(_sorted_flow(problem, positions, jnp.float32(length)))[:, 0, :]


def event_driven_flow(ranked, drifts, length, floor):
    """Oracle by another route: blocks move with their mean drift from meeting to meeting."""
    blocks = [[float(x), float(d), 1] for x, d in zip(ranked, drifts, strict=True)]
    time = 0.0
    while True:
        joined = True
        while joined:
            joined = False
            for i in range(len(blocks) - 1):
                (x, v, n), (y, w, m) = blocks[i], blocks[i + 1]
                if y - x <= 1e-12 and v >= w:
                    blocks[i : i + 2] = [[x, (n * v + m * w) / (n + m), n + m]]
                    joined = True
                    break
        if floor and blocks[0][0] <= 1e-12:
            blocks[0][0] = 0.0
            # What is at the floor stays unless it leaves, and those that rise leave one by one.
            blocks[0][1] = max(blocks[0][1], 0.0)
        gaps = [
            (blocks[i + 1][0] - blocks[i][0]) / (blocks[i][1] - blocks[i + 1][1])
            for i in range(len(blocks) - 1)
            if blocks[i][1] > blocks[i + 1][1]
        ]
        if floor and blocks[0][1] < 0:
            gaps.append(-blocks[0][0] / blocks[0][1])
        wait = min([*gaps, length - time])
        blocks = [[x + v * wait, v, n] for x, v, n in blocks]
        time += wait
        if time >= length - 1e-15:
            return np.concatenate([np.full(n, x) for x, _, n in blocks])


@pytest.mark.slow
@pytest.mark.parametrize("num_particles", [3, 6, 9])
def test_the_flow_is_that_of_blocks_that_meet(num_particles):
    """Oracle: the event-driven flow, without a floor: 60 random cases each, in float64."""
    rng = np.random.default_rng(num_particles)
    for _ in range(60):
        ranked = np.sort(rng.exponential(size=num_particles))
        drifts = rng.normal(size=num_particles)
        model = atlas.first_order(drifts, np.ones(num_particles))
        expected = event_driven_flow(ranked, drifts, 0.7, False)
        np.testing.assert_allclose(isotonic(ranked + 0.7 * drifts), expected, atol=1e-9)
    moved = run_flow(model, ranked[:, None], 0.7)[:, 0]
    np.testing.assert_allclose(moved, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("num_particles", "floor"),
    [(1, True), (2, False), (3, True), (8, False), (40, False)]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in ((4, False), (5, True), (13, True))],
)
def test_the_flow_is_isotonic_regression(num_particles, floor):
    """From sparse to crowded columns, so that blocks have from one rank to all; and ties."""
    rng = np.random.default_rng(num_particles)
    drifts = rng.normal(size=num_particles)
    if num_particles > 2:
        drifts[1] = drifts.min() - 1
    model = atlas.first_order(drifts, np.full(num_particles, 2.0), floor)
    for spacing in (3.0, 0.1, 0.003):
        columns = np.sort(rng.exponential(size=(num_particles, 40)), axis=0) * spacing
        columns[:, :3] = 0.5
        columns = columns.astype(np.float32)
        expected = np.stack([isotonic(c + 0.2 * drifts) for c in columns.T.astype(float)], axis=1)
        expected = np.maximum(expected, 0) if floor else expected
        np.testing.assert_allclose(run_flow(model, columns, 0.2), expected, atol=3e-6)


@pytest.mark.slow
def test_blocks_wider_than_the_window_are_found():
    """One wide block at each place among 24 calm ranks; a window alone would miss it by far."""
    count = 24
    for start in range(0, 16, 3):
        drifts = np.zeros(count)
        drifts[start], drifts[start + 8] = 40.0, -40.0
        columns = np.arange(count, dtype=np.float32)[:, None] * np.ones((1, 4), np.float32)
        model = atlas.first_order(drifts, np.ones(count))
        expected = isotonic(columns[:, 0] + 1.0 * drifts)
        assert np.max(np.unique(expected, return_counts=True)[1]) == 9
        np.testing.assert_allclose(run_flow(model, columns, 1.0)[:, 0], expected, atol=1e-5)


def test_pooling_is_that_of_the_oracle_and_skips_nothing():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(30, 50)) + np.linspace(0, 2, 30)[:, None]
    pooled = np.asarray(eqx.filter_jit(pool_adjacent_violators)(jnp.asarray(values, jnp.float32)))
    expected = np.stack([isotonic(column) for column in values.T], axis=1)
    np.testing.assert_allclose(pooled, expected, atol=3e-6)
    np.testing.assert_allclose(pooled.sum(0), values.sum(0), rtol=1e-4, atol=1e-4)
    # One column whose ranks are hardly out of order has no other to go on for it.
    alone = 1e-6 * values[:, :1] - values[:, :1].min()
    pooled = np.asarray(eqx.filter_jit(pool_adjacent_violators)(jnp.asarray(alone, jnp.float32)))
    assert np.all(np.diff(pooled, axis=0) >= 0) and np.ptp(pooled) < np.ptp(alone)


@pytest.mark.parametrize("num_particles", [1, 3, 4, 7, 64])
def test_slots_are_sorted_and_empty_ones_stay_last(num_particles):
    columns = np.random.default_rng(0).normal(size=(num_particles, 2, 5)).astype(np.float32)
    slots = to_slots(jnp.asarray(columns))
    index = np.arange(slots.shape[0] * slots.shape[1]).reshape(slots.shape[1], 4).T
    slots = jnp.where(index[:, :, None, None] < num_particles, slots, jnp.inf)
    ordered = np.asarray(from_slots(sort_slots(slots), num_particles))
    np.testing.assert_array_equal(ordered, np.sort(columns, axis=0))


class TestBatches:
    @pytest.mark.slow
    @pytest.mark.parametrize("num_particles", [3, 13])
    def test_a_replica_is_the_same_in_any_batch(self, num_particles):
        """Replica 5 starts crowded, so that it alone goes through the exact pooling."""
        drifts = np.random.default_rng(0).normal(size=num_particles)
        model = atlas.first_order(drifts, np.full(num_particles, 2.0), floor=True)
        start = np.cumsum(np.random.default_rng(1).exponential(size=(64, num_particles)), axis=1)
        start[5] = np.linspace(1, 1.001, num_particles)

        def run(count, **options: Any):
            return atlas.simulate(
                model,
                atlas.Splitting(step=0.05),
                times=[0.1, 0.3],
                initial=start[:count],
                replicas=count,
                key=0,
                **options,
            ).ranked

        whole = run(64)
        assert np.all(np.diff(whole, axis=-1) >= 0) and np.all(whole >= 0)
        for count in (1, 7):
            np.testing.assert_array_equal(run(count), whole[:, :count])
        np.testing.assert_array_equal(run(64, chunk=9), whole)

    @pytest.mark.slow
    def test_both_precisions_agree_to_rounding(self):
        def run(dtype):
            return atlas.simulate(
                GENERAL, atlas.Splitting(step=0.05), horizon=1.0, replicas=100, key=0, dtype=dtype
            ).ranked

        np.testing.assert_allclose(run("float32"), run("float64"), atol=2e-5)


def test_general_and_closed_form_flows_have_the_same_law():
    """The Atlas drift by water filling, and by isotonic regression of a drift that differs by
    1e-7: 5e4 replicas each, z = 4.9 (1e-6), detecting 2 %; they reject twice the drift."""
    near = atlas.first_order([1.0, 1e-7, 0, -2], np.full(4, 2.0), floor=True)

    def mean_gaps(model):
        return atlas.simulate(
            model, atlas.Splitting(step=0.1), horizon=2.0, initial=[0, 1, 2, 3], replicas=50_000,
            key=0,
        ).estimate("gaps")[0]  # fmt: skip

    closed = mean_gaps(atlas.reflected_atlas(4, 2.0, 1.0))
    general = mean_gaps(near)
    error = np.hypot(closed.std_error, general.std_error)
    assert np.all(np.abs(closed.value - general.value) < 4.9 * error)
    double = mean_gaps(atlas.first_order([2.0, 1e-7, 0, -2], np.full(4, 2.0), floor=True))
    assert np.any(np.abs(closed.value - double.value) > 4.9 * error)


def test_splitting_has_a_small_bias_under_general_drifts():
    """The limit, apart from the order: at step .025 the bias is below .6 %, 4e5 replicas, s.e.
    .0016, z = 4.9 (1e-6); BridgeEuler at the same step has 4 % on the highest gap and fails."""
    bias, error = gap_bias(GENERAL, atlas.Splitting(step=0.025), 400_000)
    assert np.all(np.abs(bias) < 0.006 + 4.9 * error)
    bias, error = gap_bias(GENERAL, atlas.BridgeEuler(step=0.025), 100_000)
    assert np.any(np.abs(bias) > 0.006 + 4.9 * error)


@pytest.mark.slow
def test_regulators_balance_general_drifts():
    """E l(t) = -R^{-1} (mu t - E z(t) + E z(0)), exactly; 2e4 replicas, z = 4.9 (1e-6), and pushes
    5 % larger are rejected."""
    solution = atlas.simulate(
        GENERAL,
        atlas.Splitting(step=0.1),
        times=[1.0, 9.0],
        replicas=20_000,
        seed=3,
        regulators=True,
    )
    process = atlas.GapProcess.from_model(GENERAL)
    grown = (solution.regulators[1] - solution.regulators[0]).astype(float) / 8
    change = (solution.gaps[1] - solution.gaps[0]).astype(float) / 8
    assert np.all(grown >= -1e-5)
    grown -= np.linalg.solve(process.reflection.toarray(), change.T).T
    score = (grown.mean(0) - process.regulator_rates()) / (grown.std(0) / np.sqrt(len(grown)))
    assert np.all(np.abs(score) < 4.9)
    wrong = (grown.mean(0) - 1.05 * process.regulator_rates()) / (grown.std(0) / np.sqrt(20_000))
    assert np.all(np.abs(wrong) > 4.9)
