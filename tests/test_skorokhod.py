"""Skorokhod maps on grids against their defining properties and closed forms."""

import numpy as np
import pytest

import atlas
from atlas._skorokhod import least_push


def brownian(shape, seed=0, drift=0.0):
    increments = np.random.default_rng(seed).normal(drift, 1, shape)
    return np.abs(np.random.default_rng(seed + 1).normal(size=shape[1:])) + np.cumsum(
        increments, axis=0
    )


def assert_grows_only_where(regulator, at_barrier):
    growth = np.diff(regulator, axis=0, prepend=0)
    assert np.all(growth >= -1e-12)
    assert np.all(np.abs(growth[~at_barrier]) < 1e-12)


def test_half_line_solves_the_skorokhod_problem():
    path = brownian((300, 20))
    reflected, regulator = atlas.reflect_half_line(path, floor=0.25)
    assert np.all(reflected >= 0.25 - 1e-12)
    np.testing.assert_allclose(reflected, path + regulator)
    assert_grows_only_where(regulator, reflected < 0.25 + 1e-9)
    # Projection step by step is the same map; forgetting the regulator is not.
    position = np.maximum(path[0], 0.25)
    for k in range(1, len(path)):
        position = np.maximum(position + path[k] - path[k - 1], 0.25)
        np.testing.assert_allclose(position, reflected[k], atol=1e-9)
    assert np.max(np.abs(np.maximum(path, 0.25) - reflected)) > 1


def test_interval_solves_the_two_sided_problem():
    path = brownian((400, 10), seed=5)
    reflected, up, down = atlas.reflect_interval(path, -1.0, 2.0)
    assert np.all((reflected >= -1) & (reflected <= 2))
    np.testing.assert_allclose(reflected, path + up - down, atol=1e-9)
    assert_grows_only_where(up, reflected < -1 + 1e-9)
    assert_grows_only_where(down, reflected > 2 - 1e-9)


def test_a_far_upper_barrier_gives_the_half_line():
    path = brownian((200, 5), seed=8)
    one_sided = atlas.reflect_half_line(path)
    two_sided = atlas.reflect_interval(path, 0.0, 1e9)
    np.testing.assert_allclose(two_sided[0], one_sided[0], atol=1e-9)
    np.testing.assert_allclose(two_sided[1], one_sided[1], atol=1e-9)


def test_orthant_solves_the_oblique_problem():
    process = atlas.GapProcess.from_model(atlas.reflected_atlas(5, 2.0, 1.0))
    matrix = process.reflection.toarray()
    path = brownian((200, 7, 5), seed=11, drift=-0.3)
    reflected, regulator = atlas.reflect_orthant(path, matrix)
    assert np.all(reflected >= 0)
    np.testing.assert_allclose(reflected, path + regulator @ matrix.T, atol=1e-7)
    assert_grows_only_where(regulator, reflected < 1e-9)


def test_orthant_with_the_identity_is_the_half_line_in_each_coordinate():
    path = brownian((150, 3), seed=21)
    reflected, regulator = atlas.reflect_orthant(path, np.eye(3))
    expected = atlas.reflect_half_line(path)
    np.testing.assert_allclose(reflected, expected[0], atol=1e-9)
    np.testing.assert_allclose(regulator, expected[1], atol=1e-9)


def test_least_push_is_the_least_fixed_point():
    """Oracle: the monotone iteration l = max(0, -free + (1 - R) l), 4000 random cases."""
    rng = np.random.default_rng(3)
    matrix = atlas.GapProcess.from_model(atlas.reflected_atlas(6, 2.0, 1.0)).reflection.toarray()
    free = rng.normal(size=(4000, 6))
    push = least_push(free, matrix)
    expected = np.zeros_like(free)
    for _ in range(3000):
        expected = np.maximum(0, -free + expected @ (np.eye(6) - matrix).T)
    np.testing.assert_allclose(push, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: atlas.reflect_half_line([]), "path has shape"),
        (lambda: atlas.reflect_half_line([0.0, np.nan]), "path is nan at index"),
        (lambda: atlas.reflect_interval([0.0], 1.0, 1.0), "lower = 1.0 must be below"),
        (lambda: atlas.reflect_orthant(np.zeros((4, 2)), np.eye(3)), r"pass \(2, 2\)"),
        (lambda: atlas.reflect_orthant(np.zeros((4, 2)), [[1, 0.5], [0, 1]]), "no positive entry"),
        (lambda: atlas.reflect_orthant(np.zeros((4, 2)), [[1, -1], [-1, 1]]), "singular"),
    ],
)
def test_bad_paths_and_matrices_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
