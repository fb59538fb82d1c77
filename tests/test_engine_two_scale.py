"""Leaps on two scales: the chain's law, and a bound of what may go wrong that can be trusted."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, System
from queueing._engine._leap_interval import GROUP, fill_leap, make_leap_tables
from queueing._engine._two_scale import TwoScaleEngine
from queueing._engine._two_scale_bound import (
    NUM_CLASSES,
    depth_tail,
    depth_tail_bound,
    first_far_class,
    measure_distances,
    servers_within,
)
from queueing._subject import resolve_subject
from tests.test_engine_batches import CLASSES, CONGESTED, THIN, check_block

_FALSE_FAIL = 1e-6


def run_two_scale(subject, start, duration, *, replicas, seed, **options):
    """(R, K) lengths by server after `duration`, and the violation bounds (R,)."""
    engine = TwoScaleEngine(**options).configured(
        horizon=duration, violation_budget=1e-9, num_threads=1
    )
    begin = engine.prepare(resolve_subject(*subject), None)
    lengths, bounds = [], []
    for replica in range(replicas):
        run = begin(np.asarray(start), np.random.SeedSequence([seed, replica]))
        run.advance(duration)
        lengths.append(run.lengths())
        bounds.append(run.violation_bound())
    return np.array(lengths), np.array(bounds)


_MEANS = [(3.0, 3.2), (0.2, 1.5), (6.0, 2.0), (0.0, 4.0), (40.0, 40.5)]


def _exact_depth_tails(depths, up, down):
    """P(the walk comes down by d or more in a unit of time), by the matrix exponential."""
    tails, above = [], 150
    for depth in depths:
        size = depth + above
        generator = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, down), -1)
        generator[0] = 0.0
        generator -= np.diag(generator.sum(axis=1))
        tails.append(expm(generator)[depth, 0])
    return np.array(tails)


@pytest.mark.parametrize(("up", "down"), _MEANS)
def test_the_tail_of_a_walks_depth_is_bounded_tightly(up, down):
    """Oracle: the matrix exponential of the walk stopped at the depth, to 1e-12.

    Where touching does not count, by the tail at d + 1, less than the exact tail is found.
    """
    depths = np.array([1, 2, 5, 9, 20, 45])
    tables = make_leap_tables()
    law = fill_leap(up, down, tables)
    exact = _exact_depth_tails(depths, up, down)
    tail = depth_tail(depths, law, tables.change.weights, up, down)
    np.testing.assert_allclose(tail, exact, rtol=2e-6, atol=1e-12)
    assert np.all(tail >= exact - 1e-13)
    bounds = [depth_tail_bound(depth, up, down) for depth in depths]
    assert np.all(bounds >= exact - 1e-13)
    strict = depth_tail(depths + 1, law, tables.change.weights, up, down)
    assert np.all(strict[:3] < 0.95 * exact[:3])


def test_far_tails_are_bounded_beyond_the_table():
    """Without down-steps nothing comes down; beyond the window Chernoff takes over, above 0."""
    tables = make_leap_tables()
    law = fill_leap(3.0, 0.0, tables)
    assert depth_tail(np.array([1, 7]), law, tables.change.weights, 3.0, 0.0).tolist() == [0.0, 0.0]
    law = fill_leap(5.0, 5.0, tables)
    tails = depth_tail(np.array([40, 80, 400]), law, tables.change.weights, 5.0, 5.0)
    exact = [2.0 * stats.skellam.cdf(-d, 5.0, 5.0) for d in (40, 80)]
    assert np.all(tails[:2] >= 0.5 * np.array(exact))
    assert 0.0 < tails[1] < 1e-40 and tails[2] < 1e-300


def test_the_near_set_is_as_small_as_the_budget_allows():
    """The classes hold every queue once; one class fewer would exceed the budget."""
    lengths = np.random.default_rng(1).integers(0, 3000, 1000)
    minima = np.array([part.min() for part in np.split(lengths, range(GROUP, 1000, GROUP))])
    bounds, means = np.array([0, 400, 1000]), np.array([200.0, 300.0])
    distances = measure_distances(lengths, minima, bounds, 100, 24.0)
    num_low = np.count_nonzero(lengths <= 100)
    assert distances.counts.sum() == 1000 - num_low
    first = first_far_class(distances, means, means, 1e-6)
    near = servers_within(distances, first)
    np.testing.assert_array_equal(near, np.flatnonzero(lengths <= 100 + first * distances.width))

    def expected(limit):
        far = lengths > limit
        return sum(
            depth_tail_bound(length - 100, mean, mean)
            for lo, hi, mean in zip(bounds, bounds[1:], means, strict=False)
            for length in lengths[lo:hi][far[lo:hi]]
        )

    assert expected(100 + first * distances.width) < 1e-6
    assert expected(100 + (first - 3) * distances.width) > 1e-7
    assert first_far_class(distances, means, means, 1.0) < first
    assert first_far_class(distances, 1e9 * means, 1e9 * means, 1e-9) == NUM_CLASSES + 1


def _joint_p_value(lengths, exact, cap=(4, 6, 14)):
    """Chi-square of ranked lengths of three servers, cut into cells, against an exact law."""
    cut = np.minimum(np.sort(lengths, axis=1) // 2, cap)
    states = np.minimum(np.sort(exact.states, axis=1) // 2, cap)
    factors = np.array([1, 16, 256])
    law = np.bincount(states @ factors, weights=exact.probabilities[-1], minlength=4096)
    counts = np.bincount(cut @ factors, minlength=4096)
    expected = counts.sum() * law
    kept = expected >= 8.0
    observed = np.append(counts[kept], counts[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 8.0:
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


_FARM = (System(np.full(3, 4.0), 11.0), Marginal(JSQ(), rate=2.0))
_START = [1, 3, 20]


def test_two_scale_leaps_have_the_chains_joint_law():
    """Oracle: uniformisation, 3 servers, one far; chi-square on 500 replicas, false fail 1e-6.

    Detects about .1 in total variation; special arrivals that go nowhere are rejected. Faults of
    the near set and of the far queues are in the slow tests, on systems that show them.
    """
    duration = 0.75
    exact = queueing.exact_transient(*_FARM, times=[duration], initial=_START, max_length=45)
    options = {"macro_step": 0.4, "replicas": 500, "seed": 3}
    sound, bounds = run_two_scale(_FARM, _START, duration, **options)
    assert _joint_p_value(sound, exact) > _FALSE_FAIL
    assert 0.0 < bounds.max() < 1e-9
    lost, bounds = run_two_scale((System(np.full(3, 4.0), 9.0), Random()), _START, 0.75, **options)
    assert _joint_p_value(lost, exact) < _FALSE_FAIL
    assert bounds.max() == 0.0


def test_replicas_do_not_depend_on_chunks_or_threads():
    """C5, C6: 10^5 servers, so that threads share one replica; bit for bit."""
    regime = queueing.extreme_congestion(100_000, 2.0, 1.0)
    common = {"times": [0.01], "initial": "stationary", "seed": 4, "num_levels": 1}
    common |= {"engine": "two_scale", "num_ranks": 100_000, "progress": False}
    alone = queueing.simulate(regime, replicas=range(1, 2), num_threads=1, **common)
    shared = queueing.simulate(regime, replicas=range(1, 2), num_threads=3, **common)
    np.testing.assert_array_equal(alone.lengths_ranked, shared.lengths_ranked)
    both = queueing.simulate(regime, replicas=2, num_threads=2, **common)
    np.testing.assert_array_equal(both.lengths_ranked[:, 1], alone.lengths_ranked[:, 0])
    assert not np.array_equal(both.lengths_ranked[:, 0], both.lengths_ranked[:, 1])
    assert 0.0 < both.values("violation_bound").max() <= both.attrs["violation_budget"] == 1e-9
    assert both.attrs["violation_bound"] == both.values("violation_bound").max()


def test_a_budget_that_is_exceeded_is_an_error(monkeypatch):
    """With a near set too small on purpose; `throw=False` returns the result, which says so."""
    too_near = TwoScaleEngine(macro_step=0.5, reach=0.0)
    monkeypatch.setitem(queueing.ENGINES, "two_scale", too_near)
    options = {"initial": [1, 6, 9], "seed": 5, "engine": "two_scale", "progress": False}
    with pytest.raises(queueing.ViolationBoundError, match="raise violation_budget"):
        queueing.simulate(*_FARM, times=[1.0], **options)
    out = queueing.simulate(*_FARM, times=[1.0], throw=False, **options)
    assert "violation bound exceeded" in out.attrs["result"]
    assert out.values("violation_bound").shape == (1,)
    bad: list[Any] = [0.0, -1.0, 1.5, np.nan, True, "1e-9"]
    for budget in bad:
        with pytest.raises(ValueError, match="violation_budget"):
            queueing.simulate(*_FARM, times=[1.0], violation_budget=budget, **options)


def test_what_two_scales_do_not_serve_is_refused():
    system = System(np.ones(10), 5.0)
    for policy in (PowerOfD(2), RankBased(np.full(10, 0.1)), Marginal(PowerOfD(2), fraction=0.1)):
        with pytest.raises(ValueError, match="engine='leap'"):
            queueing.simulate(system, policy, horizon=1.0, engine="two_scale")
    many = System(np.linspace(1.0, 2.0, 20), 5.0)
    with pytest.raises(ValueError, match="engine='leap'"):
        queueing.simulate(many, Marginal(JSQ(), rate=0.1), horizon=1.0, engine="two_scale")
    with pytest.raises(ValueError, match="raise horizon"):
        policy = Marginal(JSQ(), rate=0.1)
        queueing.long_run(system, policy, horizon=10.0, engine="two_scale")


def test_auto_takes_two_scales_for_large_systems_only():
    """The rule that the documentation of `simulate` states."""
    for n, name in ((1_000, "leap"), (2_000, "two_scale")):
        regime = queueing.extreme_congestion(n, 2.0, 1.0)
        out = queueing.simulate(regime, times=[0.0], seed=6, num_ranks=1, progress=False)
        assert out.attrs["engine"] == name


_DEGENERATE = {
    "no arrivals": (System(np.ones(3), 0.0), JSQ()),
    "no stream by rank": (System(np.ones(3), 2.0), Random()),
    "one server": (System([2.0], 1.5), Marginal(JSQ(), rate=0.5)),
    "all by rank": (System(np.ones(3), 2.0), JSQ()),
    "a server that rests": (System([1.0, 0.0, 1.0], 1.0), Marginal(JSQ(), rate=0.3)),
    "unlike servers": (System([9.0, 1.0, 2.0], 3.0), Marginal(JSQ(), rate=0.3)),
}


@pytest.mark.parametrize("name", _DEGENERATE)
def test_degenerate_systems(name):
    """No hang, no negative queue, for tiny, long and no times."""
    out = queueing.simulate(
        *_DEGENERATE[name], times=[0.0, 0.0, 1e-9, 3.0], initial="empty", replicas=2, seed=7,
        engine="two_scale", progress=False,
    )  # fmt: skip
    assert out.lengths.min() >= 0 and np.all(out.lengths[:2] == 0)
    if name == "no arrivals":
        assert out.lengths.max() == 0
    assert np.isfinite(out.values("violation_bound")).all()


@pytest.mark.parametrize("case", [(CONGESTED, None), (CLASSES, THIN)])
def test_a_block_of_replicas_is_single_replicas(case):
    check_block("two_scale", case)
