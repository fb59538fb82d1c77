"""One leap over one common interval: exact in joint law, by either way of reflecting."""

import numba
import numpy as np
import pytest
import scipy.sparse as sparse
from scipy import stats
from scipy.linalg import expm
from scipy.sparse.linalg import spsolve

from queueing._engine._alias import alias_table
from queueing._engine._leap_interval import make_leap_scratch, make_leap_tables
from queueing._engine._leap_loop import LeapSystem, leap_over
from queueing._engine._xoshiro import make_bank

_LEVELS = 200


def _generator(arrival, service, levels=_LEVELS):
    up, down = np.full(levels - 1, arrival), np.full(levels - 1, service)
    generator = np.diag(up, 1) + np.diag(down, -1)
    return generator - np.diag(generator.sum(axis=1))


def _system(arrival_rates, service_rates, bounds):
    rates = [np.asarray(rates, np.float64) for rates in (arrival_rates, service_rates)]
    top_rate = float(max(rates[0].max(), rates[1].max()))
    return LeapSystem(0.0, *alias_table(np.ones(1)), np.asarray(bounds), *rates, top_rate)


def _leap(lengths, duration, system, seed=1):
    bank = make_bank(np.random.SeedSequence(seed))
    scratch = make_leap_scratch(lengths.size)
    least = leap_over(lengths, duration, system, bank, make_leap_tables(), scratch)
    assert least == lengths.min()
    return lengths


def _chi_square_p(counts, probabilities):
    expected = counts.sum() * probabilities
    kept = expected >= 10.0
    observed = np.append(counts[kept], counts[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 10.0:
        observed[-2:], expected[-2:] = [observed[-2:].sum(), 0], [expected[-2:].sum(), 1.0]
        observed, expected = observed[:-1], expected[:-1]
    expected *= observed.sum() / expected.sum()
    return stats.chisquare(observed, expected).pvalue if expected.size > 1 else 1.0


_RATES = [(2.0, 2.2), (5.0, 1.0), (1.0, 30.0), (0.0, 3.0), (3.0, 0.0), (20.0, 20.2), (0.001, 4.0)]


@pytest.mark.parametrize(("arrival", "service"), _RATES)
def test_a_leap_has_the_transient_law_of_one_queue(arrival, service):
    """Oracle: the matrix exponential; chi-square on 3e5 queues, six starts, false fail 1e-6 each.

    Detects .003 in a probability. Both ways of reflecting are used: given the change of the walk
    near equal rates, given arrivals and services elsewhere. A rate wrong by 5 % is rejected.
    """
    laws = expm(_generator(arrival, service))
    wrong = expm(_generator(1.05 * arrival, 1.05 * service))
    p_values, wrong_p_values = [], []
    for start in (0, 1, 3, 8, 20, 40):
        lengths = _leap(np.full(300_000, start), 1.0, _system([arrival], [service], [0, 300_000]))
        counts = np.bincount(lengths, minlength=_LEVELS)[:_LEVELS]
        p_values.append(_chi_square_p(counts, laws[start]))
        wrong_p_values.append(_chi_square_p(counts, wrong[start]))
    assert min(p_values) > 1e-6
    assert min(wrong_p_values) < 1e-6


def test_a_leap_in_pieces_is_a_leap():
    """Means above 4096 are leapt over in pieces: mean and variance of 2e5 far queues, 6 sigma."""
    lengths = _leap(np.full(200_000, 10**6), 3.0, _system([5000.0], [5001.0], [0, 200_000]))
    change = lengths - 10**6
    assert abs(change.mean() + 3.0) < 6.0 * np.sqrt(30_003.0 / 200_000)
    assert abs(change.var() / 30_003.0 - 1.0) < 6.0 * np.sqrt(2.0 / 200_000)


def test_classes_of_servers_leap_at_their_own_rates():
    """Three classes side by side, group bounds inside blocks; chi-square as above."""
    bounds = np.array([0, 100_001, 200_033, 300_000])
    rates = ([1.0, 2.0, 0.5], [1.5, 2.1, 3.0])
    lengths = _leap(np.full(300_000, 2), 1.0, _system(*rates, bounds))
    for c, (arrival, service) in enumerate(zip(*rates, strict=True)):
        counts = np.bincount(lengths[bounds[c] : bounds[c + 1]], minlength=_LEVELS)
        assert _chi_square_p(counts[:_LEVELS], expm(_generator(arrival, service))[2]) > 1e-6


@numba.njit
def _pairs(intervals, start, system, bank, tables, scratch, counts):
    """Joint counts of two queues, each pair with its own pair of intervals."""
    pair = np.empty(2, np.int64)
    for shared in intervals:
        pair[:] = start
        if shared[0] == shared[1]:
            leap_over(pair, shared[0], system, bank, tables, scratch)
        else:
            for i in range(2):
                single = pair[i : i + 1]
                leap_over(single, shared[i], system, bank, tables, scratch)
        counts[min(pair[0], counts.shape[0] - 1), min(pair[1], counts.shape[0] - 1)] += 1


def test_queues_share_the_interval():
    """C18: joint law of two queues after an exponential interval, against sparse linear algebra.

        P = kappa (kappa - G (+) G)^{-1} ,   G the generator of one queue

    Chi-square on 1e5 pairs, false-fail rate 1e-6; an interval of its own for every queue has the
    same marginals and is rejected.
    """
    levels, start, kappa = 60, 3, 0.25
    one = sparse.csr_array(_generator(1.0, 1.1, levels))
    identity = sparse.identity(levels, format="csr")
    both = sparse.kron(one, identity) + sparse.kron(identity, one)
    at_start = np.zeros(levels**2)
    at_start[start * levels + start] = kappa
    solve = sparse.csc_array(kappa * sparse.identity(levels**2) - both).T
    law = spsolve(sparse.csc_matrix(solve), at_start)
    intervals = np.random.default_rng(4).exponential(1.0 / kappa, (100_000, 2))
    shared = np.repeat(intervals[:, :1], 2, axis=1)
    common, apart = np.zeros((2, levels, levels), np.int64)
    bank = make_bank(np.random.SeedSequence(5))
    rest = (_system([1.0], [1.1], [0, 2]), bank, make_leap_tables(), make_leap_scratch(2))
    _pairs(shared, start, *rest, common)
    alone = (_system([1.0], [1.1], [0, 1]), bank, make_leap_tables(), make_leap_scratch(1))
    _pairs(intervals, start, *alone, apart)
    marginal = law.reshape(levels, levels).sum(axis=1)
    for counts in (common, apart):
        assert _chi_square_p(counts.sum(axis=1), marginal) > 1e-6
        assert _chi_square_p(counts.sum(axis=0), marginal) > 1e-6
    assert _chi_square_p(common.ravel(), law) > 1e-6
    assert _chi_square_p(apart.ravel(), law) < 1e-6
