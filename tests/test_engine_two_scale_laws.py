"""Two-scale leaps against the chain event by event, and mistakes that the same tests must find."""

import numpy as np
import pytest
from scipy import stats

import queueing
from tests.test_engine_two_scale import run_two_scale
from tests.two_scale_twin import run_twin, twin_of

pytestmark = pytest.mark.slow
_FALSE_FAIL = 1e-6


def _features(lengths, centre):
    """(R, p): lowest five ranks, maximum, mean, and products that tell joint laws apart."""
    ranked = np.sort(lengths, axis=1).astype(float)
    low, scale = ranked[:, :5], np.sqrt(lengths.shape[1])
    mean = ranked.mean(axis=1, keepdims=True)
    products = [low[:, :1] * low[:, 1:5] / scale, low[:, :1] ** 2 / scale, low[:, :1] == 0.0]
    together = np.minimum(np.abs(mean - centre), 3.0)
    return np.hstack([low, ranked[:, -1:], mean, together, *products])


def _same_law_p_value(one, other):
    """Hotelling's two-sample statistic, by its chi-square limit."""
    centre = np.vstack([one, other]).mean()
    first, second = _features(one, centre), _features(other, centre)
    difference = first.mean(axis=0) - second.mean(axis=0)
    spread = np.cov(first, rowvar=False) / len(first) + np.cov(second, rowvar=False) / len(second)
    return stats.chi2.sf(difference @ np.linalg.pinv(spread) @ difference, difference.size)


def _grid(regime):
    """A deterministic start with the density of the stationary law."""
    return (np.arange(1, regime.n + 1) * regime.scaling.length / regime.a).astype(int)


# (n, duration, macro step, replicas of the engine, of the chain)
_CASES = [(16, 2.0, 0.4, 3000, 10_000), (100, 1.0, 0.2, 2000, 3000), (1000, 0.1, 0.03, 800, 800)]


@pytest.mark.parametrize("start", ["grid", "empty"])
@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"n={case[0]}")
def test_the_joint_law_is_the_chains(case, start):
    """Oracle: the chain event by event; lowest five, maximum, mean and products; 1e-6 each.

    Detects 5 standard errors of any feature, about 3 % of a low rank at n = 100.
    """
    n, duration, step, replicas, more = case
    regime = queueing.extreme_congestion(n, 2.0, 1.0)
    at_start = _grid(regime) if start == "grid" else np.zeros(n, int)
    chain, _ = run_twin(twin_of(regime), at_start, duration, replicas=more, seed=1)
    found, bounds = run_two_scale(
        (regime, None), at_start, duration, replicas=replicas, seed=2, macro_step=step
    )
    assert _same_law_p_value(found, chain) > _FALSE_FAIL
    assert bounds.max() <= 1e-9


@pytest.mark.parametrize("n", [16, 100])
def test_adapted_steps_have_the_same_law(n):
    """Oracle and rates as above; the length of macro steps is left to the engine."""
    regime = queueing.extreme_congestion(n, 2.0, 1.0)
    chain, _ = run_twin(twin_of(regime), _grid(regime), 1.0, replicas=3000, seed=3)
    found, _ = run_two_scale((regime, None), _grid(regime), 1.0, replicas=2000, seed=4)
    assert _same_law_p_value(found, chain) > _FALSE_FAIL


_FAULTS = [("far queues move together", 0.5, 3.0), ("late near set", 1.5, 1.0), ("none", 1.5, -0.9)]


@pytest.fixture(scope="module")
def small_chain():
    """Sixteen queues with a strong stream to the shortest, 30 000 replicas of the chain."""
    regime = queueing.extreme_congestion(16, 2.0, 1.5)
    return regime, run_twin(twin_of(regime), _grid(regime), 6.0, replicas=30_000, seed=5)[0]


@pytest.mark.parametrize(("fault", "step", "reach"), _FAULTS)
def test_mistakes_are_found(fault, step, reach, small_chain):
    """The same test on the twin: far queues that share one U and D, a near set that is one macro
    step late, and one that holds the shortest queue only; without a fault it passes."""
    regime, chain = small_chain
    options = {"replicas": 30_000, "seed": 6}
    if fault != "none":
        sound = twin_of(regime, step=step, reach=reach)
        same, _ = run_twin(sound, _grid(regime), 6.0, **options)
        assert _same_law_p_value(same, chain) > _FALSE_FAIL
    twin = twin_of(regime, step=step, reach=reach, fault=fault)
    wrong, _ = run_twin(twin, _grid(regime), 6.0, **options)
    assert _same_law_p_value(wrong, chain) < _FALSE_FAIL


@pytest.mark.parametrize(("reach", "rounds"), [(0.0, 1), (1.0, 1), (2.0, 1), (3.0, 1), (4.0, 6)])
def test_violations_stay_below_their_bound(reach, rounds):
    """Observed on the chain, with near sets too small on purpose, 40 000 replicas a round.

    Three queues are low and all others just beyond the near set, with a strong stream by rank. The
    bound is above the observed frequency less 5 standard errors, and less than 100 times it.
    """
    replicas = 40_000 * rounds
    regime = queueing.extreme_congestion(100, 20.0, 15.0)
    twin = twin_of(regime, step=0.1, reach=reach)
    deviation = np.sqrt(2.0 * twin.service * twin.step)
    first_far = 31 + np.ceil(deviation) + np.ceil(reach * deviation)
    start = np.where(np.arange(100) < 3, 30, first_far).astype(int)
    num_violated = sum(
        run_twin(twin, start, 0.1, replicas=40_000, seed=7 + k)[1] for k in range(rounds)
    )
    _, bounds = run_two_scale(
        (regime, None), start, 0.1, replicas=500, seed=8, macro_step=0.1, reach=reach
    )
    observed = num_violated / replicas
    error = np.sqrt(max(num_violated, 1)) / replicas
    assert num_violated > 30
    assert bounds.mean() > observed - 5.0 * error
    assert bounds.mean() < 100.0 * (observed + error)


def test_a_bound_that_leaves_out_touching_is_found_out():
    """Where a walk moves by a few jobs only, P(m >= d + 1) is below what is observed."""
    regime = queueing.extreme_congestion(4, 1.0, 0.9)
    start, replicas, length = np.array([2, 5, 5, 5]), 200_000, 0.15
    twin = twin_of(regime, step=length, reach=0.0)
    _, num_violated = run_twin(twin, start, length, replicas=replicas, seed=9)
    _, bounds = run_two_scale(
        (regime, None), start, length, replicas=2000, seed=10, macro_step=length, reach=0.0
    )
    observed = num_violated / replicas
    assert bounds.mean() > observed - 5.0 * np.sqrt(num_violated) / replicas
    assert bounds.mean() < 100.0 * observed


def test_long_runs_have_the_exact_means():
    """Oracles: E idle = (a - b)/sqrt(n) and the mean queue's identity; 6 standard errors.

    PASTA for the lowest ranks, whole states at equal intervals for the others.
    """
    regime = queueing.extreme_congestion(100, 2.0, 1.0)
    run = queueing.long_run(
        regime, horizon=150.0, warmup=0.0, initial="stationary", replicas=24, seed=11,
        engine="two_scale", progress=False,
    )  # fmt: skip
    idle = run.estimate("idle_servers")
    assert abs(idle.value - regime.idle_servers) < 6.0 * idle.std_error < 0.1
    ranked = run.estimate("lengths_ranked")
    leap = queueing.long_run(
        regime, horizon=150.0, warmup=0.0, initial="stationary", replicas=24, seed=12,
        engine="leap", progress=False,
    )  # fmt: skip
    other = leap.estimate("lengths_ranked")
    errors = np.hypot(ranked.std_error, other.std_error)
    assert np.all(np.abs(ranked.value - other.value) < 6.0 * errors)
    for name in ("prob_tie", "prob_wait", "total", "occupancy"):
        one, two = run.estimate(name), leap.estimate(name)
        assert np.all(np.abs(one.value - two.value) <= 6.0 * np.hypot(one.std_error, two.std_error))
    with pytest.raises(ValueError, match="two_scale"):
        run.estimate("total_at_events")
