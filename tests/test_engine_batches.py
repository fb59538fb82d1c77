"""Blocks of replicas give what single replicas give, number by number."""

import numpy as np
import pytest

import queueing
from atlas.ensemble import resolve_seed
from queueing import JSQ, RankBased, RoundRobin, System
from queueing._engine import ENGINES
from queueing._engine._base import OneByOne
from queueing._engine._replica_seeds import replica_generators, replica_words
from queueing._state_view import StateView
from queueing._subject import resolve_subject

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
