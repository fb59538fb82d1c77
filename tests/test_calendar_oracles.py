"""The calendar engine against closed forms and linear algebra: general arrivals and services."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy import stats
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve

import queueing
from queueing import (
    JSQ,
    Deterministic,
    Erlang,
    Hyperexponential,
    Lognormal,
    Marginal,
    PowerOfD,
    Random,
    RateProportional,
    System,
)

from .queueing_joint_law import exact_joint_law, hotelling_p_value, observed_joint_law

_FALSE_FAIL = 1e-6


def assert_close(run, name, exact, relative):
    """Within Student bounds of `exact`, which are at most `relative` of it."""
    estimate = run.estimate(name)
    value, error = np.atleast_1d(estimate.value), np.atleast_1d(estimate.std_error)
    bound = stats.t.isf(0.5 * _FALSE_FAIL / value.size, estimate.dof) * error
    assert np.all(np.abs(value - exact) <= bound), (name, value, exact, error)
    assert np.all(bound <= relative * np.abs(exact)), (name, bound)


def is_rejected(run, name, wrong):
    """Whether the same bounds reject another value."""
    estimate = run.estimate(name)
    bound = stats.t.isf(0.5 * _FALSE_FAIL, estimate.dof) * estimate.std_error
    return bool(np.all(np.abs(estimate.value - wrong) > bound))


def long_run(system, policy, horizon, replicas=24, seed=1, **options):
    return queueing.long_run(
        system, policy, horizon=horizon, warmup=horizon / 50.0, replicas=replicas, seed=seed,
        engine="calendar", num_threads=1, progress=False, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_the_exponential_case_has_the_joint_law_of_the_oracle():
    """Oracle: the stationary vector; Hotelling on the joint law of two ranks, false-fail rate 1e-6.

    Detects differences of about .01 in a cell; the law of the same system under random routing with
    the same fraction .7 instead of .6 is rejected.
    """
    system = System([1.0, 1.0], 1.4)
    policy = Marginal(JSQ(), fraction=0.6)
    rows = observed_joint_law(system, policy, seed=2, horizon=4000.0, engine="calendar")
    assert hotelling_p_value(rows, exact_joint_law(system, policy, 60)) > _FALSE_FAIL
    wrong = exact_joint_law(system, Marginal(JSQ(), fraction=0.7), 60)
    assert hotelling_p_value(rows, wrong) < _FALSE_FAIL


def test_all_averages_are_those_of_the_oracle_at_unequal_rates_with_a_buffer():
    """Oracle: `exact_stationary`, every observable of it; false-fail rate 1e-6 each, detects 6 %
    of the total, 17 % of the losses.

    Time averages of ranks, servers, levels, ties and of the user's own function, and averages over
    jobs.
    """
    system = System([1.5, 0.5, 1.0], 2.4, buffer=4)
    policy = PowerOfD(2)
    exact = queueing.exact_stationary(system, policy, max_length=4)
    squares = {"squares": lambda ranked: np.sum(ranked**2)}
    run = long_run(system, policy, 6000.0, seed=3, num_levels=4, observe=squares)
    exact_squares = exact.probabilities @ np.sum(exact.states**2, axis=1)
    assert_close(run, "squares", exact_squares, 0.12)
    assert run.attrs["engine"] == "calendar"
    for name in (
        "lengths", "lengths_ranked", "idle_servers", "occupancy", "utilisation", "throughput",
        "prob_tie", "prob_wait", "prob_loss", "wait", "response", "total",
    ):  # fmt: skip
        assert_close(run, name, exact.mean(name), 0.2)
    assert is_rejected(run, "total", 1.1 * exact.mean("total"))
    assert is_rejected(run, "prob_loss", exact.mean("prob_wait"))


@pytest.mark.parametrize(
    "law", [Deterministic(), Erlang(2), Hyperexponential(4.0), Lognormal(0.5)], ids=repr
)
def test_one_server_with_poisson_arrivals_waits_as_pollaczek_and_khinchine_say(law):
    """E W = rho (1 + c_s^2) / (2 mu (1 - rho)), E L by Little; false-fail rate 1e-6, detects 12 %
    to 25 %.  The wait of exponential services is rejected.
    """
    rho, mu = 0.6, 2.0
    wait = rho * (1.0 + law.scv) / (2.0 * (1.0 - rho) * mu)
    run = long_run(System([mu], rho * mu, service=law), Random(), 8000.0)
    assert_close(run, "wait", wait, 0.25)
    assert_close(run, "time_to_service", wait, 0.25)
    assert_close(run, "prob_wait", rho, 0.07)
    assert_close(run, "total", rho * mu * (wait + 1.0 / mu), 0.25)
    assert is_rejected(run, "wait", rho / ((1.0 - rho) * mu))


def test_renewal_arrivals_find_another_state_than_time_shows():
    """G/M/1: an arrival finds the server busy with probability s = A*(mu (1 - s)), time with rho.

    Waits are exponential of rate mu (1 - s) given that there is one. False-fail rate 1e-6 each,
    detects 3 % of a probability, 30 % of a wait; PASTA, which would make the two equal, is
    rejected.
    """
    lam, mu = 0.8, 1.0
    root = brentq(lambda s: (2 * lam / (2 * lam + mu * (1 - s))) ** 2 - s, 1e-9, 0.999)
    system = System([mu], lam, arrivals=Erlang(2))
    run = long_run(system, Random(), 12000.0, seed=4)
    assert_close(run, "prob_wait", root, 0.03)
    assert_close(run, "wait", root / ((1.0 - root) * mu), 0.3)
    assert_close(run, "utilisation", lam / mu, 0.03)
    assert_close(run, "total", lam / mu / (1.0 - root), 0.25)
    assert is_rejected(run, "prob_wait", lam / mu)
    assert is_rejected(run, "utilisation", root)
    quantile = run.quantile("wait", [0.5, 0.95])
    exact = -np.log((1.0 - np.array([0.5, 0.95])) / root) / (mu * (1.0 - root))
    bound = stats.t.isf(0.25 * _FALSE_FAIL, quantile.dof) * quantile.std_error
    assert np.all(np.abs(quantile.value - exact) <= bound + 0.01 * exact)
    assert np.all(bound <= 0.4 * exact)


def phase_type_jsq(arrival_rate, cap):
    """Stationary (states, law) of two servers of rate 1 under JSQ with Erlang-2 services.

    A state is (jobs, phase) of each server; phase 0 if idle, else 1 or 2.
    """
    one = [(0, 0)] + [(n, phase) for n in range(1, cap + 1) for phase in (1, 2)]
    states = [(first, second) for first in one for second in one]
    index = {state: k for k, state in enumerate(states)}
    rows, columns, rates = [], [], []

    def step(state, after, rate):
        rows.append(index[state])
        columns.append(index[after])
        rates.append(rate)

    for state in states:
        lengths = [jobs for jobs, _ in state]
        shortest = [k for k in (0, 1) if lengths[k] == min(lengths)]
        for k in shortest:
            jobs, phase = state[k]
            if jobs < cap:
                after = list(state)
                after[k] = (jobs + 1, max(phase, 1))
                step(state, tuple(after), arrival_rate / len(shortest))
        for k in (0, 1):
            jobs, phase = state[k]
            if jobs:
                after = list(state)
                left = (jobs - 1, 1 if jobs > 1 else 0)
                after[k] = (jobs, 2) if phase == 1 else left
                step(state, tuple(after), 2.0)
    size = len(states)
    generator = sparse.csr_array((rates, (rows, columns)), shape=(size, size))
    generator = generator - sparse.diags_array(generator.sum(axis=1))
    matrix = sparse.vstack([generator.T.tocsr()[1:], sparse.csr_array(np.ones((1, size)))])
    law = spsolve(matrix.tocsc(), np.append(np.zeros(size - 1), 1.0))
    return np.array([[jobs for jobs, _ in state] for state in states]), law


def test_phase_type_services_have_the_law_of_the_expanded_chain():
    """Oracle: two Erlang-2 servers under JSQ as a chain of lengths and phases; false-fail rate
    1e-6, detects 5 to 12 %; the same chain with exponential services is rejected."""
    lengths, law = phase_type_jsq(1.4, 14)
    ranked = np.sort(lengths, axis=1)
    system = System([1.0, 1.0], 1.4, service=Erlang(2))
    run = long_run(system, JSQ(), 3000.0, seed=5)
    assert_close(run, "lengths_ranked", law @ ranked, 0.12)
    assert_close(run, "prob_wait", law @ (ranked[:, 0] > 0), 0.06)
    assert_close(run, "prob_tie", law @ (ranked[:, 0] == ranked[:, 1]), 0.06)
    exponential = queueing.exact_stationary(System([1.0, 1.0], 1.4), JSQ(), max_length=30)
    assert is_rejected(run, "total", exponential.mean("total"))


def test_one_law_per_server_is_served_by_its_own_law():
    """Two servers fed at random are M/G/1 queues of different laws; false-fail rate 1e-6, detects
    30 %; the laws exchanged are rejected."""
    laws, rho = (Hyperexponential(3.0), Deterministic()), 0.6
    system = System([1.0, 3.0], 4.0 * rho, service=laws)
    run = long_run(system, RateProportional(), 4000.0, seed=6)
    exact = np.array([rho + rho**2 * (1.0 + law.scv) / (2.0 * (1.0 - rho)) for law in laws])
    assert_close(run, "lengths", exact, 0.3)
    assert is_rejected(run, "lengths", exact[::-1])
