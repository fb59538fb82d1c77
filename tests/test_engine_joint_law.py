"""Every engine against linear algebra in the joint law of all ranks, and faults it must find."""

import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, RateProportional, System
from tests.queueing_joint_law import exact_joint_law, hotelling_p_value, observed_joint_law
from tests.queueing_wrong_laws import independent_clock_leap, plain_chain

_LOADS = {2: 1.3, 3: 1.9}
_PROBS = {2: [0.2, 0.8], 3: [0.2, 0.5, 0.3]}
# 48 replicas of so long are 1e7 events with 3 servers.
_HORIZON = 4.2e4
_FALSE_FAIL = 1e-6


def _system(size):
    return System(np.ones(size), _LOADS[size])


def _policies(size):
    return {
        "Random": Random(),
        "JSQ": JSQ(),
        "PowerOfD": PowerOfD(2),
        "PowerOfD with replacement": PowerOfD(2, replacement=True),
        "RankBased": RankBased(sorted(_PROBS[size], reverse=True)),
        "marginal JSQ": Marginal(JSQ(), fraction=0.3),
        "marginal PowerOfD": Marginal(PowerOfD(2), fraction=0.5, base=RateProportional()),
        "marginal RankBased": Marginal(RankBased(_PROBS[size]), rate=0.2),
    }


def _p_value(size, policy, engine, seed, horizon=_HORIZON):
    system = _system(size)
    observed = observed_joint_law(system, policy, seed=seed, horizon=horizon, engine=engine)
    return hotelling_p_value(observed, exact_joint_law(system, policy, 60 if size == 2 else 30))


@pytest.mark.parametrize("name", _policies(3))
def test_events_have_the_exact_joint_law(name):
    """Oracle: sparse LU, 3 servers, 1e7 events; false-fail rate 1e-6 each (Hotelling).

    Detects about 1 % of a cell's probability; see the wrong laws below.
    """
    assert _p_value(3, _policies(3)[name], "markov", seed=11) > _FALSE_FAIL


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", ["marginal JSQ", "marginal RankBased"])
def test_leaps_have_the_exact_joint_law(name, size):
    """Oracle: sparse LU; as many events as above leapt over; false-fail rate 1e-6 each."""
    assert _p_value(size, _policies(size)[name], "leap", seed=12, horizon=2e4) > _FALSE_FAIL


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("engine", ["markov", "leap"])
@pytest.mark.parametrize("name", [name for name in _policies(3) if name != "Random"])
def test_every_engine_and_policy_has_the_exact_joint_law(name, engine, size):
    """Oracle: sparse LU; 1e7 events each; false-fail rate 1e-6 each."""
    assert _p_value(size, _policies(size)[name], engine, seed=13) > _FALSE_FAIL


@pytest.fixture(scope="module")
def marginal_law():
    system = _system(3)
    return exact_joint_law(system, Marginal(JSQ(), fraction=0.5), 30)


def _plain(num_ticks=100_000, **faults):
    rate = faults.pop("arrival_rate", _LOADS[3])
    return plain_chain(3, rate, 0.5, seed=21, num_ticks=num_ticks, **faults)


def test_the_plain_simulation_passes_without_a_fault(marginal_law):
    """So that what follows is rejected for its fault; false-fail rate 1e-6."""
    assert hotelling_p_value(_plain()[0], marginal_law) > _FALSE_FAIL


def test_a_stream_that_sees_the_state_one_event_late_is_rejected(marginal_law):
    assert hotelling_p_value(_plain(is_late=True)[0], marginal_law) < _FALSE_FAIL


def test_a_rate_wrong_by_one_per_cent_is_rejected(marginal_law):
    joint, _ = _plain(200_000, arrival_rate=1.01 * _LOADS[3])
    assert hotelling_p_value(joint, marginal_law) < _FALSE_FAIL


@pytest.mark.parametrize("size", [2, 3])
def test_an_independent_clock_per_queue_is_rejected(size):
    """C18: every queue alone moves rightly, the joint law of the ranks does not."""
    law = exact_joint_law(_system(size), Marginal(JSQ(), fraction=0.3), 60 if size == 2 else 30)
    observed = independent_clock_leap(size, _LOADS[size], 0.3, seed=22, num_leaps=50_000)
    assert hotelling_p_value(observed, law) < _FALSE_FAIL


def _tie_p_value(accepted):
    """Whether tied servers were taken equally often, from replicas that are independent."""
    shares = accepted / accepted.sum(axis=1, keepdims=True)
    return hotelling_p_value(shares, np.full(shares.shape[1], 1.0 / shares.shape[1]))


def test_tied_servers_are_taken_equally_often():
    """C8: accepted jobs per server under JSQ are exchangeable; false-fail rate 1e-6 (Hotelling).

    Detects a share of .3345 instead of 1/3; always taking the first of tied servers is rejected.
    """
    run = queueing.long_run(
        _system(3), JSQ(), horizon=5e3, warmup=0.0, replicas=48, seed=23, progress=False
    )
    assert _tie_p_value(run.values("throughput")) > _FALSE_FAIL
    joint, biased = _plain(first_of_ties=True)
    assert _tie_p_value(biased) < _FALSE_FAIL
    # The fault does not show in the ranks: only names tell.
    assert joint.shape[0] == 48


def test_servers_of_unlike_rates_and_a_buffer_have_the_exact_law_by_server():
    """Oracle: GTH/LU by server, not by rank; false-fail rate 1e-6 over 9 z values.

    Detects 1 % of a mean length.
    """
    system = System([1.5, 1.0, 0.4], 2.6, buffer=3)
    policy = Marginal(JSQ(), fraction=0.6, base=RateProportional())
    run = queueing.long_run(
        system, policy, horizon=4e4, warmup=100.0, replicas=32, seed=24, progress=False
    )
    exact = queueing.exact_stationary(system, policy, max_length=3)
    for name in ("lengths", "utilisation", "throughput"):
        estimate = run.estimate(name)
        z = (estimate.value - exact.mean(name)) / estimate.std_error
        bound = stats.t.isf(0.5e-6 / 9, estimate.dof)
        assert np.all(np.abs(z) < bound), name
        assert np.all(estimate.std_error < 0.003 * estimate.value)
