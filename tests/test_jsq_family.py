"""The policies of the JSQ family in the event loop, against linear algebra and known laws."""

import numpy as np
import pytest
from scipy import optimize, stats

import queueing
from queueing import JFSQ, JSQ, LeastExpectedWork, RoundRobin, System
from tests.policy_examples import policy_examples
from tests.queueing_joint_law import exact_joint_law, hotelling_p_value, observed_joint_law

_STATE = ["lengths", "lengths_ranked", "gaps", "total", "imbalance", "occupancy"]
_STATE += ["idle_servers", "prob_tie", "utilisation", "throughput"]
_JOBS = ["prob_wait", "prob_loss", "wait", "response", "time_to_service", "wait_by_class"]
_JOBS += ["response_by_class"]
_SYSTEMS = {
    2: System([1.0, 0.6], 1.3, buffer=4),
    3: System([1.5, 0.6, 0.6], 2.2, buffer=3),
}


def _worst_ratio(run, exact, names, false_fail=1e-6):
    """The largest error over its bound, all entries of all observables together."""
    pairs = []
    for name in names:
        estimate, value = run.estimate(name), np.ravel(exact.mean(name))
        size = min(np.size(estimate.value), value.size)
        error = np.maximum(np.ravel(estimate.std_error)[:size], 1e-15)
        score = np.abs(np.ravel(estimate.value)[:size] - value[:size]) / error
        pairs += list(zip(score, np.ravel(estimate.dof)[:size], strict=True))
    bounds = [stats.t.isf(0.5 * false_fail / len(pairs), dof) for _, dof in pairs]
    return max(score / bound for (score, _), bound in zip(pairs, bounds, strict=True))


@pytest.fixture(scope="module")
def fastest_run():
    return queueing.long_run(
        _SYSTEMS[3], JFSQ(), horizon=3e4, warmup=50.0, replicas=16, seed=71, progress=False
    )


def test_the_fastest_of_the_shortest_has_the_exact_means(fastest_run):
    """Oracle: GTH by server; false-fail rate 1e-6 over all entries; detects 1 % of a length.

    JSQ, which differs in names only, is rejected.
    """
    exact = queueing.exact_stationary(_SYSTEMS[3], JFSQ(), max_length=3)
    assert _worst_ratio(fastest_run, exact, [*_STATE, *_JOBS]) < 1.0
    blind = queueing.exact_stationary(_SYSTEMS[3], JSQ(), max_length=3)
    assert _worst_ratio(fastest_run, blind, ["lengths"]) > 1.0


def test_little_s_law_holds_in_every_class(fastest_run):
    """E jobs at a class = its throughput times its jobs' response; false-fail rate 1e-6.

    Both sides come from the same run, replica by replica; detects 2 %.
    """
    rates = _SYSTEMS[3].service_rates
    of_class = np.unique(rates)[:, None] == rates
    jobs = fastest_run.values("lengths") @ of_class.T
    flow = fastest_run.values("throughput") @ of_class.T
    difference = jobs - flow * fastest_run.values("response_by_class")
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert np.all(np.abs(difference.mean(axis=0)) < stats.t.isf(2.5e-7, 15) * error)
    assert np.all(error < 0.004 * jobs.mean(axis=0))


def test_jobs_are_conserved_by_the_fastest_of_the_shortest(fastest_run):
    """C9: exactly, in every replica."""
    counts = {name: fastest_run.values(name) for name in ("num_arrivals", "num_departures")}
    inside = fastest_run.values("final_total") - fastest_run.values("initial_total")
    np.testing.assert_array_equal(
        counts["num_arrivals"], counts["num_departures"] + inside + fastest_run.values("num_lost")
    )


def test_servers_in_turn_are_queues_with_erlang_arrivals():
    """Every K-th job: each queue is E_K/M/1, L = rho/(1 - sigma), sigma = A*(mu (1 - sigma)).

    The oracle with its phases, to 1e-8; forgetting whose turn it is (random routing) is rejected.
    """
    system = System([1.0, 1.0], 1.2)
    exact = queueing.exact_stationary(system, RoundRobin(), max_length=60)
    arrival = 1.2

    def equation(sigma):
        return (arrival / (arrival + 1.0 - sigma)) ** 2 - sigma

    sigma = float(np.asarray(optimize.brentq(equation, 0.0, 0.99)))
    np.testing.assert_allclose(exact.mean("lengths"), 0.6 / (1.0 - sigma), rtol=1e-8)
    assert exact.mean("prob_wait") == pytest.approx(sigma, rel=1e-8)
    random = queueing.exact_stationary(system, queueing.Random(), max_length=60)
    assert abs(random.mean("lengths")[0] - 0.6 / (1.0 - sigma)) > 0.1


def test_lost_jobs_take_their_turn_too():
    """One place at each server: a job is lost if the K-th before it is still there, with chance
    (lambda/(lambda + mu))^K, exactly; a turn that waits for a job to be taken loses fewer."""
    rates, arrival = np.array([1.0, 0.4]), 1.2
    exact = queueing.exact_stationary(System(rates, arrival, buffer=1), RoundRobin(), max_length=1)
    lost = (arrival / (arrival + rates)) ** 2
    assert exact.mean("prob_loss") == pytest.approx(lost.mean(), rel=1e-12)
    np.testing.assert_allclose(exact.mean("throughput"), 0.5 * arrival * (1.0 - lost), rtol=1e-12)


def test_servers_in_turn_are_not_folded_and_too_many_states_are_refused():
    system = System(np.ones(3), 1.0, buffer=4)
    exact = queueing.exact_stationary(system, RoundRobin(), max_length=4)
    assert not exact.is_folded
    assert exact.num_states == 3 * 5**3
    with pytest.raises(ValueError, match="makes 375 states"):
        queueing.exact_stationary(system, RoundRobin(), max_length=4, max_states=374)
    uneven = System([2.0, 0.5], 1.5)
    with pytest.raises(queueing.UnstableError, match=r"server 1 receives at least 0\.75"):
        queueing.long_run(uneven, RoundRobin(), horizon=10.0)


# reference_values: K, load, E total, E min, E max, P(wait), by independent linear algebra; and
# the longest queue that matters.
_JSQ_TABLE = [
    (2, 0.5, [1.426320751, 0.426320751, 1.000000000, 0.315967498], 30),
    (2, 0.9, [9.854843078, 4.474912821, 5.379930257, 0.842245762], 150),
    (2, 0.95, [19.924613744, 9.486638813, 10.437974931, 0.919955015], 320),
    (3, 0.7, [3.588639797, 0.708876094, 1.699110484, 0.455995183], 32),
]


@pytest.mark.parametrize(("size", "load", "known", "max_length"), _JSQ_TABLE)
def test_the_shortest_queue_has_its_known_law(size, load, known, max_length):
    """To all nine digits, for every policy that is JSQ at equal rates."""
    system = System(np.ones(size), load * size)
    policies = [JSQ(), JFSQ(), LeastExpectedWork(), queueing.PowerOfD(size)]
    for policy in policies if load == 0.5 else policies[:1]:
        exact = queueing.exact_stationary(system, policy, max_length=max_length)
        ranked = exact.mean("lengths_ranked")
        found = [exact.mean("total"), ranked[0], ranked[-1], exact.mean("prob_wait")]
        np.testing.assert_allclose(found, known, atol=1.5e-9)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", policy_examples(3))
def test_every_registered_policy_has_the_exact_law(name, size):
    """Oracle: linear algebra by server, unequal rates and small buffers; 1e7 events each.

    All observables, false-fail rate 1e-6 together, and the joint law of all ranks (Hotelling),
    1e-6; detects .3 % of a mean length. Arrivals 1 % more frequent are rejected.
    """
    system, policy = _SYSTEMS[size], policy_examples(size)[name]
    horizon = 1e7 / 24 / (system.arrival_rate + system.total_service_rate)
    run = queueing.long_run(
        system, policy, horizon=horizon, warmup=50.0, replicas=24, seed=72, progress=False
    )
    exact = queueing.exact_stationary(system, policy, max_length=4)
    assert _worst_ratio(run, exact, [*_STATE, *_JOBS]) < 1.0
    observed = observed_joint_law(system, policy, seed=73, horizon=horizon / 2)
    law = exact_joint_law(system, policy, 4)
    assert hotelling_p_value(observed, law) > 1e-6
    more = System(system.service_rates, 1.01 * system.arrival_rate, buffer=system.buffer)
    wrong = queueing.exact_stationary(more, policy, max_length=4)
    assert _worst_ratio(run, wrong, ["lengths", "throughput"]) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", policy_examples(3))
def test_every_registered_policy_survives_degenerate_systems(name):
    """C10: no arrivals, a server of rate 0, one server, buffers of one; jobs are conserved."""
    systems = (
        System(np.ones(3), 0.0),
        System([1.0, 0.0, 1.0], 0.8, buffer=2),
        System([1.0, 2.0, 1.0], 3.0, buffer=1),
        System([1.0, 0.5, 0.25], 1e-9, buffer=1),
        System([1e6, 2e6, 1e6], 3e6, buffer=3),
    )
    for system in (*systems, System([1.0], 0.5, buffer=2)):
        policy = policy_examples(system.num_servers)[name]
        run = queueing.long_run(
            system, policy, horizon=60.0 / system.total_service_rate, warmup=0.0, replicas=2,
            seed=74, initial=np.ones(system.num_servers), progress=False, throw=False,
        )  # fmt: skip
        flow = {key: run.values(f"num_{key}") for key in ("arrivals", "departures", "lost")}
        inside = run.values("final_total") - run.values("initial_total")
        np.testing.assert_array_equal(flow["arrivals"], flow["departures"] + inside + flow["lost"])
        assert np.isfinite(run.estimate("lengths").value).all()
        assert run.values("lengths").min() >= 0.0
        if system.buffer is not None:
            assert run.values("lengths").max() <= system.buffer
