"""JIQ and IdleOneFirst at unequal rates: unstable below load 1, stable, or not known."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

import queueing
from queueing import JFSQ, JIQ, Erlang, IdleOneFirst, Marginal, System
from queueing._random_fallback import fallback_overload, least_fallback, undecided_fallback


def limit(fast, slow):
    """The arrival rate at which lambda^2 = slow (2 fast + lambda)."""
    return (slow + np.sqrt(slow**2 + 8.0 * slow * fast)) / 2.0


@pytest.mark.parametrize(("fast", "slow"), [(2.0, 0.5), (1.0, 0.9), (5.0, 0.1)])
def test_two_servers_are_decided_on_both_sides_of_the_limit(fast, slow):
    for policy in (JIQ(), IdleOneFirst()):
        below = System([fast, slow], 0.999 * limit(fast, slow))
        assert fallback_overload(below, policy) is None
        assert undecided_fallback(below, policy) is None
    above = System([slow, fast], 1.001 * limit(fast, slow))
    assert above.load < 1.0
    assert "slowest servers" in str(fallback_overload(above, JIQ()))
    assert fallback_overload(above, IdleOneFirst()) is None
    assert "IdleOneFirst() is stable here is not known" in str(
        undecided_fallback(above, IdleOneFirst())
    )


def saturated_fallback(rates, arrival_rate, num_slow, length, cap):
    """pi of the others by linear algebra, while `num_slow` further servers are always long."""
    count = len(rates)
    total = count + num_slow
    shape = (cap + 1,) * count
    states = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    number = lambda lengths: np.ravel_multi_index(tuple(lengths.T), shape)  # noqa: E731
    least = np.minimum(states, length)
    is_chosen = least == least.min(axis=1, keepdims=True)
    is_full = least.min(axis=1) == length
    probs = np.where(is_full[:, None], 1.0 / total, is_chosen / is_chosen.sum(axis=1)[:, None])
    moves = sparse.lil_array((len(states), len(states)))
    for server in range(count):
        up, down = states[:, server] < cap, states[:, server] > 0
        step = np.eye(count, dtype=int)[server]
        moves[np.flatnonzero(up), number(states[up] + step)] = arrival_rate * probs[up, server]
        moves[np.flatnonzero(down), number(states[down] - step)] = rates[server]
    generator = (sparse.csc_array(moves) - sparse.diags_array(moves.sum(axis=1))).T.tolil()
    generator[0] = 1.0
    law = spsolve(sparse.csc_array(generator), np.eye(len(states))[0])
    return float(law @ is_full), float(law @ (states == cap).any(axis=1))


@pytest.mark.parametrize("length", [1, 2])
@pytest.mark.parametrize(
    ("rates", "arrival_rate"), [([2.0], 1.5), ([1.0, 2.0], 2.3), ([1.0, 1.0], 1.4)]
)
def test_the_bound_lies_below_what_is_solved(rates, arrival_rate, length):
    """Oracle: the others' own chain while one server is always long, truncated where 1e-8 is left.
    The bound is never above, exact for a single other and d = 1, and within a factor of 1.9."""
    cap = 36 if len(rates) == 2 else 100
    exact, rest = saturated_fallback(rates, arrival_rate, 1, length, cap)
    assert rest < 1e-8
    bound = least_fallback(arrival_rate, np.array([0.05, *rates]), 1, length)
    assert bound <= exact * (1 + 1e-9)
    if len(rates) == length == 1:
        assert bound == pytest.approx(exact, rel=1e-7)
    assert 1.9 * bound > exact


@pytest.mark.parametrize(
    ("system", "policy"),
    [
        (System([1.0, 1.0, 1.0], 2.97), JIQ()),
        (System([2.0, 0.5], 0.9), JIQ()),
        (System([2.0, 0.5], 2.4, buffer=5), JIQ()),
        (System([2.0, 0.5], 0.0), IdleOneFirst()),
        (System([2.0, 0.5], 2.4), JFSQ()),
        (System([2.0, 0.5], 0.9, service=Erlang(2)), JIQ()),
        (System([1.0], 0.99), IdleOneFirst()),
    ],
)
def test_nothing_is_said_against_stable_systems(system, policy):
    assert fallback_overload(system, policy) is None
    assert undecided_fallback(system, policy) is None


_UNSTABLE, _UNKNOWN = System([2.0, 1.0, 0.3], 2.6), System([2.0, 1.0, 0.3], 2.1)


def test_what_is_unstable_is_refused():
    with pytest.raises(queueing.UnstableError, match="each of the 1 slowest servers"):
        queueing.long_run(_UNSTABLE, JIQ(), horizon=10.0)
    with pytest.raises(ValueError, match="no stationary law: each of the 1 slowest"):
        queueing.exact_stationary(_UNSTABLE, JIQ(), max_length=5)
    # A server that never works fills up at every load.
    assert "receives" in str(fallback_overload(System([1.0, 1.0, 0.0], 0.1), JIQ()))
    # Nothing is known of mixtures, and nothing said.
    mixture = Marginal(JIQ(), fraction=0.5)
    assert fallback_overload(_UNSTABLE, mixture) is None
    assert undecided_fallback(_UNSTABLE, mixture) is None


@pytest.mark.slow
def test_what_is_not_known_is_said():
    with pytest.warns(UserWarning, match=r"JIQ\(\) is stable here is not known"):
        queueing.long_run(_UNKNOWN, JIQ(), horizon=10.0, seed=0)
    run = queueing.long_run(_UNSTABLE, JIQ(), horizon=10.0, seed=0, throw=False)
    assert "unstable" in run.attrs["result"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rates", "arrival_rate", "policy"),
    [
        ([2.0, 0.5], 1.1 * limit(2.0, 0.5), JIQ()),
        ([2.0, 1.0, 0.3], 2.6, JIQ()),
        ([2.0, 0.5], 2.35, IdleOneFirst()),
    ],
)
def test_what_is_refused_grows(rates, arrival_rate, policy):
    """In runs from empty queues the slowest is longer at the second of two late times, by far more
    than its error; 16 replicas, and none of them is back below 20 jobs."""
    system = System(rates, arrival_rate)
    assert fallback_overload(system, policy) is not None
    out = queueing.simulate(system, policy, times=[2e4, 4e4], replicas=16, seed=2)
    early, late = out.lengths[:, :, -1]
    growth = (late - early) / 2e4
    assert growth.mean() > 5.0 * growth.std(ddof=1) / 4.0 > 0.0
    assert late.min() > 20


@pytest.mark.slow
def test_what_is_called_stable_has_a_law():
    """Oracle: as the truncation grows the mean total settles, at 95 % of the limit; the same
    chain above it does not."""
    arrivals = 0.95 * limit(2.0, 0.5)
    totals = [
        queueing.exact_stationary(
            System([2.0, 0.5], arrivals), JIQ(), max_length=cap, max_states=10**6
        ).mean("total")
        for cap in (100, 200, 400)
    ]
    assert abs(totals[2] - totals[1]) < 0.1 * abs(totals[1] - totals[0]) + 1e-9
    assert abs(totals[2] - totals[1]) < 1e-3
