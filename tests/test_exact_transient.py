"""The transient oracle: uniformisation against the matrix exponential and closed forms."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import poisson

from queueing import JSQ, Marginal, PowerOfD, RoundRobin, System
from queueing._exact import exact_stationary, exact_transient
from queueing._regime import extreme_congestion

TIMES = [0.0, 0.3, 0.3, 1.0, 7.0]


@pytest.mark.parametrize(
    ("system", "policy"),
    [
        (System([1.0, 1.0, 1.0], 2.2, buffer=5), Marginal(PowerOfD(2), fraction=0.6)),
        (System([1.0, 0.3], 1.5, buffer=6), JSQ()),
    ],
)
def test_law_is_the_matrix_exponential(system, policy):
    """Oracle: the dense matrix exponential, to 1e-13; the generator 1 % faster is rejected."""
    law = exact_transient(system, policy, times=TIMES, max_length=9)
    generator = law.chain.generator.toarray()
    start = law.probabilities[0]
    assert start[0] == 1.0
    for time, found in zip(TIMES, law.probabilities, strict=True):
        assert np.abs(found - start @ expm(time * generator)).max() < 1e-13
    assert np.abs(law.probabilities[3] - start @ expm(1.01 * generator)).max() > 1e-4
    assert np.all(law.truncation_error < 1e-13)


def test_repeated_and_zero_times_are_saved_once_each():
    """C12: a time equal to the start, and repeated times."""
    law = exact_transient(System([1.0], 0.5), JSQ(), times=TIMES, max_length=30)
    assert law.probabilities.shape == (5, 31)
    assert np.array_equal(law.probabilities[1], law.probabilities[2])


def test_servers_that_are_alike_start_from_lengths_in_any_order():
    """States are ranked lengths then: the law from (3, 0, 1) is that from (0, 1, 3)."""
    system, laws = System([1.0, 1.0, 1.0], 2.0, buffer=4), []
    for start in ([3, 0, 1], [0, 1, 3]):
        laws.append(exact_transient(system, JSQ(), times=[0.0, 1.0], initial=start, max_length=4))
        np.testing.assert_allclose(laws[-1].mean("lengths_ranked")[0], [0.0, 1.0, 3.0])
    np.testing.assert_array_equal(laws[0].probabilities, laws[1].probabilities)


def test_pure_arrivals_are_poisson():
    """A server of rate 0 counts arrivals; a stationary law does not exist, a transient one does."""
    law = exact_transient(
        System([0.0, 1.0], 0.7), JSQ(), times=[2.0], initial=[0, 40], max_length=60
    )
    states = law.states
    by_server = np.bincount(states[:, 0], weights=law.probabilities[0])
    assert np.abs(by_server - poisson.pmf(np.arange(61), 1.4)).max() < 1e-12


def test_servers_in_turn_begin_with_the_first_and_go_up():
    """Oracle: of N jobs, N Poisson, servers 0 and 1 of rate 0 have (N + 2) // 3 and (N + 1) // 3;
    to 1e-9.  The same of servers 1 and 0, or 0 and 2, are .3 off."""
    system = System([0.0, 0.0, 1.0], 1.0)
    law = exact_transient(system, RoundRobin(), times=[2.0], max_length=8)
    jobs = np.arange(60)
    in_turn = [poisson.pmf(jobs, 2.0) @ ((jobs + 2 - server) // 3) for server in range(3)]
    assert in_turn[0] - in_turn[1] > 0.3 and in_turn[1] - in_turn[2] > 0.3
    np.testing.assert_allclose(law.mean("lengths")[0, :2], in_turn[:2], atol=1e-9)


def test_long_times_reach_the_stationary_law():
    system, policy = System([1.0, 1.0], 1.2), JSQ()
    stationary = exact_stationary(system, policy, max_length=40)
    law = exact_transient(system, policy, times=[400.0], initial=[9, 2], max_length=40)
    assert np.abs(law.probabilities[0] - stationary.probabilities).max() < 1e-10
    still = exact_transient(
        system, policy, times=[0.5, 3.0], initial=stationary.joint, max_length=40
    )
    assert np.abs(still.probabilities - stationary.probabilities).max() < 1e-13


def test_means_come_time_by_time():
    law = exact_transient(
        System([1.0, 1.0], 1.0, buffer=8),
        JSQ(),
        times=[0.0, 1e-3, 50.0],
        max_length=8,
        observe={"twice": lambda ranked: 2 * ranked.sum()},
    )
    assert law.mean("lengths_ranked").shape == (3, 2)
    assert law.mean("total")[0] == 0.0
    assert law.mean("total")[1] == pytest.approx(1e-3, rel=2e-3)
    assert np.allclose(law.mean("twice"), 2 * law.mean("total"))
    assert law.mean("prob_wait")[0] == 0.0 and law.mean("wait")[0] == 0.0


def test_truncation_bound_is_rigorous():
    """Oracle: the same law with many levels; total variation is below the bound, and above a
    thousandth of it where the truncation is felt."""
    system, policy = System([1.0, 1.0], 3.0), JSQ()
    times = [0.5, 2.0, 6.0, 12.0]
    exact = exact_transient(system, policy, times=times, max_length=60)
    law = exact_transient(system, policy, times=times, max_length=8)
    numbers = exact.chain.space.numbers(law.states)
    inside = exact.probabilities[:, numbers]
    outside = 1.0 - inside.sum(axis=1)
    distance = 0.5 * (np.abs(inside - law.probabilities).sum(axis=1) + outside)
    assert np.all(distance <= law.truncation_error + 1e-14)
    assert np.all(distance[1:] > 1e-3 * law.truncation_error[1:])
    assert np.all(np.diff(law.truncation_error) >= 0.0) and law.truncation_error[-1] <= 1.0


def test_regimes_and_pauses_have_transient_laws():
    regime = extreme_congestion(2, 2.0, 1.0)
    for subject in (regime, regime.with_pauses()):
        law = exact_transient(subject, times=[0.1, 0.2], max_length=30)
        assert law.mean("scaled_gaps").shape == (2, 2)
    paused = regime.with_pauses()
    stationary = exact_stationary(paused, max_length=90)
    law = exact_transient(paused, times=[1.0], initial=stationary.joint, max_length=90)
    assert np.abs(law.probabilities[0] - stationary.probabilities).max() < 1e-12


STABLE = System([1.0, 1.0], 1.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": []}, "times has shape"),
        ({"times": 1.0}, "times has shape"),
        ({"times": [1.0, 0.5]}, "times is"),
        ({"times": [-1.0]}, "times is"),
        ({"times": [np.nan]}, "times is"),
        ({"times": [np.inf]}, "times is"),
        ({"times": [1e9]}, "max_steps = 1000000"),
        ({"times": [1e308]}, "max_steps = 1000000"),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"initial": "full"}, "initial is 'full'"),
        ({"initial": [0, 31]}, "initial is"),
        ({"initial": [-1, 0]}, "initial is"),
        ({"initial": [0, 0, 0]}, "initial is"),
        ({"initial": [0.5, 0.5]}, "initial is"),
        ({"initial": (np.array([[0, 0]]), np.array([0.5]))}, "initial has probabilities"),
        ({"initial": (np.array([[0, 0], [1, 1]]), np.array([1.5, -0.5]))}, "initial has prob"),
        ({"max_length": 0}, "max_length is 0"),
    ],
)
def test_bad_requests_are_refused_by_name(arguments, message):
    settings = {"times": [1.0], "max_length": 30} | arguments
    with pytest.raises(ValueError, match=message):
        exact_transient(STABLE, JSQ(), **settings)
