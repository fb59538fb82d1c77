"""Observables of the oracle: one name, one meaning, tied together by conservation laws."""

from typing import Any

import numpy as np
import pytest

from queueing import JSQ, Marginal, PowerOfD, Random, RateProportional, System
from queueing._exact import exact_stationary
from queueing._regime import extreme_congestion, heavy_traffic

SYSTEMS = {
    "unequal, no buffer": (System([1.0, 0.4], 1.1), JSQ(), 120),
    "unequal, buffer": (System([1.0, 0.4, 0.7], 2.5, buffer=4), PowerOfD(2), 4),
    "equal, overloaded": (System([1.0, 1.0], 3.0, buffer=5), Random(), 5),
    "three equal": (System([1.0] * 3, 2.1), Marginal(JSQ(), fraction=0.5), 40),
    "by rate": (System([2.0, 1.0], 1.5), RateProportional(), 60),
}


@pytest.fixture(params=SYSTEMS, scope="module")
def case(request):
    system, policy, max_length = SYSTEMS[request.param]
    return system, exact_stationary(system, policy, max_length=max_length)


def accepted_rate(system, law):
    return system.arrival_rate * (1.0 - law.mean("prob_loss"))


def test_lengths_add_up(case):
    system, law = case
    ranks = law.mean("lengths_ranked")
    assert law.mean("lengths").sum() == pytest.approx(law.mean("total"), rel=1e-12)
    assert ranks.sum() == pytest.approx(law.mean("total"), rel=1e-12)
    assert np.allclose(np.cumsum(law.mean("gaps")), ranks, rtol=1e-12)
    assert law.mean("imbalance") == pytest.approx(ranks[-1] - ranks[0], rel=1e-12)
    assert law.mean("occupancy").sum() * system.num_servers == pytest.approx(law.mean("total"))
    levels = np.arange(law.ranked_marginals.shape[1])
    assert np.allclose(law.ranked_marginals @ levels, ranks, rtol=1e-12)


def test_servers_are_busy_or_idle(case):
    system, law = case
    idle = law.mean("idle_servers")
    assert law.mean("utilisation").sum() + idle == pytest.approx(system.num_servers)
    assert law.mean("occupancy")[0] == pytest.approx(1.0 - idle / system.num_servers)
    assert np.allclose(law.mean("throughput"), system.service_rates * law.mean("utilisation"))


def test_what_is_accepted_leaves(case):
    system, law = case
    assert law.mean("throughput").sum() == pytest.approx(accepted_rate(system, law), rel=1e-9)


def test_littles_law(case):
    """Waits are found by PASTA, lengths by the time average: Little's law ties them.  With the
    rate of all jobs in place of the accepted ones it fails as soon as jobs are lost."""
    system, law = case
    rate = accepted_rate(system, law)
    busy = law.mean("utilisation").sum()
    assert rate * law.mean("response") == pytest.approx(law.mean("total"), rel=1e-9)
    assert rate * law.mean("wait") == pytest.approx(law.mean("total") - busy, rel=1e-8)
    assert law.mean("time_to_service") == law.mean("wait")
    if law.mean("prob_loss") > 0.0:
        assert abs(system.arrival_rate * law.mean("response") - law.mean("total")) > 1e-2


def test_waiting_is_finding_the_server_busy():
    """M/M/1: P(wait) = load; M/M/1/3 at load 2: of the accepted, 6/7 of 14/15."""
    law = exact_stationary(System([1.0], 0.7), JSQ(), max_length=120)
    assert law.mean("prob_wait") == pytest.approx(0.7, abs=1e-12)
    full = exact_stationary(System([1.0], 2.0, buffer=3), JSQ(), max_length=3)
    assert full.mean("prob_wait") == pytest.approx(6.0 / 7.0, abs=1e-12)


def test_premium_jobs_find_short_queues():
    """Classes of a marginal policy: the mixture of their means is the mean of all jobs."""
    policy = Marginal(JSQ(), fraction=0.25)
    law = exact_stationary(System([1.0, 1.0], 1.5), policy, max_length=120)
    for name in ("wait", "response", "prob_wait"):
        special = law.job_mean(name, policy=JSQ())
        base = law.job_mean(name, policy=Random())
        assert 0.25 * special + 0.75 * base == pytest.approx(law.mean(name), rel=1e-12)
        assert special < base
    shortest = law.mean("lengths_ranked")[0]
    assert law.job_mean("response", policy=JSQ()) == pytest.approx(shortest + 1.0, rel=1e-12)


def test_ties_of_the_two_lowest():
    law = exact_stationary(System([1.0] * 3, 1.5), JSQ(), max_length=25)
    states, probabilities = law.joint
    tied = probabilities[states[:, 0] == states[:, 1]].sum()
    assert law.mean("prob_tie") == pytest.approx(tied, rel=1e-14)
    with pytest.raises(ValueError, match="at least two servers"):
        exact_stationary(System([1.0], 0.5), JSQ(), max_length=5).mean("prob_tie")


def test_messages_are_the_policys():
    law = exact_stationary(heavy_traffic(3, 4, 1.0, 1.0), max_length=12)
    assert law.mean("messages_per_job") == pytest.approx(3 * 2.0 / 10.0)


def test_scaled_gaps_need_a_regime():
    regime = heavy_traffic(2, 9, 1.0, 1.0)
    law = exact_stationary(regime, max_length=60)
    assert np.allclose(law.mean("scaled_gaps") * 3.0, law.mean("gaps"))
    with pytest.raises(ValueError, match="pass a regime"):
        exact_stationary(regime.system, regime.policy, max_length=60).mean("scaled_gaps")


def test_users_own_observables():
    """A function of the ranked lengths, scalar or array, also when servers are unlike."""
    own = {"product": lambda ranked: ranked[0] * ranked[1], "pair": lambda ranked: ranked[:2] ** 2}
    for rates in ([1.0, 1.0], [1.0, 0.6]):
        law = exact_stationary(System(rates, 1.1), JSQ(), max_length=40, observe=own)
        states, probabilities = law.joint_ranked
        assert law.mean("product") == pytest.approx(probabilities @ states.prod(axis=1))
        assert np.allclose(law.mean("pair"), probabilities @ states**2)


def test_the_paused_system_has_lengths_but_no_jobs():
    law = exact_stationary(extreme_congestion(2, 2.0, 1.0).with_pauses(), max_length=60)
    assert np.allclose(np.cumsum(law.mean("gaps")), law.mean("lengths"))
    assert law.mean("scaled_gaps") == pytest.approx(law.mean("gaps") / np.sqrt(2.0))
    for name in ("wait", "prob_loss", "throughput", "messages_per_job"):
        with pytest.raises(ValueError, match="system with pauses"):
            law.mean(name)
    with pytest.raises(ValueError, match="system with pauses"):
        law.job_mean("wait", policy=JSQ())


LAW = exact_stationary(System([1.0, 1.0], 1.0), JSQ(), max_length=8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LAW.mean("queue"), "name is 'queue'; give one of lengths, lengths_ranked"),
        (
            lambda: exact_stationary(System([1.0, 1.0], 1.0, buffer=3), JSQ(), max_length=3).mean(
                "tied_block_drift"
            ),
            "tied_block_drift belongs to",
        ),
        (lambda: LAW.job_mean("total", policy=JSQ()), "name is 'total'; give one of prob_wait"),
        (lambda: LAW.prob([2, 1]), "not ascending"),
        (lambda: LAW.prob([-1, 1]), "not ascending"),
        (lambda: LAW.prob([1, 2, 3]), "lengths_ranked has shape"),
        (lambda: LAW.prob([0.5, 1.0]), "give integers"),
        (
            lambda: exact_stationary(System([1.0], 0.0), JSQ(), max_length=5).mean("wait"),
            "arrival_rate is 0",
        ),
    ],
)
def test_unknown_observables_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_states_beyond_the_truncation_have_no_probability():
    assert LAW.prob([[0, 9], [0, 0]])[0] == 0.0


def test_job_means_refuse_a_class_instead_of_a_policy():
    wrong: Any = JSQ
    with pytest.raises(ValueError, match="class instead of an instance"):
        LAW.job_mean("wait", policy=wrong)
