"""What the event loops stand on: random words, alias tables and servers in order."""

import numba
import numpy as np
import pytest
from scipy import stats

from queueing import PausedSystem, Random, System
from queueing._engine import ENGINES
from queueing._engine._alias import alias_table, draw_alias
from queueing._engine._nearly_sorted import rank_nearly_sorted
from queueing._engine._packed_alias import draw_packed, fill_packed, make_packed_alias
from queueing._engine._poisson_tables import poisson_window, skellam_window, window_bound
from queueing._engine._ranked_queues import move, rank_queues, with_room
from queueing._engine._select import select_rank
from queueing._engine._xoshiro import (
    NUM_LANES,
    fill_words,
    make_bank,
    next_exponential,
    next_word,
    uniform_index,
    valid_states,
)
from queueing._sampling_plan import SamplingPlan
from queueing._subject import resolve_subject
from tests.special_arrivals import reference_word


@numba.njit
def _next(side):
    return next_word(side)


def test_words_are_those_of_xoshiro256plusplus():
    """Known answer: the first words from the state 1, 2, 3, 4 in the authors' C program."""
    side = np.array([1, 2, 3, 4], np.uint64)
    assert [int(_next(side)) for _ in range(3)] == [41943041, 58720359, 3588806011781223]
    bank = make_bank(np.random.SeedSequence(7))
    states = [[int(word) for word in bank.lanes[:, lane]] for lane in range(NUM_LANES)]
    words = np.empty(64 * NUM_LANES, np.uint64)
    fill_words(bank.lanes, words)
    expected = [reference_word(state) for _ in range(64) for state in states]
    assert words.tolist() == expected


def test_every_replica_has_its_own_words():
    """C5: no two of 1000 replicas share a state, and lanes differ among themselves."""
    states = set()
    for replica in range(1000):
        bank = make_bank(np.random.SeedSequence(0, spawn_key=(replica,)))
        states.update(map(tuple, bank.lanes.T.tolist()))
        states.add(tuple(bank.side.tolist()))
    assert len(states) == 1000 * (NUM_LANES + 1)


@numba.njit
def _exponential(side):
    return next_exponential(side)


def test_the_least_word_and_the_state_of_zeros_do_no_harm():
    """Exact: the word 0 stands for a finite exponential; four zeros would stay zeros for ever."""
    assert _exponential(np.array([0, 1, 2, 0], np.uint64)) == pytest.approx(54.0 * np.log(2.0))
    states = np.zeros((4, 3), np.uint64)
    states[2, 1] = 5
    assert valid_states(states).tolist() == [[1, 0, 1], [0, 0, 0], [0, 5, 0], [0, 0, 0]]


@numba.njit
def _draw_many(uniforms, cut, alias, counts):
    for uniform in uniforms:
        counts[draw_alias(uniform, cut, alias, 0, cut.shape[0])] += 1


@pytest.mark.parametrize("size", [1, 2, 3, 17, 400])
def test_alias_tables_hold_their_law_exactly(size):
    """The mass that cells give to each value sums to its probability within rounding."""
    weights = np.random.default_rng(size).exponential(size=size) ** 3
    weights[:: max(2, size // 5)] = 0.0 if size > 2 else weights[0]
    cut, alias = alias_table(weights)
    mass = cut.copy()
    np.add.at(mass, alias, 1.0 - cut)
    np.testing.assert_allclose(mass / size, weights / weights.sum(), atol=1e-15)
    counts = np.zeros(size, np.int64)
    _draw_many((np.arange(100_000) + 0.5) / 100_000, cut, alias, counts)
    np.testing.assert_allclose(counts / 100_000, weights / weights.sum(), atol=2e-5 * size)


@numba.njit
def _draw_packed_many(words, cells, count, counts):
    for word in words:
        counts[draw_packed(word, cells, count)] += 1


def test_packed_tables_draw_their_law():
    """Words on a fine grid: frequencies equal the weights to the grid's spacing."""
    table = make_packed_alias(300)
    weights = np.random.default_rng(1).exponential(size=300)
    table.weights[:] = weights
    fill_packed(table, 300)
    words = (np.arange(2**20, dtype=np.uint64) << np.uint64(44)) + np.uint64(2**43)
    counts = np.zeros(300, np.int64)
    _draw_packed_many(words, table.cells, 300, counts)
    np.testing.assert_allclose(counts / 2**20, weights / weights.sum(), atol=4e-5)


_MEANS = [(0.0, 0.0), (1e-9, 1e-8), (0.3, 0.2), (31.0, 31.1), (4000.0, 4001.0), (900.0, 3.0)]
_MEANS += [(0.0, 50.0), (50.0, 0.0), (1e-3, 4096.0), (1e-300, 1.0), (4096.0, 1.0)]


@pytest.mark.parametrize(("up", "down"), _MEANS)
def test_windows_hold_poisson_and_skellam_laws(up, down):
    """Neighbours stand in the Poisson ratio; Skellam is the convolution: 1e-12 in total variation.

    SciPy's own Poisson law is good to 1e-11 at means of thousands.
    """
    scratch = np.empty(2 * window_bound(up + down) + 2 * 4096)
    laws = []
    for mean in (up, down):
        first, count = poisson_window(mean, scratch)
        law = scratch[:count] / scratch[:count].sum()
        exact = stats.poisson.pmf(np.arange(first, first + count), mean)
        assert np.abs(law - exact).sum() < 1e-11
        values = np.arange(first + 1, first + count)
        np.testing.assert_allclose(law[1:] * values, law[:-1] * mean, rtol=1e-14)
        laws.append((first, law))
    (first_up, law_up), (first_down, law_down) = laws
    both = np.convolve(law_up, law_down[::-1])
    lowest = first_up - (first_down + law_down.size - 1)
    first, count = skellam_window(up, down, scratch)
    assert count <= 2048
    law = scratch[:count] / scratch[:count].sum()
    assert np.abs(law - both[first - lowest : first - lowest + count]).sum() < 1e-12
    assert both.sum() - both[first - lowest : first - lowest + count].sum() < 1e-15


@numba.njit
def _move(server, up, lengths, order, position, first):
    return move(server, lengths[server], up, lengths, order, position, first)


def test_servers_stay_in_order_through_any_events():
    """Against sorting afresh, for 20000 random events from unequal lengths, growing at need."""
    rng = np.random.default_rng(2)
    queues = rank_queues(rng.integers(0, 9, 30), 1)
    for event in range(20_000):
        queues, room = with_room(queues, 1)
        assert room >= 1
        server = rng.integers(30)
        up = int(rng.random() < 0.51 or queues.lengths[server] == 0)
        before = np.sort(queues.lengths)
        edge = _move(server, up, *queues)
        ranked = np.sort(queues.lengths)
        changed = np.flatnonzero(before != ranked)
        assert changed.tolist() == [edge]
        if event % 100 == 0:
            np.testing.assert_array_equal(queues.lengths[queues.order], ranked)
            np.testing.assert_array_equal(queues.position[queues.order], np.arange(30))
            levels = np.arange(queues.first.size)
            np.testing.assert_array_equal(queues.first, np.searchsorted(ranked, levels))


@pytest.mark.parametrize("disorder", [0, 3, 10_000])
def test_ranks_come_out_sorted_from_any_order(disorder):
    rng = np.random.default_rng(disorder)
    lengths = np.arange(500) * 4
    order = np.argsort(lengths)
    lengths = lengths + rng.integers(0, 1 + disorder, 500)
    ranked = np.empty(500, np.int64)
    rank_nearly_sorted(lengths, order, ranked)
    np.testing.assert_array_equal(ranked, np.sort(lengths))
    np.testing.assert_array_equal(lengths[order], ranked)
    assert sorted(order.tolist()) == list(range(500))
    scratch = np.empty(500, np.int64)
    assert [select_rank(lengths, k, scratch) for k in range(500)] == ranked.tolist()


@numba.njit
def _index(uniform, count):
    return uniform_index(uniform, count)


def test_indices_cover_their_range():
    assert {_index(u, 3) for u in np.linspace(0.0, 1.0 - 2.0**-53, 1000)} == {0, 1, 2}
    assert _index(1.0 - 2.0**-53, 2**22 - 1) == 2**22 - 2


@pytest.mark.parametrize("engine", ["markov", "pauses"])
def test_a_window_weighs_its_first_and_last_state_rightly(engine):
    """One job, no arrivals: the mean over [0, 1] of being there is 1 - 1/e, 6 sigma of 3000 runs.

    Detects .04; a window of N ticks averaged as N + 2 states gives .55.
    """
    system = System([1.0], 0.0) if engine == "markov" else PausedSystem([0.0], [1.0])
    subject = resolve_subject(system, Random() if engine == "markov" else None)
    plan = SamplingPlan(1, engine == "markov", 1, None, {})
    start = ENGINES[engine].prepare(subject, plan)
    means = [
        start(np.ones(1, np.int64), np.random.SeedSequence(8, spawn_key=(replica,)))
        .average(1.0)
        .means["lengths_ranked"][0]
        for replica in range(3000)
    ]
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - (1.0 - np.exp(-1.0))) < 6.0 * error < 0.045
