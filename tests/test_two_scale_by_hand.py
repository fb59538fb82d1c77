"""A macro step of `TwoScaleSplitting` against its formulas in NumPy, with given noise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import atlas
from atlas._near_set import (
    TwoScaleProblem,
    from_rows,
    particle_index,
    rows_shape,
    to_rows,
)
from atlas._noise import STREAM_NEAR, STREAM_NORMAL, from_slots, to_slots
from atlas._problem import Plan, Problem
from atlas._scheme import _two_scale_splitting
from atlas._scheme._two_scale_splitting import _MacroStep

from .test_two_scale_splitting import level

COUNT, CAPACITY, REACH = 200, 128, 1.5
# The last macro step of a segment: three full steps and a short one.
NUM_FINE, FIRST, OFFSET, FULL, LAST = 5, 5, 7, 0.1, 0.04
LENGTHS = np.array([FULL, FULL, FULL, LAST])
KEY, REPLICA = jnp.asarray([3, 4], jnp.uint32), jnp.uint32(2)
BOTH_ENDS = np.r_[1.0, np.full(COUNT - 2, -0.2), -1.5]
MODELS = {
    "floor": atlas.first_order(BOTH_ENDS, np.full(COUNT, 2.0), floor=True),
    "no floor": atlas.first_order(BOTH_ENDS + 0.4, np.full(COUNT, 2.0)),
    "drift of the highest alone": atlas.first_order(
        np.r_[np.full(COUNT - 1, -0.2), -1.5], np.full(COUNT, 2.0), floor=True
    ),
    "no common drift": atlas.reflected_atlas(COUNT, 2.0, 1.0),
    "prelimit": atlas.reflected_atlas(COUNT, 60.0, 1.0, closure="prelimit"),
}


def normals(shape, draw, stream):
    return np.random.default_rng([int(draw), int(stream)]).normal(size=shape)


def macro_step_by_hand(model, x, draw):
    """Positions, how high each was seen or may have been, the near ones, and the bound."""
    common = model.drifts[1]
    lift, cut = model.drifts[0] - common, common - model.drifts[-1]
    total, sigma = LENGTHS.sum(), np.sqrt(2.0)
    spread = sigma * np.sqrt(total)
    width = REACH * spread + abs(common) * total
    reflect = np.abs if model.floor else np.asarray
    low, high = -np.inf, np.inf
    if lift > 0:
        low = x.min() + lift * total + width
    if model.floor and common != 0:
        low = max(low, width)
    if cut > 0:
        high = x.max() - cut * total - width
    near = (x < low) | (x > high)
    # The near set keeps the order of the rows, in which words come first.
    rows = np.asarray(particle_index(rows_shape(COUNT)))
    is_particle = rows < COUNT
    order = rows[is_particle]
    chosen = order[near[order]]
    y, top, lowest, highest = x[chosen], x[chosen], -np.inf, np.inf
    for j in range(len(LENGTHS) + 1):
        before = LENGTHS[j - 1] if j else 0.0
        after = LENGTHS[j] if j < len(LENGTHS) else 0.0
        if j:
            if lift > 0:
                fill = level(np.sort(y)[None], lift * before)[0]
                y, lowest = np.maximum(y, fill), max(lowest, fill)
            if cut > 0:
                cap = -level(np.sort(-y)[None], cut * before)[0]
                y, highest = np.minimum(y, cap), min(highest, cap)
            y = y + common * before
            y = np.maximum(y, 0) if model.floor else y
        z = normals(rows_shape(CAPACITY), draw + j, STREAM_NEAR).reshape(-1)[: y.size]
        y = reflect(y + sigma * np.sqrt((before + after) / 2) * z)
        top = np.maximum(top, y)
    if model.floor and common != 0:
        lowest = max(lowest, 0.0)
    moved, peaks = np.empty(COUNT), np.empty(COUNT)
    moved[order] = normals(rows_shape(COUNT), draw, STREAM_NORMAL)[is_particle]
    moved = reflect(x + common * total + spread * moved)
    peaks = np.maximum(x, moved) + REACH / 2 * spread
    moved[chosen], peaks[chosen] = y, top
    tail = lambda depth: 2 * stats.norm.sf(np.maximum(depth, 0) / spread)  # noqa: E731
    bound = tail(x[~near] + min(common * total, 0) - lowest).sum()
    if cut > 0:
        bound += tail(highest - x[~near] - max(common * total, 0)).sum()
    return moved, peaks, near, bound


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_macro_step_is_that_of_its_formulas(name, monkeypatch):
    """Exact to rounding: near particles finely, far ones in one step, the highest that each may
    have been, and the bound; some tens of particles are near and as many far."""
    model = MODELS[name]
    monkeypatch.setattr(
        _two_scale_splitting,
        "row_normals",
        lambda key, replica, shape, draw, stream: jnp.asarray(
            normals(shape, draw, stream), jnp.float32
        ),
    )
    alone = Problem.from_model(model, np.dtype("float32"), False)
    problem = TwoScaleProblem.of(alone, NUM_FINE, REACH, CAPACITY)
    real = lambda value: jnp.asarray(value, jnp.float32)  # noqa: E731
    count, offset = jnp.int32(FIRST + 4), jnp.uint32(OFFSET)
    plan = Plan(real(FULL), real(FULL), real(LAST), count, count, offset)
    x = np.random.default_rng(1).permutation(np.arange(COUNT) * 0.05 + 0.02).astype(np.float32)
    shape = rows_shape(COUNT)
    with jax.disable_jit():
        rows = to_rows(to_slots(jnp.asarray(x)[:, None, None]), shape)[0]
        step = _MacroStep.of(problem, KEY, plan, jnp.int32(1))
        found = step(REPLICA, rows, rows)
        slots = [from_rows(v[None], COUNT, (1, 1)) for v in found[:2]]
    # First + number of the macro step: each draws once more than it has steps.
    moved, peaks, near, bound = macro_step_by_hand(model, x.astype(float), OFFSET + FIRST + 1)
    assert 20 < near.sum() < CAPACITY and np.sum(~near) > 20
    for value, expected in zip(slots, (moved, peaks), strict=True):
        columns = np.asarray(from_slots(value, COUNT))[:, 0, 0]
        np.testing.assert_allclose(columns, expected, atol=2e-5)
    assert bound > 1e-3
    assert float(found[2]) == pytest.approx(bound, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("num_particles", "has_room"), [(CAPACITY, True), (CAPACITY + 1, False)])
def test_a_near_set_of_one_too_many_has_no_room(num_particles, has_room):
    model = atlas.reflected_atlas(num_particles, 2.0, 1.0)
    alone = Problem.from_model(model, np.dtype("float32"), False)
    problem = TwoScaleProblem.of(alone, NUM_FINE, 1000.0, CAPACITY)
    one, count = jnp.float32(0.1), jnp.int32(2)
    plan = Plan(one, one, one, count, count, jnp.uint32(0))
    x = jnp.arange(num_particles, dtype=jnp.float32)[:, None, None]
    with jax.disable_jit():
        rows = to_rows(to_slots(x), rows_shape(num_particles))[0]
        bound = _MacroStep.of(problem, KEY, plan, jnp.int32(0))(REPLICA, rows, None)[2]
    assert float(bound) == (0 if has_room else np.inf)
