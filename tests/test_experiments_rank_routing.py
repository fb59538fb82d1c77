"""The experiments on thin streams routed by rank: their oracles, and faults that fail them."""

from dataclasses import replace

import numpy as np
import pytest

import atlas
import queueing
from atlas.ensemble import Estimate
from experiments import interchange, overloaded, rank_routing, workload_factor
from experiments._exact_controls import regressed_mean
from experiments._frame import judge
from experiments._large_n import large_n_limit
from experiments._overloaded_runs import free_range, spread_tail
from experiments._rank_rules import choices, gap_rates, overloaded_rates, rank_rules, shortest
from experiments._two_servers import two_servers

EXPERIMENTS = {
    "rank_routing": rank_routing,
    "workload_factor": workload_factor,
    "interchange": interchange,
    "overloaded": overloaded,
}


def failed(claims) -> set[str]:
    return {verdict.claim.quantity for verdict in judge(list(claims)) if not verdict.holds}


def swapped(rule, other):
    """A rule that says what it says and does what the other does."""
    return replace(rule, policy=other.policy)


@pytest.mark.parametrize("count", [3, 5, 8])
def test_rates_of_the_gaps(count):
    """Oracle: the limit of `queueing.heavy_traffic` by its reflection matrix; no sampling."""
    for rule in rank_rules(count):
        np.testing.assert_allclose(rule.probs.sum(), 1)
        law = queueing.System(np.ones(count), 0.5 * count)
        policy_law = rule.policy.law(law)
        assert policy_law is not None
        np.testing.assert_allclose(policy_law.by_rank, rule.probs, atol=1e-15)
        regime = queueing.heavy_traffic(count, 100, 1.0, 0.3, rank_probs=rule.probs)
        expected = atlas.stationary_gaps(regime.limit()).rates
        np.testing.assert_allclose(gap_rates(rule.probs, 1.0, 0.3), expected)
        drifts = -(1 + 0.3) / count + 0.3 * rule.probs
        if rule.name != "the second shortest":
            far = atlas.stationary_gaps(atlas.first_order(drifts, np.full(count, 2.0)))
            np.testing.assert_allclose(overloaded_rates(rule.probs, 0.3), far.rates)


def test_the_spread_of_overloaded_queues_is_the_largest_of_exponentials():
    """Oracle: 1 - (1 - e^{-bx/K})^{K-1}, and for equal rates Erlang's tail; no sampling."""
    x = np.array([0.0, 0.5, 2.0, 9.0])
    rates = overloaded_rates(shortest(5).probs, 2.0)
    np.testing.assert_allclose(rates, 2.0 * np.arange(4, 0, -1) / 5)
    np.testing.assert_allclose(spread_tail(x, rates), 1 - (1 - np.exp(-0.4 * x)) ** 4)
    np.testing.assert_allclose(spread_tail(x, np.array([2.0, 2.0])), (1 + 2 * x) * np.exp(-2 * x))
    assert free_range(2) == pytest.approx(2 / np.sqrt(np.pi), rel=1e-9)
    assert free_range(5) == pytest.approx(2.325929, rel=1e-6)


def test_extrapolation_is_exact_up_to_its_bound():
    """Oracle: y = 3 - 2/sqrt(n) + 5/n, without noise; no sampling."""
    values = [Estimate(3 - 2 / n**0.5 + 5 / n, 0.0, 9.0) for n in (16, 64, 256)]
    limit, bound = large_n_limit(values)
    assert abs(limit.value - 3) <= bound * (1 + 1e-12) < 0.05
    assert abs(values[-1].value - 3) > 0.1


def test_controls_keep_the_mean_and_its_error_is_right():
    """4000 repetitions of 40 replicas with 3 controls: the mean and the spread of the estimates,
    z = 5 (1e-6), detecting 0.5 % of the error; the error without controls is 3 times as large."""
    generator = np.random.default_rng(0)
    controls = generator.standard_normal((4000, 40, 3))
    samples = 1 + controls @ [1.0, -2.0, 1.5] + generator.standard_normal((4000, 40))
    found = [regressed_mean(y, c) for y, c in zip(samples, controls, strict=True)]
    values = np.array([float(each.value) for each in found])
    errors = np.array([float(each.std_error) for each in found])
    spread = values.std()
    assert abs(values.mean() - 1) < 5 * spread / 4000**0.5
    assert abs(np.sqrt(np.mean(errors**2)) / spread - 1) < 5 * 0.75 / 4000**0.5
    assert samples.mean(axis=1).std() > 2.5 * spread
    assert float(found[0].dof) == 36


@pytest.mark.parametrize(("slack", "b", "n"), [(1.0, 1.0, 9), (1.5, 0.5, 16)])
def test_two_servers_by_linear_algebra(slack, b, n):
    """Oracle: tails of the gaps by summing the joint law; ties by the exact identity."""
    found = two_servers(n, slack, b)
    np.testing.assert_allclose(found.means[0], found.tails[1:, 0].sum() / n**0.5, rtol=1e-9)
    streams = queueing.heavy_traffic(2, n, slack, b).streams
    identity = queueing.two_server_tie_identity(streams, prob_tie=found.means[4])
    assert abs(identity.residual) < 1e-6
    wrong = queueing.heavy_traffic(2, n, slack, 1.1 * b).streams
    assert abs(queueing.two_server_tie_identity(wrong, prob_tie=found.means[4]).residual) > 1e-4
    assert 0.02 < found.distance < 0.3


@pytest.mark.parametrize(
    ("module", "changes", "message"),
    [
        (rank_routing, {"sizes": (16, 64)}, "four times"),
        (rank_routing, {"b": 9.0}, "no stationary law"),
        (rank_routing, {"slack": 0.0}, "no stationary law"),
        (rank_routing, {"num_servers": 2}, "three ranks"),
        (rank_routing, {"replicas": 5}, "num_servers \\+ 16"),
        (workload_factor, {"b": (1.0, 40.0)}, "all jobs at the smallest n"),
        (workload_factor, {"slack": -1.0}, "slack > 0"),
        (interchange, {"exact_sizes": (9, 25)}, "at least four"),
        (interchange, {"largest": 100}, "above the others"),
        (overloaded, {"slacks": (1.0,)}, "overload"),
        (overloaded, {"b": 0.0}, "the spread grows"),
        (overloaded, {"times": (1.0, 1.0, 2.0)}, "ascending"),
    ],
)
def test_settings_that_show_nothing_are_refused(module, changes, message):
    with pytest.raises(ValueError, match=message):
        module.Settings(**changes)


@pytest.mark.slow
def test_a_rule_that_does_another_s_routing_fails():
    """Oracle: the product law. Each rule says its own probabilities; the first sends jobs as two
    choices do, whose second gap is half as long again. Claims of the others hold: false-fail rate
    1e-4 by the frame's rule, at this fixed seed none."""
    settings = replace(rank_routing.EXPERIMENT.quick, horizon=100.0)

    def rules(count):
        right = rank_rules(count)
        return swapped(right[0], right[1]), right[1]

    runs = rank_routing.simulate(settings, seed=0, rules=rules)
    wrong = failed(rank_routing.all_claims(runs))
    assert wrong and all(quantity.startswith("the shortest") for quantity in wrong)


@pytest.mark.slow
def test_the_workload_of_another_rule_fails():
    """As above; with b = 4 the total under two choices is 27 % larger."""
    settings = workload_factor.EXPERIMENT.quick

    def rules(count):
        return swapped(shortest(count), choices(count, 2)), choices(count, 2)

    runs = workload_factor.simulate(settings, seed=0, rules=rules)
    wrong = failed(workload_factor.all_claims(runs))
    assert wrong and all("the shortest, b" in quantity for quantity in wrong)


@pytest.mark.slow
def test_the_stationary_law_of_another_rule_fails():
    """As above; the exact part and the diffusion are right, the long runs are of two choices."""
    settings = replace(interchange.EXPERIMENT.quick, paths=2**11)
    runs = interchange.simulate(
        settings, seed=0, rule=lambda count: swapped(shortest(count), choices(count, 2))
    )
    wrong = failed(interchange.all_claims(runs))
    assert wrong and not any("diffusion" in quantity or "two" in quantity for quantity in wrong)


@pytest.mark.slow
def test_the_spread_of_another_rule_fails():
    """As above; under two choices the spread is 60 % larger."""
    settings = replace(overloaded.EXPERIMENT.quick, paths=2**9)

    def rules(count):
        return swapped(shortest(count), choices(count, 2)), choices(count, 2)

    runs = overloaded.simulate(settings, seed=0, rules=rules)
    wrong = failed(overloaded.all_claims(runs))
    assert wrong and all(quantity.startswith("the shortest") for quantity in wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_quick_forms_hold(name):
    """All claims; false-fail rate 1e-4, at this fixed seed none."""
    experiment = EXPERIMENTS[name].EXPERIMENT
    outcome = experiment.run(experiment.quick, seed=1)
    assert not failed(outcome.claims)
    assert len(outcome.rows) > 10 and len(outcome.figure.axes) >= 3
