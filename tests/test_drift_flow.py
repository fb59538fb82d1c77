"""The drift flow against isotonic regression, on many random and degenerate configurations."""

import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._drift_flow import drift_flow
from atlas._problem import Problem


def isotonic(values):
    """Pool adjacent violators: the oracle."""
    blocks = []
    for value in values:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            total = blocks[-1][0] * blocks[-1][1] + mean * count
            blocks[-1] = [total / (blocks[-1][1] + count), blocks[-1][1] + count]
    return np.concatenate([np.full(count, mean) for mean, count in blocks])


def expected_flow(model, ranked, length):
    moved = isotonic(ranked + length * model.drifts)
    return np.maximum(moved, 0) if model.floor else moved


def run_flow(model, columns, length, is_sorted=False):
    """`columns`: (rank, replica) in ascending order; returns the same after the flow."""
    problem = Problem.from_model(model, np.dtype("float32"), is_sorted)
    positions = problem.pack(jnp.asarray(columns[:, None, :], jnp.float32))
    moved = drift_flow(problem, positions, jnp.float32(length))
    return np.asarray(problem.unpack(moved))[:, 0, :]


@pytest.mark.parametrize(
    "num_particles",
    [1, 2, 5, 13] + [pytest.param(size, marks=pytest.mark.slow) for size in (3, 4, 8)],
)
@pytest.mark.parametrize("closure", ["stationary", "prelimit", "free"])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_flow_is_isotonic_regression_cut_at_the_floor(num_particles, closure, is_sorted):
    rng = np.random.default_rng(num_particles)
    model = atlas.reflected_atlas(num_particles, 2.0, 1.0, closure)
    for length in (0.01, 0.3, 5.0):
        columns = np.sort(rng.exponential(size=(num_particles, 60)), axis=0).astype(np.float32)
        moved = run_flow(model, columns, length, is_sorted)
        expected = np.stack([expected_flow(model, c, length) for c in columns.T.astype(float)], 1)
        np.testing.assert_allclose(moved, expected, atol=3e-6 * max(1, length))


@pytest.mark.parametrize(
    "column",
    [
        [0.0] * 7,
        [1.0] * 7,
        [0, 0, 0, 2, 2, 2, 2],
        [1, 1, 1, 1, 1.001, 1.001, 3],
        [0, 1e-8, 2e-8, 3e-8, 4e-8, 5e-8, 6e-8],
        [5, 5, 5, 5, 5, 5, 5.01],
    ],
)
def test_ties_are_moved_together(column):
    for drifts in ([1, 0, 0, 0, 0, 0, -2], [3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [0] * 6 + [-2]):
        model = atlas.RankDiffusion(drifts, np.full(7, 2.0))
        moved = run_flow(model, np.asarray(column, np.float32)[:, None], 0.25)[:, 0]
        expected = expected_flow(model, np.asarray(column, float), 0.25)
        np.testing.assert_allclose(moved, expected, atol=2e-6)


def test_mass_is_kept_where_more_particles_rise_than_the_closed_form_counts():
    """All 64 particles lie within the level, far more than the four lowest values."""
    model = atlas.RankDiffusion([5.0] + [0.0] * 63, np.full(64, 2.0), floor=False)
    columns = np.sort(np.random.default_rng(0).uniform(0, 0.05, size=(64, 10)), axis=0)
    moved = run_flow(model, columns.astype(np.float32), 1.0)
    np.testing.assert_allclose(moved.sum(0), columns.sum(0) + 5.0, rtol=1e-5)
    assert np.all(moved.max(0) - moved.min(0) < 1e-5)


def test_a_replica_does_not_depend_on_its_neighbours():
    """One crowded replica sends the batch through the iteration; the others must not change."""
    model = atlas.reflected_atlas(16, 2.0, 1.0)
    rng = np.random.default_rng(4)
    calm = np.cumsum(rng.exponential(size=(16, 20)), axis=0).astype(np.float32)
    crowded = np.linspace(0, 1e-3, 16, dtype=np.float32)[:, None]
    alone = run_flow(model, calm, 0.02)
    together = run_flow(model, np.concatenate([calm, crowded], axis=1), 0.02)
    np.testing.assert_array_equal(together[:, :20], alone)


def test_the_floor_acts_after_the_drift():
    """An |x + noise| of a negative position would be wrong: the flow must not leave any."""
    model = atlas.RankDiffusion([-1.0], [2.0])
    assert run_flow(model, np.array([[0.3]], np.float32), 0.5)[0, 0] == 0


@pytest.mark.parametrize("size", range(1, 17))
def test_the_sorting_network_sorts_all_zero_one_inputs(size):
    """The zero-one principle: a network that sorts these sorts everything."""
    from atlas._sorting_network import sort_arrays

    inputs = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    ordered = np.stack([np.asarray(v) for v in sort_arrays(list(jnp.asarray(inputs.T)))])
    np.testing.assert_array_equal(ordered, np.sort(inputs.T, axis=0))
