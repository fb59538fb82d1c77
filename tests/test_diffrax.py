"""Models as terms and reflecting solvers in diffrax.diffeqsolve, and noise at large times."""

from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import atlas

from .test_drift_flow import isotonic

MODEL = atlas.reflected_atlas(4, 2.0, 1.0)
LAW = atlas.stationary_gaps(MODEL)
STEP = 0.05
WRONG: Any = "wrong"
AREA = diffrax.SpaceTimeLevyArea
SOLVERS = [atlas.ReflectedEuler(), atlas.ReflectedSplitting(MODEL)]


def steps(key, size=4):
    return atlas.BrownianSteps(size, 0.0, STEP, key)


def tree(key):
    return diffrax.VirtualBrownianTree(0.0, 4.0, STEP / 4, (4,), key, levy_area=AREA)


def unsafe(key):
    return diffrax.UnsafeBrownianPath((4,), key, levy_area=AREA)


def solve(y0, key, solver, path: Any = steps, model=MODEL, **changes: Any) -> Any:
    options: dict[str, Any] = dict(
        t0=0.0, t1=2.0, dt0=STEP, saveat=diffrax.SaveAt(t1=True), adjoint=diffrax.DirectAdjoint()
    )
    terms = atlas.diffrax_terms(model, path(key))
    return diffrax.diffeqsolve(terms, solver, y0=y0, **(options | changes))


def mean_gaps(solver, path, replicas, model=MODEL, law=LAW, floor=True):
    start = law.sample(0, replicas)
    ranked = jnp.asarray(atlas.ranked_from_gaps(start, floor), jnp.float32)
    keys = jax.random.split(jax.random.key(1), replicas)
    run = jax.jit(jax.vmap(lambda y, k: solve(y, k, solver, path, model).ys[0]))
    gaps = atlas.gaps_of(np.sort(np.asarray(run(ranked, keys)), axis=1), floor)
    return gaps.mean(0), gaps.std(0) / np.sqrt(replicas)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "path", "replicas", "bias"),
    [
        (SOLVERS[0], steps, 20_000, [0.010, 0.034, 0.017, 0.085]),
        (SOLVERS[1], steps, 20_000, [0.004, 0.006, 0.004, 0.016]),
        pytest.param(SOLVERS[1], tree, 4_000, [0.004, 0.006, 0.004, 0.016], marks=pytest.mark.slow),
        pytest.param(
            SOLVERS[1], unsafe, 20_000, [0.004, 0.006, 0.004, 0.016], marks=pytest.mark.slow
        ),
    ],
)
def test_solvers_have_the_law_within_the_bias_of_their_schemes(solver, path, replicas, bias):
    """Oracle: the product law; at most the bias in the design's table for `BridgeEuler` and
    `Splitting` at step .05, z = 4.9 (1e-6). Gaps all of mean 1 are rejected."""
    mean, error = mean_gaps(solver, path, replicas)
    assert np.all(np.abs(mean - LAW.mean) < bias * LAW.mean + 4.9 * error)
    assert np.any(np.abs(mean - 1) > np.array(bias) + 4.9 * error)


@pytest.mark.slow
def test_general_and_name_drifts_without_a_floor():
    """Hybrid model: mean gaps of the mixture, 1e4 replicas, z = 4.9 (1e-6) and 2 % of bias; the
    law without name drifts is rejected."""
    model = atlas.hybrid_atlas([1.0, 0.1, -1.1], [0.6, -0.3, -0.3], np.ones(3))
    law = atlas.stationary_gaps(model)
    assert isinstance(law, atlas.ExponentialMixture)
    orders = law.sample_ordered(0, 20_000)[1]
    replicas = len(orders)
    positions = np.zeros((replicas, 3))
    np.put_along_axis(
        positions, orders, atlas.ranked_from_gaps(law.sample(0, replicas), False), axis=1
    )
    keys = jax.random.split(jax.random.key(1), replicas)
    solver = atlas.ReflectedSplitting(model)
    run = jax.vmap(lambda y, k: solve(y, k, solver, lambda k: steps(k, 3), model).ys[0])
    ranked = np.sort(jax.jit(run)(jnp.asarray(positions, jnp.float32), keys), axis=1)
    gaps = np.diff(ranked, axis=1)
    error = gaps.std(0) / np.sqrt(replicas)
    assert np.all(np.abs(gaps.mean(0) - law.mean) < 0.02 * law.mean + 4.9 * error)
    alone = atlas.stationary_gaps(atlas.first_order(model.drifts, model.variances)).mean
    assert np.any(np.abs(gaps.mean(0) - alone) > 0.02 * alone + 4.9 * error)


UNEQUAL = atlas.RankDiffusion([1.0, 0.4, -2.0], [1.0, 1.5, 2.0], name_drifts=[0.3, 0.2, -0.5])
NAMED = atlas.hybrid_atlas([1.0, 0.1, -1.1], [0.6, -0.2, -0.4], [1.5] * 3)


def euler_by_hand(model, y, path, t0, t1):
    area = path.evaluate(t0, t1, use_levy=True)
    length, ranks = t1 - t0, atlas.rank(y)
    uniform = stats.norm.cdf(area.H / np.sqrt(length / 12))
    increment = (model.drifts[ranks] + model.name_drifts) * length
    increment += np.sqrt(model.variances[ranks]) * area.W
    root = np.sqrt(increment**2 - 2 * model.variances[ranks] * length * np.log(uniform))
    return np.maximum(y + increment, (increment + root) / 2)


def splitting_by_hand(model, y, path, t0, t1):
    def diffuse(y, start, end):
        names = 0 if model.name_drifts is None else model.name_drifts
        moved = y + names * (end - start)
        moved = moved + np.sqrt(model.variances[0]) * path.evaluate(start, end)
        return np.abs(moved) if model.floor else moved

    middle = (t0 + t1) / 2
    y = diffuse(y, t0, middle)
    moved = isotonic(np.sort(y) + model.drifts * (t1 - t0))[atlas.rank(y)]
    return diffuse(np.maximum(moved, 0) if model.floor else moved, middle, t1)


@pytest.mark.parametrize(
    ("solver", "by_hand", "model"),
    [
        (atlas.ReflectedEuler(), euler_by_hand, UNEQUAL),
        (SOLVERS[1], splitting_by_hand, MODEL),
        (atlas.ReflectedSplitting(NAMED), splitting_by_hand, NAMED),
    ],
)
def test_a_step_is_that_of_its_formula(solver, by_hand, model):
    """Exact to rounding: 20 steps of length .5 in NumPy on the same path, from positions in any
    order near the floor; half a step is rejected."""
    size, start = model.num_particles, np.array([0.3, 0.05, 0.2, 0.9])
    path = atlas.BrownianSteps(size, 0.0, 0.5, jax.random.key(2))
    terms = atlas.diffrax_terms(model, path)
    step = jax.jit(lambda t0, t1, y: solver.step(terms, t0, t1, y, None, None, False)[0])
    y = start[:size].astype(np.float32)
    for k in range(20):
        t0, t1 = np.float32(0.5 * k), np.float32(0.5 * k + 0.5)
        expected, before = by_hand(model, y.astype(float), path, t0, t1), y
        y = np.asarray(step(t0, t1, y))
        np.testing.assert_allclose(y, expected, atol=1e-4)
    half = by_hand(model, before.astype(float), path, t0, t0 + (t1 - t0) / 2)
    assert np.max(np.abs(y - half)) > 0.01


def test_increments_of_halves_and_wholes_have_their_law_and_differ():
    """W of variance h, H of variance h / 12, no correlation: 2000 wholes and 4000 halves from a
    start that is no multiple of a half, z = 4.9 (1e-6), detecting 8 %; none comes twice."""
    path = atlas.BrownianSteps(4, 0.025, 0.1, jax.random.key(3))
    evaluate = jax.jit(jax.vmap(lambda a, b: path.evaluate(a, b, use_levy=True)))
    drawn = []
    for length, count in ((0.1, 2000), (0.05, 4000)):
        times = jnp.asarray(0.025 + length * np.arange(count + 1), jnp.float32)
        area = evaluate(times[:-1], times[1:])
        scale = [np.sqrt(length), np.sqrt(length / 12)]
        both = np.stack([np.asarray(area.W), np.asarray(area.H)]).reshape(2, -1).T / scale
        bound = 4.9 * np.sqrt(2 / len(both))
        np.testing.assert_allclose(both.T @ both / len(both), np.eye(2), atol=bound)
        drawn.append(np.round(both, 5))
    every = np.concatenate(drawn)
    assert len(np.unique(every, axis=0)) == len(every)


@pytest.mark.parametrize("solver", SOLVERS)
class TestDiffeqsolve:
    start = jnp.array([0.1, 0.5, 1.0, 2.0])

    @pytest.mark.slow
    def test_saves_progress_and_vmap(self, solver, capsys):
        saved = solve(
            self.start,
            jax.random.key(0),
            solver,
            saveat=diffrax.SaveAt(t0=True, ts=[0.33, 1.0], t1=True),
            progress_meter=diffrax.TextProgressMeter(minimum_increase=0.5),
        )
        assert saved.ys.shape == (4, 4) and np.all(saved.ys >= 0)
        np.testing.assert_array_equal(saved.ys[0], self.start)
        np.testing.assert_allclose(saved.ts, [0, 0.33, 1, 2], rtol=1e-6)
        keys = jax.random.split(jax.random.key(0), 3)
        each = jax.vmap(lambda k: solve(self.start, k, solver).ys[0])(keys)
        assert len(np.unique(each)) == 12
        np.testing.assert_allclose(each[1], solve(self.start, keys[1], solver).ys[0], rtol=1e-5)

    @pytest.mark.slow
    def test_an_event_ends_the_solve(self, solver):
        event = diffrax.Event(lambda t, y, args, **kwargs: jnp.max(y) > 2.5)
        ended = solve(self.start, jax.random.key(3), solver, event=event, t1=50.0)
        assert ended.result == diffrax.RESULTS.event_occurred
        assert np.max(ended.ys[0]) > 2.5 and ended.ts[0] < 50
        before = solve(self.start, jax.random.key(3), solver, t1=float(ended.ts[0]) - STEP)
        assert np.max(before.ys[0]) <= 2.5

    def test_short_steps_at_large_times_fail_loudly(self, solver):
        """float32 time does not move at t = 1e4 with step 1e-4, and diffrax says nothing."""
        late: dict[str, Any] = dict(t0=1e4, t1=1e4 + 0.01, dt0=1e-4, max_steps=200)
        for path in (unsafe, lambda k: atlas.BrownianSteps(4, 1e4, 1e-4, k)):
            with pytest.raises(RuntimeError, match="diffrax issue 733"):
                solve(self.start, jax.random.key(0), solver, path, **late)


def increments(path, t0, step, count):
    """Successive increments (count, 4) as a solver asks for them, times in float64."""
    times = t0 + step * np.arange(count + 1)
    evaluate = jax.jit(jax.vmap(lambda a, b: path.evaluate(a, b)))
    return np.asarray(evaluate(jnp.asarray(times[:-1]), jnp.asarray(times[1:])))


@pytest.mark.slow
def test_noise_at_large_times_is_right_where_diffrax_repeats_it():
    """C2: t0 = 1e4, step 1e-4, 4000 steps of float64 time. Variance per unit of time within 10 %
    (z = 4.9 is 6 %) and no increment twice; `UnsafeBrownianPath` repeats most, which the guard
    refuses."""
    with jax.enable_x64(True):
        key = jax.random.key(0)
        ours = increments(atlas.BrownianSteps(4, 1e4, 1e-4, key), 1e4, 1e-4, 4000)
        assert 0.9 < ours.var() / 1e-4 < 1.1
        assert len(np.unique(ours)) == ours.size
        assert abs(np.corrcoef(ours[:-1, 0], ours[1:, 0])[0, 1]) < 4.9 / np.sqrt(4000)
        path = diffrax.UnsafeBrownianPath((4,), key)
        theirs = increments(path, 1e4, 1e-4, 4000)
        assert len(np.unique(np.round(theirs / 1e-2, 9))) < 0.5 * theirs.size
        guarded = atlas.diffrax_terms(MODEL, path).terms[1]
        with pytest.raises(RuntimeError, match="diffrax issue 733"):
            guarded.contr(jnp.asarray(1e4), jnp.asarray(1e4 + 1e-4))
        assert np.all(np.isfinite(guarded.contr(jnp.asarray(1.0), jnp.asarray(1.05))))
        late = solve(
            jnp.ones(4),
            key,
            SOLVERS[1],
            lambda k: atlas.BrownianSteps(4, 1e4, 1e-4, k),
            t0=1e4,
            t1=1e4 + 0.01,
            dt0=1e-4,
        )
        assert np.all(np.isfinite(late.ys)) and late.stats["num_steps"] in (100, 101)


def test_a_step_has_to_span_sixteen_spacings_of_its_time():
    """Those of float32 at 1e4 are .00098 long, so that 10 of them are refused and 20 are not."""
    noise = atlas.diffrax_terms(MODEL, unsafe(jax.random.key(0))).terms[1]
    start = jnp.asarray(1e4, jnp.float32)
    with pytest.raises(RuntimeError, match="diffrax issue 733"):
        noise.contr(start, start + 10 / 1024)
    assert np.all(np.isfinite(noise.contr(start, start + 20 / 1024)))


def test_a_tree_over_a_long_range_is_refused():
    """A step of 1e-4 in a range of 1e5 is beyond float32 fractions."""
    path = diffrax.VirtualBrownianTree(0.0, 1e5, 5e-5, (4,), jax.random.key(0))
    with pytest.raises(RuntimeError, match="diffrax issue 733"):
        atlas.diffrax_terms(MODEL, path).terms[1].contr(jnp.asarray(0.0), jnp.asarray(1e-4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: atlas.diffrax_terms(WRONG, steps(jax.random.key(0))), "is no RankDiffusion"),
        (lambda: atlas.diffrax_terms(MODEL, WRONG), "is no Brownian path"),
        (lambda: atlas.diffrax_terms(MODEL, steps(jax.random.key(0), 3)), r"one of shape \(4,\)"),
        (
            lambda: atlas.diffrax_terms(
                atlas.asymmetric_collisions([1, -1], [1, 1], [0.3], [0.7]), steps(None, 2)
            ),
            "use atlas.simulate with CollisionBridge",
        ),
        (
            lambda: atlas.ReflectedSplitting(atlas.first_order([1, -1], [1, 2])),
            "variances differ between ranks; BridgeEuler can",
        ),
        (
            lambda: atlas.ReflectedSplitting(
                atlas.RankDiffusion([0, -1], [1, 1], name_drifts=[0, 0.1])
            ),
            "at a floor; ReflectedEuler can",
        ),
        (lambda: atlas.BrownianSteps(4, 0.0, 0.0, WRONG), "step = 0.0 must be positive"),
        (
            lambda: solve(
                jnp.ones(4),
                jax.random.key(0),
                SOLVERS[0],
                lambda k: diffrax.UnsafeBrownianPath((4,), k),
            ),
            "levy_area=diffrax.SpaceTimeLevyArea",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
