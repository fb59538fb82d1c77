"""What JFSQ remembers of many servers: sets of classes by length, and servers in order."""

import functools

import numba
import numpy as np
import pytest
from scipy import stats

from queueing import JFSQ, System
from queueing._engine._bit_tree import (
    fill_bits,
    insert_member,
    layer_starts,
    least_member,
    remove_member,
)
from queueing._engine._pointers import pointer_to
from queueing._engine._ranked_queues import QueueView, count_move, rank_queues
from queueing._engine._xoshiro import make_bank, next_uniform
from queueing._policy import _speed_classes


@numba.njit
def _edit(row, starts, num_layers, member, is_in):
    if is_in:
        insert_member(pointer_to(row), pointer_to(starts), num_layers, member)
    else:
        remove_member(pointer_to(row), pointer_to(starts), num_layers, member)


@numba.njit
def _least(row, starts, num_layers):
    return least_member(pointer_to(row), pointer_to(starts), num_layers)


@pytest.mark.parametrize("size", [1, 64, 65, 5000])
def test_sets_know_their_least_member(size):
    """Against Python's sets, through random insertions and removals; one to three layers."""
    rng = np.random.default_rng(size)
    starts = layer_starts(size)
    members = set(rng.choice(size, min(size, 3), replace=False).tolist())
    row = np.zeros(starts[-1], np.int64)
    fill_bits(row, np.array(sorted(members)), starts)
    for _ in range(600):
        member = int(rng.integers(size) ** 2 // size)
        if member in members and len(members) > 1:
            members.remove(member)
            _edit(row, starts, starts.size - 1, member, False)
        else:
            members.add(member)
            _edit(row, starts, starts.size - 1, member, True)
        assert _least(row, starts, starts.size - 1) == min(members)


@functools.cache
def _driver(rule, update):
    """Random events at random servers; each time the rule chooses, and what it chose is judged."""

    @numba.njit
    def drive(queues, side, numbers, names, memory, rates, num_events, most):
        size = rates.shape[0]
        lengths, order = pointer_to(queues.lengths), pointer_to(queues.order)
        first, words = pointer_to(queues.first), pointer_to(side)
        rule_numbers, rule_names = pointer_to(numbers), pointer_to(names)
        cells = pointer_to(memory)
        faults, excess, variance = 0, 0.0, 0.0
        for _ in range(num_events):
            server = int(next_uniform(words) * size)
            level = queues.lengths[server]
            up = 1 if level == 0 or (level < most and next_uniform(words) < 0.5) else 0
            count_move(server, level, up, lengths, first)
            shortest = queues.lengths.min()
            view = QueueView(lengths, order, first, size, shortest, 0)
            update(view, cells, server, level, up, rule_numbers, rule_names)
            chosen = rule(view, next_uniform(words), words, rule_numbers, rule_names, cells)
            fastest = -1.0
            for i in range(size):
                if queues.lengths[i] == shortest:
                    fastest = max(fastest, rates[i])
            tied, rank = 0, -1
            for i in range(size):
                if queues.lengths[i] == shortest and rates[i] == fastest:
                    rank = tied if i == chosen else rank
                    tied += 1
            faults += rank < 0
            excess += (rank + 0.5) / tied - 0.5
            variance += (1.0 - 1.0 / tied**2) / 12.0
        return faults, excess, variance

    return drive


_RNG = np.random.default_rng(5)
_RATES = {
    "two classes": _RNG.permutation(np.repeat([1.5, 0.5], 20)),
    "all differ": _RNG.permutation(np.linspace(0.5, 1.5, 150)),
    "pairs": _RNG.permutation(np.repeat(np.linspace(0.5, 1.5, 70), 2)),
}


def _drive(rates, *, buffer, start=0, rule=None, num_events=20_000):
    kernel = JFSQ().kernel(System(rates, 1.0, buffer=buffer))
    lengths = np.full(rates.size, start)
    drive = _driver(kernel.choose if rule is None else rule, kernel.update)
    side = make_bank(np.random.SeedSequence(6)).side
    # Nobody may write behind the last set.
    memory = np.append(kernel.memory(lengths), np.zeros(8, np.int64))
    arrays = (kernel.numbers, kernel.names, memory)
    most = start + 6 if buffer is None else buffer
    found = drive(rank_queues(lengths, 99), side, *arrays, rates, num_events, most)
    assert not memory[-8:].any()
    return found


@pytest.mark.parametrize("case", _RATES)
@pytest.mark.parametrize("buffer", [1, 3, None])
def test_the_fastest_of_the_shortest_is_chosen_after_any_events(case, buffer):
    """Oracle: looking at every server. Ties are uniform: the mean place among the tied is 1/2.

    20 000 choices each; false-fail rate 1e-7; detects a mean place of .515 where many tie.
    """
    faults, excess, variance = _drive(_RATES[case], buffer=buffer)
    assert faults == 0
    assert abs(excess) <= stats.norm.isf(0.5e-7) * np.sqrt(variance)


def test_queues_beyond_the_sets_are_looked_at_one_by_one(monkeypatch):
    """Lengths that have no set of their own, and back; same oracle and rate."""
    monkeypatch.setattr(_speed_classes, "_MOST_ENTRIES", 2000)
    for start in (0, 20, 70):
        faults, excess, variance = _drive(_RATES["pairs"], buffer=None, start=start)
        assert faults == 0
        assert abs(excess) <= stats.norm.isf(0.5e-7) * np.sqrt(variance)


@pytest.mark.parametrize("rates", [[1.5, 0.5, 1.5, 0.5], [0.5, 1.0, 1.5]])
def test_queues_come_to_the_last_set_and_go_on(monkeypatch, rates):
    """Three lengths have sets, and few servers are at all lengths from 0 to 6 in turn, so that the
    shortest is now the last that has a set, now the first that has none; same oracle and rate."""
    monkeypatch.setattr(_speed_classes, "_MOST_ENTRIES", 3 * (1 + len(set(rates))))
    faults, excess, variance = _drive(np.array(rates), buffer=None)
    assert faults == 0
    assert abs(excess) <= stats.norm.isf(0.5e-7) * np.sqrt(variance)


@numba.njit
def _lowest_name(queues, uniform, side, numbers, names, memory):
    for server in range(queues.num_servers):
        best = _speed_classes.fastest_of_shortest(queues, uniform, names, memory)
        if queues.lengths[server] == queues.shortest and (
            memory[server] & 0x3FFFFF == memory[best] & 0x3FFFFF
        ):
            return server
    return -1


def test_a_tie_that_goes_to_the_lowest_name_is_rejected():
    """C8: the fault is in no length, only in names."""
    faults, excess, variance = _drive(_RATES["two classes"], buffer=3, rule=_lowest_name)
    assert faults == 0
    assert abs(excess) > 10.0 * np.sqrt(variance)
