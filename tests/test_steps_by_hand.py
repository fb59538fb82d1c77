"""One step of each scheme that steps once, against its formula in NumPy, with given noise."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._noise import to_slots
from atlas._problem import Plan, Problem, State
from atlas._skorokhod import least_push

from .problems import GENERAL, TABLE_MODEL

# The first step of a segment, which is cut short.
LENGTH, FULL = 0.3, 0.5
FLOAT32: np.dtype = np.dtype("float32")
START = np.array([0.05, 0.2, 0.9, 1.0])
DRIFTS, VARIANCES = [1.0, 0.4, -0.4, -1.0], [1.0, 1.5, 2.0, 2.5]
SHARES = np.array([0.2, 0.6, 0.35])
UNEQUAL = atlas.first_order(DRIFTS, VARIANCES, floor=True)
ASYMMETRIC = atlas.asymmetric_collisions(DRIFTS, VARIANCES, SHARES, 1 - SHARES)
WITH_FLOOR = atlas.RankDiffusion(DRIFTS, VARIANCES, q_minus=SHARES, q_plus=1 - SHARES)


def over_minimum(increment, variance, uniform):
    """S - I of a Brownian bridge from 0 to S."""
    return (increment + np.sqrt(increment**2 - 2 * variance * np.log(uniform))) / 2


def reflected(model, increment, uniform):
    if not model.floor:
        return START + increment
    return np.maximum(START + increment, over_minimum(increment, model.variances * LENGTH, uniform))


def settled(model, before, after):
    """Ranked positions, and the pushes that led there."""
    ranked = np.sort(after, axis=1)
    above = np.cumsum((ranked - before)[:, ::-1], axis=1)[:, ::-1]
    floor = above[:, :1] if model.floor else above[:, :0]
    return ranked, np.concatenate([floor, 2 * above[:, 1:]], axis=1)


def projected_euler(model, increment, uniform):
    moved = START + increment
    return settled(model, moved, np.maximum(moved, 0) if model.floor else moved)


def bridge_euler(model, increment, uniform):
    return settled(model, START + increment, reflected(model, increment, uniform))


def heun_bridge(model, increment, uniform):
    ranks = atlas.rank(reflected(model, increment, uniform))
    change = (model.drifts[ranks] - model.drifts) / 2 * LENGTH
    return settled(model, START + increment, reflected(model, increment + change, uniform))


def collision_bridge(model, increment, uniform):
    process = atlas.GapProcess.from_model(model)
    variance = process.covariance.diagonal() * LENGTH
    change = atlas.gaps_of(increment, model.floor)
    uniform = uniform if model.floor else uniform[:, 1:]
    gaps = atlas.gaps_of(START, model.floor)
    least = gaps + change - over_minimum(change, variance, uniform)
    pushes = least_push(least, process.reflection.toarray())
    up, down = np.zeros((2, len(pushes), 4))
    if model.floor:
        up[:, 0] = pushes[:, 0]
    collisions = pushes[:, -3:]
    up[:, 1:], down[:, :-1] = (1 - SHARES) * collisions, SHARES * collisions
    return START + increment + up - down, pushes


@pytest.mark.parametrize(
    ("scheme", "by_hand", "model", "is_sorted"),
    [
        (atlas.ProjectedEuler, projected_euler, UNEQUAL, True),
        (atlas.BridgeEuler, bridge_euler, UNEQUAL, True),
        (atlas.HeunBridge, heun_bridge, GENERAL, True),
        (atlas.HeunBridge, heun_bridge, TABLE_MODEL, False),
        (atlas.CollisionBridge, collision_bridge, WITH_FLOOR, True),
        (atlas.CollisionBridge, collision_bridge, ASYMMETRIC, True),
    ],
)
def test_a_step_is_that_of_its_formula(scheme, by_hand, model, is_sorted):
    """Exact to rounding, ranks and regulators of 320 replicas, many with several pushes. The same
    step with 2 % more noise is off by more than a hundred times the tolerance."""
    problem = Problem.from_model(model, FLOAT32, is_sorted)
    rng = np.random.default_rng(0)
    z, uniform = rng.normal(size=(320, 4)), 1 - rng.random((320, 4))
    slots = [to_slots(jnp.asarray(v.T[:, None], jnp.float32)) for v in (z, uniform)]
    noise: Any = SimpleNamespace(
        step_normals=lambda plan, j: slots[0], step_pairs=lambda plan, j: slots
    )
    real = lambda value: jnp.asarray(value, jnp.float32)  # noqa: E731
    count, offset = jnp.int32(3), jnp.uint32(7)
    plan = Plan(real(LENGTH), real(FULL), real(FULL), count, count, offset)
    start = jnp.broadcast_to(real(START)[:, None, None], (4, 1, 320))
    # One operation after the other: compiling the whole would take most of the time.
    with jax.disable_jit():
        pushes = jnp.zeros((model.num_gaps, 1, 320), jnp.float32) if is_sorted else None
        state = State(problem.pack(start), pushes, None)
        after: Any = scheme(step=FULL).advance(problem, noise, state, plan, jnp.int32(0))
        ranked = problem.unpack(after.positions)

    def expected(factor):
        increment = model.drifts * LENGTH + factor * np.sqrt(model.variances * LENGTH) * z
        return by_hand(model, increment, uniform)

    found = [np.asarray(v)[:, 0].T for v in (ranked, after.regulators) if v is not None]
    assert len(found) == 1 + is_sorted
    assert not model.floor or np.all(found[0] >= 0)
    for value, right, wrong in zip(found, expected(1), expected(1.02), strict=False):
        np.testing.assert_allclose(value, right, atol=1e-5)
        assert np.max(np.abs(value - wrong)) > 1e-3
    assert np.mean(np.sum(expected(1)[1] > 1e-3, axis=1) > 1) > 0.2
