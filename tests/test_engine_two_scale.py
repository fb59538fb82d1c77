"""Leaps on two scales: the chain's law, and a bound of what may go wrong that can be trusted."""

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, System
from queueing._engine import _two_scale_far, _two_scale_steps
from queueing._engine._alias import alias_table
from queueing._engine._leap_interval import GROUP, fill_leap, make_leap_scratch, make_leap_tables
from queueing._engine._leap_loop import LeapSystem
from queueing._engine._two_scale import TwoScaleEngine
from queueing._engine._two_scale_bound import (
    NUM_CLASSES,
    depth_tail,
    depth_tail_bound,
    first_far_class,
    measure_distances,
    servers_within,
)
from queueing._engine._two_scale_far import (
    SERVERS_PER_BLOCK,
    SharedLeap,
    WorkSpace,
    WorkSpaces,
    leap_blocks,
    num_block_words,
)
from queueing._engine._two_scale_near import make_sight, run_near
from queueing._engine._two_scale_pace import first_pace
from queueing._engine._two_scale_pieces import make_pieces
from queueing._engine._two_scale_steps import StepRules, advance_alone, build_advance, make_walkers
from queueing._engine._xoshiro import BANK_WORDS, make_bank
from queueing._subject import resolve_subject
from tests.special_arrivals import arrivals_by_hand
from tests.test_engine_batches import (
    BIRTHS,
    CLASSES,
    CONGESTED,
    DEATHS,
    THIN,
    check_block,
    check_clock,
)

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


def _leap_system(special_rate, ranks, rates, bounds):
    weights = np.zeros(ranks[-1] + 1)
    weights[ranks] = 1.0 / len(ranks)
    cut, alias = alias_table(weights)
    arrivals, services = (np.asarray(each, float) for each in rates)
    top = float(max(arrivals.max(), services.max()))
    return LeapSystem(special_rate, cut, alias, np.array(bounds), arrivals, services, top)


def _start(lengths, pace):
    """Walkers from lengths (R, 100); those of the last replica are the same alone."""
    rng, sizes = np.random.default_rng(3), (BANK_WORDS, num_block_words(100))
    words, blocks = (rng.integers(0, 2**64, (2, size), np.uint64) for size in sizes)
    count = len(lengths)
    return make_walkers(lengths.copy(), words[-count:], blocks[-count:], pace)


def _advance(way, monkeypatch):
    """By macro steps with few near queues, or with so many that plain leaps are cheaper."""
    if way == "near":
        return advance_alone
    monkeypatch.setattr(_two_scale_steps, "_MANY_NEAR", 0)
    monkeypatch.setattr(_two_scale_steps, "_NEAR_SHARE", 0.0)
    return build_advance(leap_blocks)


@pytest.mark.parametrize(("way", "ranks"), [("near", [0]), ("near", [0, 2]), ("plain", [0, 2])])
def test_macro_steps_take_special_arrivals_as_they_come(way, ranks, monkeypatch):
    """Oracle: `arrivals_by_hand`; servers that never work, so that a rise of the lowest ranks ends
    every macro step, with a special arrival due."""
    system = _leap_system(40.0, ranks, ([0.0, 0.0], [0.0, 0.0]), [0, 70, 100])
    start = np.random.default_rng(2).integers(0, 9, (2, 100))
    walkers = _start(start, first_pace(system, 9.0))
    walkers.is_pending[1] = True
    sides, advance = walkers.bank.side.copy(), _advance(way, monkeypatch)
    rules = StepRules(system, make_pieces(system), 1e-9, -1.0)
    advance(walkers, 5.0, rules, WorkSpaces(100).own, make_sight(ranks[-1] + 1), False)
    table = system.rank_cut, system.rank_alias
    for r, lengths in enumerate(walkers.blocks.lengths):
        by_hand = arrivals_by_hand(start[r], 5.0, 40.0, table, sides[r], is_due=r == 1)
        np.testing.assert_array_equal(lengths, by_hand)
    assert np.all((walkers.sums[:, 1] >= 5.0) & (walkers.sums[:, 0] == 0.0))


def test_macro_steps_keep_what_they_know_of_each_replica():
    """Exact: the least length of every group; and pace, numbers and bound as of a replica alone."""
    system = _leap_system(40.0, [0], ([3.0, 1.0], [4.0, 2.0]), [0, 70, 100])
    start = np.random.default_rng(2).integers(0, 60, (2, 100))
    walkers = _start(start, first_pace(system, 0.1))
    rules = StepRules(system, make_pieces(system), 1e-9, -1.0)
    alone = _start(start[1:], first_pace(system, 0.1))
    for _ in range(20):
        advance_alone(alone, 0.2, rules, WorkSpaces(100).own, make_sight(1), False)
        advance_alone(walkers, 0.2, rules, WorkSpaces(100).own, make_sight(1), False)
        for lengths, minima in zip(walkers.blocks.lengths, walkers.blocks.minima, strict=True):
            parts = np.split(lengths, range(GROUP, 100, GROUP))
            assert minima.tolist() == [part.min() for part in parts]
    num_steps, num_near = walkers.sums[:, 1:].T
    assert np.all(num_near < 50 * num_steps)
    np.testing.assert_array_equal(alone.blocks.lengths[0], walkers.blocks.lengths[1])
    np.testing.assert_array_equal(alone.pace.present[0], walkers.pace.present[1])
    np.testing.assert_array_equal(alone.sums[0], walkers.sums[1])


@pytest.mark.parametrize("way", ["near", "plain"])
def test_near_and_far_queues_of_every_class_move_once(way, monkeypatch):
    """Births only, in two classes, half of each far: Poisson, 6 sigma each, detects 2 % of a rate.

    The 80 special arrivals do not show.
    """
    system = _leap_system(40.0, [0], ([3000.0, 2000.0], [0.0, 0.0]), [0, 70, 100])
    start = np.tile([0, 10**6], 50)[None]
    walkers = _start(start, first_pace(system, 0.25))
    rules = StepRules(system, make_pieces(system), 1e-9, -1.0)
    advance = _advance(way, monkeypatch)
    advance(walkers, 2.0, rules, WorkSpaces(100).own, make_sight(1), False)
    changes = (walkers.blocks.lengths - start)[0].reshape(50, 2)
    found = np.array([changes[:35].sum(axis=0), changes[35:].sum(axis=0)])
    means = np.array([[35 * 6000.0] * 2, [15 * 4000.0] * 2])
    assert np.all(abs(found - means) < 6.0 * np.sqrt(means))
    assert 0.0 < walkers.sums[0, 2] <= 50 * walkers.sums[0, 1]


def test_near_queues_move_at_their_rates_over_any_digits_of_time():
    """Births in one class, deaths in another, 4096 queues each: Poisson, 6 sigma each; every digit
    of the time by itself, and all together. Detects 3 % of a rate at the longest."""
    system = _leap_system(1e-300, [0], ([3.0, 0.0], [0.0, 5.0]), [0, 4096, 8192])
    pieces, bank = make_pieces(system), make_bank(np.random.SeedSequence(6))
    for units in (0.7, 1, 5, 15, 3 * 16, 15 * 16, 7 * 256, 2 * 4096, 13 * 4096, 19 * 4096 + 5000.6):
        lengths, duration = np.full(8192, 10**6), units * pieces.unit
        scratch, sight = make_leap_scratch(8192), make_sight(1)
        run_near(lengths, duration, 10**7, False, system, pieces, bank, scratch, sight, False)
        changes = abs(lengths - 10**6).reshape(2, 4096).sum(axis=1)
        means = 4096 * duration * np.array([3.0, 5.0])
        assert np.all(abs(changes - means) < 6.0 * np.sqrt(means))


def test_the_highest_level_chosen_is_of_any_special_arrival():
    """Queues fall by 200 jobs from 1000, so that the first of 80 special arrivals finds most."""
    system = _leap_system(40.0, [0], ([0.0, 0.0], [100.0, 100.0]), [0, 4, 8])
    pieces, bank = make_pieces(system), make_bank(np.random.SeedSequence(6))
    lengths, scratch, sight = np.full(8, 1000), make_leap_scratch(8), make_sight(1)
    passed, highest, is_due = run_near(
        lengths, 2.0, 10**7, False, system, pieces, bank, scratch, sight, False
    )
    assert (passed, is_due) == (2.0, False)
    assert lengths.max() < 900 < 960 < highest <= 1000


def test_the_bound_counts_every_far_queue_at_its_own_depth():
    """Oracle: the sum over the far queues of the tail at their distance above the highest level
    chosen, in classes one job wide."""
    system = _leap_system(1.0, [0], ([3.0, 1.0], [4.0, 2.0]), [0, 60, 100])
    lengths = np.random.default_rng(1).integers(10, 60, 100)
    minima = np.array([part.min() for part in np.split(lengths, range(GROUP, 100, GROUP))])
    space = WorkSpaces(100).own
    distances = measure_distances(lengths, minima, system.bounds, 20, 3.0)
    plan, found, expected = _two_scale_steps._Plan(2.0, distances, 4), 0.0, 0.0
    for c in range(2):
        law = _two_scale_steps._fill(c, 2.0, system, space)
        found += _two_scale_steps._violation(c, 2.0, system, space, law, plan, 17)
        own = lengths[system.bounds[c] : system.bounds[c + 1]]
        rates = 2.0 * system.arrival_rates[c], 2.0 * system.service_rates[c]
        tails = depth_tail(own[own > 24] - 17, law, space.tables.change.weights, *rates)
        expected += tails.sum()
    assert distances.width == 1
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_macro_step_has_its_share_of_the_budget():
    """Exact: the near set is the one of the budget's rate times the step, above an allowed rise."""
    system = _leap_system(1.0, [0], ([3.0, 1.0], [4.0, 2.0]), [0, 60, 100])
    lengths = np.random.default_rng(1).integers(10, 60, 100)
    minima = np.array([part.min() for part in np.split(lengths, range(GROUP, 100, GROUP))])
    rules = StepRules(system, make_pieces(system), 1e-3, -1.0)
    blocks = SimpleNamespace(lengths=lengths, minima=minima)
    walker: Any = SimpleNamespace(blocks=blocks, pace=first_pace(system, 0.05))
    plan = _two_scale_steps._plan(walker, 1.88, rules, make_sight(1))
    assert plan.duration == 1.88 / 38
    assert plan.distances.level == 10 + np.ceil(np.sqrt(2.0 * 4.0 * 1.88 / 38))
    means = plan.duration * system.arrival_rates, plan.duration * system.service_rates
    assert plan.first == first_far_class(plan.distances, *means, 1e-3 * plan.duration)
    assert plan.first > first_far_class(plan.distances, *means, 1e-3)


def test_replicas_at_a_time_share_no_work_space(monkeypatch):
    """Exact: two callers of one `SharedLeap`, each with its own space for every share."""
    shares: list[Any] = []
    monkeypatch.setattr(_two_scale_far, "_leap_part", lambda *share: shares.append(share))
    size = 3 * SERVERS_PER_BLOCK + 5
    leap = SharedLeap(size, 2)
    nothing: Any = None
    for _ in range(2):
        caller = threading.Thread(
            target=leap, args=(nothing, 7, size, nothing, WorkSpace(nothing, nothing))
        )
        caller.start()
        caller.join()
    assert sorted(share[1:5] for share in shares) == 2 * [(0, 2, 7, size)] + 2 * [(2, 4, 7, size)]
    assert len({share[-1].scratch.words.ctypes.data for share in shares}) == 4


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


@pytest.mark.parametrize(("case", "start", "sign"), [BIRTHS, DEATHS])
def test_the_clock_goes_right(case, start, sign):
    check_clock("two_scale", case, start, sign)
