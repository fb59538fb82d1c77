"""Diffusions that are driven by old ranks: exact means up to two delays, and what must be refused.

Up to the time `delay` the drift is that of the start, so the path is a Brownian motion with known
drift; over the next delay its mean is an integral of normal probabilities. Both are exact.
"""

from itertools import permutations
from typing import Any

import jax
import numpy as np
import pytest
from scipy import integrate, signal, stats

import atlas
from atlas._delay_problem import DelayProblem
from atlas._noise import from_slots, to_slots

PULL, DELAY, VARIANCE, START = 1.5, 1.0, 1.0, 0.4
PAIR = atlas.delay_diffusion(PULL, DELAY, VARIANCE)
STEP = DELAY / 4
# Two shapes for most tests, so that the step is compiled twice: many replicas, and up to 16.
OPTIONS: dict[str, Any] = dict(
    initial=[START, 0.0], replicas=2**16, seed=1, names=True, chunk=2048, num_threads=1
)
FEW: dict[str, Any] = OPTIONS | dict(replicas=16, chunk=None)
SCHEME = atlas.DelayedBridge(step=STEP)


def run(model, scheme=SCHEME, **changes: Any) -> atlas.Solution:
    """16 replicas, unless something else is asked for."""
    return atlas.simulate(model, scheme, **FEW | changes)


def difference(solution) -> np.ndarray:
    """D = X_1 - X_2, shape (time, replica)."""
    positions = solution.positions.astype(float)
    return positions[..., 0] - positions[..., 1]


def mean_sign(time):
    """E sgn(D(time)) for time <= delay."""
    return 2 * stats.norm.cdf((START - PULL * time) / np.sqrt(VARIANCE * time)) - 1


def z_score(samples, mean) -> float:
    return float((samples.mean() - mean) / (samples.std(ddof=1) / np.sqrt(samples.size)))


@pytest.fixture(scope="module")
def two_delays():
    return difference(atlas.simulate(PAIR, SCHEME, times=[1.0, 2.0], **OPTIONS))


def test_up_to_one_delay_the_drift_is_that_of_the_start(two_delays):
    """Oracle: D(d) ~ N(x - pull d, variance d). KS on 65536 replicas, p > 1e-6, detects .011 in the
    law; the law without delay is rejected."""
    spread = np.sqrt(VARIANCE * DELAY)
    law = stats.norm(START - PULL * DELAY, spread)
    assert stats.kstest(two_delays[0], law.cdf).pvalue > 1e-6
    now = np.full(20_000, START)
    for noise in np.random.default_rng(0).normal(0, spread / 10, (100, now.size)):
        now = now - PULL * np.sign(now) / 100 + noise
    assert stats.kstest(now, law.cdf).pvalue < 1e-6


def test_over_the_second_delay_it_is_the_sign_of_the_first(two_delays):
    """Oracle: E D(2d) = x - pull d - pull int_0^d E sgn D(s) ds, with the trapezoidal rule's error,
    by quadrature. z = 4.9 (1e-6) detects .03; the left end of each old step alone is .2 off."""
    grid = np.linspace(0, DELAY, 5)
    signs = np.concatenate([[1.0], mean_sign(grid[1:])])
    inner = integrate.quad(mean_sign, 1e-12, DELAY)[0]
    trapezoid = STEP * (signs[0] / 2 + signs[1:-1].sum() + signs[-1] / 2)
    assert trapezoid == pytest.approx(inner, abs=0.02)
    drop = START - PULL * DELAY
    assert abs(z_score(two_delays[1], drop - PULL * trapezoid)) < 4.9
    left = STEP * signs[:-1].sum()
    assert abs(z_score(two_delays[1], drop - PULL * left)) > 4.9


def test_without_noise_it_is_a_triangle_wave():
    """Exact: period 4 delay, slopes +-pull, amplitude pull delay to within half a step."""
    relay = atlas.delay_diffusion(2.0, 1.0, variance=0.0)
    solution = run(relay, times=8 + np.arange(33) / 4)
    path = difference(solution)[:, 0]
    np.testing.assert_allclose(path[16:], path[:17], atol=1e-5)
    np.testing.assert_allclose(path[8:25], -path[:17], atol=2.0 / 4)
    assert np.abs(path).max() == pytest.approx(2.0, abs=1.0 / 4)
    # The period is no shorter: half of it turns the sign.
    assert np.abs(path[8:] - path[:-8]).max() > 3


@pytest.mark.slow
def test_tied_stations_share_the_drifts_of_their_ranks():
    """Oracle: from all at the floor each of three stations has the mean drift -1/3 for one delay:
    reflected Brownian motion, KS at p > 1e-6 on 3 x 20000 values (particles are independent then);
    ties that go to one station are rejected (drift 1 for it)."""
    model = atlas.DelayDiffusion([1.0, -1.0, -1.0], np.full(3, 2.0), 0.5)
    solution = atlas.simulate(
        model,
        atlas.DelayedBridge(step=0.5),
        times=[0.5],
        initial="empty",
        replicas=20_000,
        seed=3,
        names=True,
        num_threads=1,
    )

    def p_value(values, drift, time=0.5, variance=2.0):
        def cdf(x):
            sd = np.sqrt(variance * time)
            mirrored = np.exp(2 * drift * x / variance) * stats.norm.cdf((-x - drift * time) / sd)
            return stats.norm.cdf((x - drift * time) / sd) - mirrored

        return stats.kstest(values.astype(float), cdf).pvalue

    positions = solution.positions[0]
    assert p_value(positions.ravel(), -1 / 3) > 1e-6
    assert p_value(positions[:, 0], 1.0) < 1e-6


@pytest.mark.parametrize("drifts", [[0.3, -1.0, 2.0, 0.5, 0.1], [2.0, 0.5, 0.5, 0.5, -1.0]])
def test_drifts_are_those_of_a_sort_with_ties_averaged(drifts):
    """Exact: both compiled forms against a stable sort of slightly moved positions, averaged over
    all orders of the tied."""
    model = atlas.DelayDiffusion(drifts, np.ones(5), 1.0)
    positions = np.array([[3.0, 1.0, 2.0, 5.0, 4.0], [1.0, 0.0, 1.0, 0.0, 7.0], np.zeros(5)])
    orders = np.array(list(permutations(range(5))))
    moved = positions[:, None] + 1e-6 * orders
    expected = np.asarray(drifts)[atlas.rank(moved)].mean(axis=1)

    @jax.jit
    def drift_of(columns):
        problem = DelayProblem.from_model(model, np.float32, 1)
        return from_slots(problem.drift_of(to_slots(columns)), 5)

    found = np.asarray(drift_of(positions.T[:, None, :].astype(np.float32)))[:, 0].T
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_replica_is_the_same_in_any_batch():
    times = [0.6, 2.0]
    whole = run(PAIR, times=times, replicas=2048, chunk=2048).positions
    part = run(PAIR, times=times, replicas=range(40, 47), chunk=3)
    np.testing.assert_array_equal(part.positions, whole[:, 40:47])
    assert np.unique(whole[1, :, 0]).size > 2040


def test_save_times_inside_steps_leave_the_drift_alone():
    """Exact without noise: the path at common times does not depend on others, start or not."""
    relay = atlas.delay_diffusion(1.0, 1.0, variance=0.0)
    few = difference(run(relay, times=[1.5, 4.0], initial=[0.3, 0.0]))
    times = [0.0, 0.1, 0.11, 0.7, 0.7, 0.75, 1.5, 3.99, 4.0]
    many = difference(run(relay, times=times, initial=[0.3, 0.0]))
    np.testing.assert_allclose(many[[6, 8]], few, atol=1e-5)
    np.testing.assert_allclose(many[:4, 0], [0.3, 0.2, 0.19, -0.4], atol=1e-6)


def test_results_say_what_they_are_and_come_back(tmp_path):
    solution = run(PAIR, times=[0.6, 2.0])
    assert solution.attrs["delay"] == DELAY and solution.attrs["scheme"] == "DelayedBridge"
    solution.save(tmp_path / "pair.nc")
    loaded = atlas.load(tmp_path / "pair.nc")
    np.testing.assert_array_equal(loaded.values("gaps"), solution.gaps)
    np.testing.assert_allclose(np.abs(difference(solution)), solution.gaps[..., 0], atol=1e-5)
    with pytest.raises(ValueError, match="need all 2 ranks, 1 were kept"):
        _ = run(PAIR, times=[2.0], num_ranks=1).positions


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(pull=np.nan), "pull = nan is not a finite number"),
        (dict(pull="1"), "pull = '1' is not a real number"),
        (dict(delay=-1.0), "delay = -1.0 must not be negative"),
        (dict(delay=np.inf), "delay = inf is not a finite number"),
        (dict(delay=True), "delay = True is not a real number"),
        (dict(variance=-0.5), "variance = -0.5 must not be negative"),
    ],
)
def test_bad_pairs_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        good: dict[str, Any] = dict(pull=1.0, delay=1.0)
        atlas.delay_diffusion(**good | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (dict(drifts=[]), "drifts has shape"),
        (dict(variances=[1.0]), "variances has 1 values; pass 2"),
        (dict(variances=[1.0, -1.0]), r"variances\[1\] = -1.0 must not be negative"),
        (dict(floor=1), "floor = 1 must be True or False"),
        (dict(name_drifts=[0.0]), "name_drifts has 1 values; pass 2"),
    ],
)
def test_bad_models_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        good: dict[str, Any] = dict(drifts=[1.0, -1.0], variances=[1.0, 1.0], delay=1.0)
        atlas.DelayDiffusion(**good | changes)


@pytest.mark.parametrize(
    ("scheme", "changes", "message"),
    [
        (atlas.DelayedBridge(step=0.3), {}, "step = 0.3 does not divide the delay 1.0; .* 0.25"),
        (atlas.DelayedBridge(step=2.0), {}, "step = 2.0 does not divide the delay"),
        (atlas.BridgeEuler(step=0.25), {}, "BridgeEuler does not know the past"),
        (atlas.DelayedBridge(step=0.25), dict(initial="stationary"), "none is known with a delay"),
        (atlas.DelayedBridge(step=0.25), dict(initial="empty"), "the model has none"),
        (atlas.DelayedBridge(step=0.25), dict(initial=[np.nan, 0.0]), "needs a finite start"),
        (atlas.DelayedBridge(step=0.25), dict(regulators=True), "regulators = True"),
    ],
)
def test_runs_that_cannot_be_are_refused(scheme, changes, message):
    with pytest.raises(ValueError, match=message):
        run(PAIR, scheme, horizon=1.0, **changes)


def test_models_without_delay_are_for_other_schemes():
    with pytest.raises(ValueError, match="its drift has no delay; BridgeEuler"):
        atlas.simulate(atlas.atlas_model(3, 1.0), atlas.DelayedBridge(step=0.1), horizon=1.0)
    law = atlas.stationary_gaps(PAIR.without_delay())
    np.testing.assert_allclose(law.mean, VARIANCE / (2 * PULL))
    with pytest.raises(ValueError, match="differ by particle"):
        atlas.DelayDiffusion([1.0, -1.0], [1.0, 2.0], 1.0).without_delay()


def test_a_path_that_is_not_finite_names_replica_and_step():
    huge = atlas.DelayDiffusion([0.5, -0.5], [1, 1], 1.0, floor=False, name_drifts=[3e38, 0])
    with pytest.raises(atlas.SimulationError, match=r"replica 0 has a position .* after step"):
        run(huge, horizon=9.0, dtype="float32")


def spread(pull, step, *, seed=0, delay=1.0, noise_step=None, replicas=8192, horizon=60):
    """Time averages of |D| by replica, in equilibrium."""
    solution = atlas.simulate(
        atlas.delay_diffusion(pull, delay, 1.0),
        atlas.DelayedBridge(step=step),
        times=np.arange(10.0, horizon),
        initial=[0.0, 0.0],
        replicas=replicas,
        seed=seed,
        noise_step=noise_step,
    )
    return solution.gaps[..., 0].astype(float).mean(axis=0)


@pytest.mark.slow
def test_no_delay_gives_the_exponential_law():
    """Oracle: E|D| = variance / (2 pull). Euler's bias at step h is below pull h / 2 there, and
    z = 4.9; the spread of the least delayed pull is rejected."""
    samples = spread(1.0, 1 / 64, delay=0.0)
    error = samples.std() / np.sqrt(samples.size)
    assert abs(samples.mean() - 0.5) < 4.9 * error + 1 / 128
    assert abs(samples.mean() - float(atlas.LEAST_DELAY_SPREAD.value)) > 0.4


@pytest.mark.slow
def test_weak_order_of_the_scheme_on_coupled_runs():
    """E|D| at steps 1/4, 1/8, 1/16 on one noise: successive differences shrink by 2^p. With p near
    3/2 and s.e. .06 of the ratio's logarithm the window excludes orders 1/2 and 2 at 1e-6, and the
    bias at 1/8 is below a fifth of that of the left end alone, h/2 dE|D|/dd = .55 h."""
    coarse, middle, fine = (
        spread(1.0, h, noise_step=1 / 16, replicas=65536) for h in (0.25, 0.125, 0.0625)
    )
    first, second = coarse - middle, middle - fine
    ratio = first.mean() / second.mean()
    assert 2**0.8 < ratio < 2**2.2
    assert abs(second.mean()) < 0.2 * 0.55 * 0.125


@pytest.mark.slow
def test_the_measured_optimum_is_the_least_spread():
    """Oracle: the stored constants, from other seeds. z = 4.9 and the bias 1.2e-3 of step 1/16
    detect .006; spreads at .7 and 1.5 times the optimal pull are rejected."""
    best = float(atlas.OPTIMAL_DELAY_GAIN.value)
    least = float(atlas.LEAST_DELAY_SPREAD.value)
    low, here, high = (spread(best * f, 1 / 16, seed=9, replicas=16384) for f in (0.7, 1.0, 1.5))
    error = here.std() / np.sqrt(here.size)
    assert abs(here.mean() - least) < 4.9 * error + 1.2e-3
    for other in (low, high):
        worse = other - here
        assert worse.mean() > 4.9 * worse.std() / np.sqrt(worse.size)


@pytest.mark.slow
def test_a_strong_pull_oscillates_with_period_four_delays():
    """Oracle: the relay's period 4 delay as the pull grows. The Welch spectrum of D peaks within
    6 % of the frequency 1/4; a period of 2 delays is rejected."""
    solution = atlas.simulate(
        atlas.delay_diffusion(12.0, 1.0, 1.0),
        atlas.DelayedBridge(step=1 / 16),
        times=np.arange(20.0, 276.0, 0.125),
        initial=[0.0, 0.0],
        replicas=64,
        seed=4,
        names=True,
    )
    frequency, power = signal.welch(difference(solution), fs=8.0, nperseg=512, axis=0)
    peak = frequency[np.argmax(power.mean(axis=1))]
    assert peak == pytest.approx(0.25, rel=0.06)
