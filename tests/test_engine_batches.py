"""Blocks of replicas give what single replicas give, number by number."""

import numpy as np
import pytest

import queueing
from atlas.ensemble import resolve_seed
from queueing import JSQ, PausedSystem, RankBased, RoundRobin, System
from queueing._engine import ENGINES, _base, _markov_batch
from queueing._engine._alias import alias_table
from queueing._engine._base import OneByOne
from queueing._engine._event_loop import event_rates
from queueing._engine._leap_batch import LeapBatch
from queueing._engine._leap_loop import LeapSystem
from queueing._engine._leap_subject import LeapSubject
from queueing._engine._replica_seeds import replica_generators, replica_words
from queueing._state_view import StateView
from queueing._subject import resolve_subject
from tests.special_arrivals import arrivals_by_hand

_DURATIONS = np.array([0.0, 0.3, 0.0, 0.7])
CONGESTED = queueing.extreme_congestion(40, 2.0, 1.0)
_UNEQUAL = System(np.array([1.0, 5.0, 2.0, 4.0, 1.0]), 9.0, buffer=6)
# Two classes of servers, and ranks above the lowest.
CLASSES = System(np.repeat([3.0, 9.0], 40), 400.0)
THIN = queueing.Marginal(RankBased(np.r_[0.5, 0.0, 0.5, np.zeros(77)]), rate=5.0)
_STILL = (System(np.zeros(3), 0.0), JSQ())
_CASES = [
    ("markov", (CONGESTED, None)),
    ("markov", (_UNEQUAL, JSQ())),
    ("markov", (_UNEQUAL, RoundRobin())),
    ("markov", _STILL),
    ("leap", (CONGESTED, None)),
    ("leap", (CLASSES, THIN)),
    ("pauses", (CONGESTED.with_pauses(), None)),
]


def _table(batch, num_rows, num_servers):
    table = np.full((num_rows, num_servers), -1)
    for rows, states in batch.states(_DURATIONS):
        table[rows] = states
    return table


def check_block(engine, case):
    """Exact: same states, same bounds; other replicas, or another seed, have others."""
    subject = resolve_subject(*case)
    runner = ENGINES[engine].configured(horizon=1.0, violation_budget=1e-9, num_threads=1)
    replicas, size = range(5, 8), subject.num_servers
    start = np.cumsum(np.random.default_rng(1).integers(0, 3, (3, size)), axis=1) % 7
    if engine == "pauses":
        start.sort(axis=1)
    if engine in ("leap", "two_scale"):
        # Nothing that is known of a replica far from 0 may serve the next one.
        start[0] += 1000

    def states(seed, indices):
        return _table(begin(start, resolve_seed(seed), indices), 12, size)

    begin = runner.prepare_batch(subject)
    together = begin(start, resolve_seed(2), replicas)
    alone = OneByOne(runner.prepare(subject, None), start, resolve_seed(2), replicas)
    found = _table(together, 12, size)
    np.testing.assert_array_equal(found, _table(alone, 12, size))
    np.testing.assert_array_equal(found[::4], start)
    bounds = alone.violation_bounds()
    assert (bounds is None) == (together.violation_bounds() is None)
    if bounds is not None:
        np.testing.assert_array_equal(bounds, together.violation_bounds())
    if case is not _STILL:
        assert np.any(found != states(3, replicas))
        assert np.any(found[4:] != states(2, range(4, 7))[4:])


@pytest.mark.parametrize(("engine", "case"), _CASES)
def test_a_block_of_replicas_is_single_replicas(engine, case):
    check_block(engine, case)


def test_long_replicas_leave_the_block(monkeypatch):
    """Exact: what is too long for a block is run one by one, to the same numbers."""
    subject = resolve_subject(_UNEQUAL, JSQ())
    begin = ENGINES["markov"].prepare_batch(subject)
    start = np.ones((2, 5), int)
    found = _table(begin(start, resolve_seed(1), range(2)), 8, 5)
    monkeypatch.setattr("queueing._engine._markov_batch._MOST_LEVELS", 3)
    single = _table(begin(start, resolve_seed(1), range(2)), 8, 5)
    np.testing.assert_array_equal(found, single)


class _Stub:
    """A run whose lengths say which replica it is, when it started and how long it went on."""

    def __init__(self, lengths, sequence):
        self._state = np.array([*lengths[:2], *sequence.spawn_key, 0])

    def lengths(self):
        return self._state.copy()

    def advance(self, duration):
        self._state[-1] += round(10.0 * duration)

    def violation_bound(self):
        return None


def test_what_policies_remember_is_not_put_together_at_any_price(monkeypatch):
    """Exact: memories of unlike sizes, or too large ones, send replicas one by one."""
    system = System(np.arange(1.0, 5.0), 3.0)
    kernel, lengths = queueing.JFSQ().kernel(system), np.array([[1, 0, 2, 4], [900, 0, 0, 0]])
    alike = _markov_batch._memories(kernel, lengths[[0, 0]])
    assert alike is not None
    np.testing.assert_array_equal(alike, [kernel.memory(lengths[0])] * 2)
    assert _markov_batch._memories(kernel, lengths) is None
    rules = _markov_batch.BatchRules(kernel, event_rates(system), 7.0, _Stub)
    expected = [[1, 0, 4, 0], [1, 0, 4, 3], [1, 0, 4, 3], [1, 0, 4, 10]]
    expected += [[900, 0, 5, 0], [900, 0, 5, 3], [900, 0, 5, 3], [900, 0, 5, 10]]
    for most in (_base._LENGTHS_SEEN_TOGETHER, 8, 1):
        monkeypatch.setattr(_base, "_LENGTHS_SEEN_TOGETHER", most)
        batch = _markov_batch.MarkovBatch(rules, lengths, resolve_seed(1), range(4, 6))
        assert _table(batch, 8, 4).tolist() == expected
    monkeypatch.setattr(_markov_batch, "_MOST_MEMORIES", 2 * alike.shape[1] - 1)
    assert _markov_batch._memories(kernel, lengths[[0, 0]]) is None


@pytest.mark.parametrize("ranks", [[0], [0, 2]])
def test_leaps_take_special_arrivals_as_they_come(ranks):
    """Oracle: `arrivals_by_hand`; servers that never work, in two classes."""
    weights = np.zeros(ranks[-1] + 1)
    weights[ranks] = 1.0 / len(ranks)
    none = np.zeros(2)
    bounds = np.array([0, 70, 100])
    table = alias_table(weights)
    system = LeapSystem(40.0, *table, bounds, none, none, 0.0)
    servers = np.random.default_rng(3).permutation(100)
    start = np.random.default_rng(2).integers(0, 5, (2, 100))
    shared = LeapSubject(system, servers, None, none)  # type: ignore[arg-type]
    batch = LeapBatch(shared, start, resolve_seed(1), range(2))
    sides = batch._banks.side.copy()
    batch.advance(3.0)
    for lengths, row, side in zip(batch.lengths(), start, sides, strict=True):
        by_hand = arrivals_by_hand(row[servers], 3.0, 40.0, table, side)
        np.testing.assert_array_equal(lengths[servers], by_hand)


_MANY = 1e6
BIRTHS = (System(np.full(40, 1e-9), _MANY), queueing.Marginal(JSQ(), rate=50.0)), 0, 1.0
DEATHS = (System(np.full(40, _MANY / 40), 0.0), JSQ()), 3_000_000, -1.0
_CLOCKS = [
    ("markov", (System([0.0, 1e-9], _MANY), JSQ()), 0, 1.0),
    ("markov", (System([0.6 * _MANY, 0.4 * _MANY], 0.0), JSQ()), 3_000_000, -1.0),
    ("pauses", (PausedSystem([0.0, _MANY], [0.0, 0.0]), None), 0, 1.0),
    ("pauses", (PausedSystem([0.0, 0.0], [_MANY, 0.0]), None), 3_000_000, -1.0),
    ("leap", *BIRTHS),
    ("leap", *DEATHS),
    pytest.param("batched", *BIRTHS, marks=pytest.mark.slow),
]


def check_clock(engine, case, start, sign):
    """Arrivals only, or services only, 2e6 of them in two spans of time: Poisson, 6 sigma each.

    Detects .9 % of a rate.
    """
    subject = resolve_subject(*case)
    runner = ENGINES[engine].configured(horizon=2.0, violation_budget=1e-9, num_threads=1)
    lengths = np.full((1, subject.num_servers), start)
    batch = runner.prepare_batch(subject)(lengths, resolve_seed(4), range(1))
    totals = [start * subject.num_servers]
    for _, states in batch.states(np.array([0.5, 1.5])):
        totals += states.sum(axis=1).tolist()
    changes, means = sign * np.diff(totals), np.array([0.5, 1.5]) * _MANY
    assert np.all(abs(changes - means) < 6.0 * np.sqrt(means))


@pytest.mark.parametrize(("engine", "case", "start", "sign"), _CLOCKS)
def test_the_clock_goes_right(engine, case, start, sign):
    check_clock(engine, case, start, sign)


@pytest.mark.parametrize("seed", [0, 7, 2**63])
@pytest.mark.parametrize("purpose", [(), (5,), (2**32 - 1, 1, 9)])
def test_seeds_of_replicas_are_numpys(seed, purpose):
    """Oracle: numpy.random.SeedSequence, bit for bit."""
    root, replicas = resolve_seed(seed), range(3, 2**32, 2**30 + 11)
    words = replica_words(root, replicas, purpose, 7)
    expected = [root.sequence(r, *purpose).generate_state(7, np.uint64) for r in replicas]
    np.testing.assert_array_equal(words, expected)


def test_generators_of_replicas_are_numpys():
    root = resolve_seed(5)
    for replica, generator in zip(range(4), replica_generators(root, range(4), 9), strict=True):
        numpys = np.random.Generator(np.random.PCG64(root.sequence(replica, 9)))
        np.testing.assert_array_equal(generator.random(5), numpys.random(5))


@pytest.mark.parametrize("num_ranks", [1, 3, 50])
def test_the_view_of_many_states_is_that_of_each(num_ranks):
    """Oracle: sorting and counting each state by itself."""
    states = np.random.default_rng(1).integers(0, 9, (20, 50))
    seen = StateView(num_ranks, True, 4, None, {}).of(states)
    for k, state in enumerate(states):
        ranked = np.sort(state)
        np.testing.assert_array_equal(seen["lengths_ranked"][k], ranked[:num_ranks])
        np.testing.assert_array_equal(seen["lengths"][k], state)
        assert seen["total"][k] == state.sum()
        assert seen["imbalance"][k] == state.max() - state.min()
        assert seen["idle_servers"][k] == np.count_nonzero(state == 0)
        shares = [np.mean(state >= level) for level in range(1, 5)]
        np.testing.assert_allclose(seen["occupancy"][k], shares, rtol=1e-14)
        assert seen["prob_tie"][k] == (ranked[0] == ranked[1])
