"""Routing policies: their laws, their compiled rules, their messages and their refusals."""

import functools
from dataclasses import dataclass

import numba
import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import (
    JFSQ,
    JIQ,
    JSQ,
    POLICIES,
    IdleOneFirst,
    LeastExpectedWork,
    Marginal,
    Nearest,
    Policy,
    PowerOfD,
    Random,
    RankBased,
    RateProportional,
    RoundRobin,
    System,
)
from queueing._engine import next_uniform, uniform_index
from queueing._engine._pointers import pointer_to
from queueing._engine._ranked_queues import QueueView, rank_queues
from queueing._engine._xoshiro import make_bank
from queueing._policy import Kernel
from tests.policy_examples import policy_examples

_SYSTEM = System([1.0, 2.0, 0.5, 1.0], 3.0)
_STATES = np.array([[0, 0, 0, 0], [3, 1, 1, 0], [2, 2, 5, 2], [4, 3, 2, 1], [1, 7, 7, 1]])
_POLICIES = [
    Random(),
    RateProportional(),
    JSQ(),
    PowerOfD(1),
    PowerOfD(2),
    PowerOfD(3, replacement=True),
    PowerOfD(4),
    RankBased([0.1, 0.2, 0.3, 0.4]),
    Marginal(JSQ(), rate=0.6),
    Marginal(PowerOfD(3), fraction=0.4, base=RateProportional()),
    Marginal(RankBased([0.0, 0.5, 0.5, 0.0]), fraction=1.0),
    Marginal(JSQ(), fraction=0.0),
    Marginal(JFSQ(), fraction=0.3, base=JIQ()),
    Marginal(RoundRobin(), fraction=0.3, base=JFSQ()),
]
_POLICIES += [policy for policy in policy_examples(4).values() if policy not in _POLICIES]
_BY_LAW = [policy for policy in _POLICIES if policy.law(_SYSTEM) is not None]


def test_every_registered_policy_is_tried_here():
    assert {type(policy) for policy in _POLICIES} == set(POLICIES.values())


@pytest.mark.parametrize("policy", _BY_LAW, ids=repr)
def test_a_law_by_ranks_and_servers_gives_the_routing_probabilities(policy):
    """Two derivations of one law: spread over tied ranks, and directly from the state."""
    law = policy.law(_SYSTEM)
    assert law.by_rank.sum() + law.by_server.sum() == pytest.approx(1.0, abs=1e-14)
    direct = policy.routing_probabilities(_STATES, _SYSTEM)
    for state, probabilities in zip(_STATES, direct, strict=True):
        spread = law.by_server.copy()
        for rank, length in enumerate(np.sort(state)):
            tied = state == length
            spread += law.by_rank[rank] * tied / tied.sum()
        np.testing.assert_allclose(spread, probabilities, atol=1e-14)


@functools.cache
def _drawing(choose):
    @numba.njit
    def draw(queues, side, numbers, names, memory, counts, num_draws):
        view = QueueView(
            pointer_to(queues.lengths),
            pointer_to(queues.order),
            pointer_to(queues.first),
            queues.lengths.shape[0],
            queues.lengths[queues.order[0]],
            0,
        )
        words, rule = pointer_to(side), (pointer_to(numbers), pointer_to(names))
        for _ in range(num_draws):
            uniform = next_uniform(words)
            counts[choose(view, uniform, words, *rule, pointer_to(memory))] += 1

    return draw


def _drawn_counts(policy, state, num_draws=200_000, system=_SYSTEM):
    kernel = policy.kernel(system)
    counts = np.zeros(state.size, np.int64)
    side = make_bank(np.random.SeedSequence(3)).side
    draw = _drawing(kernel.choose)
    arrays = (kernel.numbers, kernel.names, kernel.memory(state))
    draw(rank_queues(state, 4), side, *arrays, counts, num_draws)
    return counts


def _chi_square_p(counts, probabilities):
    possible = probabilities > 0.0
    assert counts[~possible].sum() == 0
    if possible.sum() == 1:
        return 1.0
    expected = probabilities[possible] * counts.sum()
    return stats.chisquare(counts[possible], expected).pvalue


@pytest.mark.parametrize("policy", _POLICIES, ids=repr)
def test_compiled_rules_draw_from_the_law(policy):
    """Oracle: routing_probabilities; chi-square, false-fail rate 1e-6 each; detects .005."""
    for state in _STATES:
        counts = _drawn_counts(policy, state)
        assert _chi_square_p(counts, policy.routing_probabilities(state, _SYSTEM)) > 1e-6


@pytest.mark.parametrize("policy", _POLICIES, ids=repr)
def test_empty_servers_of_one_rate_are_taken_equally_often(policy):
    """C8: no name is preferred; chi-square, false-fail rate 1e-6 each; detects .005."""
    system, state = System(np.ones(4), 3.0), np.zeros(4, np.int64)
    counts = _drawn_counts(policy, state, system=system)
    assert _chi_square_p(counts, np.full(4, 0.25)) > 1e-6
    np.testing.assert_allclose(policy.routing_probabilities(state, system), 0.25)


@pytest.mark.parametrize("policy", _POLICIES, ids=repr)
def test_phases_share_the_routing_probabilities(policy):
    """The oracle's joint law of server and next phase is a law, and chains of phases forget."""
    count = policy.num_phases(_SYSTEM)
    joint = np.array([policy.phase_routing(_STATES, phase, _SYSTEM) for phase in range(count)])
    assert joint.shape == (count, *_STATES.shape, count)
    np.testing.assert_allclose(joint.sum(axis=(2, 3)), 1.0)
    # Whatever the lengths, every phase is taken equally often: a doubly stochastic matrix.
    np.testing.assert_allclose(joint.sum(axis=2).sum(axis=0), 1.0)
    mean = joint.sum(axis=3).mean(axis=0)
    np.testing.assert_allclose(mean, policy.routing_probabilities(_STATES, _SYSTEM), atol=1e-14)


@dataclass(frozen=True)
class _FirstOfTies(Policy):
    """Join the shortest queue, ties to the lowest position: a wrong rule."""

    def routing_probabilities(self, lengths, system):
        return JSQ().routing_probabilities(lengths, system)

    def messages_per_job(self, system):
        return float(system.num_servers)

    def kernel(self, system):
        return Kernel(_first_of_ties, np.zeros(1), np.zeros(1, np.int64))


@numba.njit(forceinline=True)
def _first_of_ties(queues, uniform, side, numbers, names, memory):
    return queues.order[0]


def test_turns_begin_with_the_first_server_and_go_up():
    """Exact: of the first n jobs server i gets (n + K - 1 - i) // K."""
    for count in range(10):
        counts = _drawn_counts(RoundRobin(), np.array([3, 0, 1, 1]), num_draws=count)
        np.testing.assert_array_equal(counts, (count + 3 - np.arange(4)) // 4)


def test_work_that_is_equal_but_for_rounding_is_tied():
    """49 (1/49) is just below 1; chi-square, false-fail rate 1e-6."""
    system, state = System([49.0, 1.0], 3.0), np.array([48, 0])
    counts = _drawn_counts(LeastExpectedWork(), state, system=system)
    assert _chi_square_p(counts, np.full(2, 0.5)) > 1e-6


@pytest.mark.slow
def test_nearest_stations_of_an_origin_are_taken_equally_often():
    """Two nearest stations of the first of two origins; chi-square, false-fail rate 1e-6."""
    ways = np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0]])
    for rows, probabilities in ((ways, [0.5, 0.5, 0.0]), (ways[::-1], [0.0, 0.5, 0.5])):
        system = System(np.ones(3), 1.0, travel_times=rows)
        counts = _drawn_counts(Nearest(), np.zeros(3, np.int64), system=system)
        assert _chi_square_p(counts, np.array(probabilities)) > 1e-6


def test_a_biased_tie_rule_is_rejected():
    state = _STATES[0]
    counts = _drawn_counts(_FirstOfTies(), state)
    assert _chi_square_p(counts, JSQ().routing_probabilities(state, _SYSTEM)) < 1e-6


@dataclass(frozen=True)
class _JoinIdle(Policy):
    """An idle server at random, else any at random: a policy that ranks alone do not give."""

    def routing_probabilities(self, lengths, system):
        idle = np.asarray(lengths) == 0
        count = idle.sum(axis=-1, keepdims=True)
        return np.where(count > 0, idle / np.maximum(count, 1), 1.0 / system.num_servers)

    def messages_per_job(self, system):
        return 1.0

    def kernel(self, system):
        return Kernel(_join_idle, np.zeros(1), np.zeros(1, np.int64))


@numba.njit(forceinline=True)
def _join_idle(queues, uniform, side, numbers, names, memory):
    num_idle = queues.first[1]
    if num_idle == 0:
        return uniform_index(uniform, queues.num_servers)
    return queues.order[uniform_index(uniform, num_idle)]


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(_JoinIdle(), marks=pytest.mark.slow),
        Marginal(_JoinIdle(), fraction=0.3),
    ],
    ids=repr,
)
def test_a_new_policy_needs_one_file_only(policy):
    """Its compiled rule runs in the event loop, alone or as a stream, and agrees with the oracle.

    False-fail rate 1e-6 over four z values; detects 1 % of a mean length.
    """
    system = System([1.0, 0.7], 1.2, buffer=6)
    run = queueing.long_run(
        system, policy, horizon=2e4, warmup=50.0, replicas=24, seed=5, progress=False
    )
    assert run.attrs["engine"] == "markov"
    exact = queueing.exact_stationary(system, policy, max_length=6)
    for name in ("lengths", "lengths_ranked"):
        estimate = run.estimate(name)
        z = (estimate.value - exact.mean(name)) / estimate.std_error
        assert np.all(np.abs(z) < stats.t.isf(0.5e-6 / 4, estimate.dof))
        assert np.all(estimate.std_error < 0.005 * estimate.value)


def test_one_choice_is_random_and_all_choices_are_the_shortest():
    """C10."""
    for replacement in (False, True):
        one = PowerOfD(1, replacement).routing_probabilities(_STATES, _SYSTEM)
        np.testing.assert_allclose(
            one, Random().routing_probabilities(_STATES, _SYSTEM), atol=1e-15
        )
    every = PowerOfD(4).routing_probabilities(_STATES, _SYSTEM)
    np.testing.assert_allclose(every, JSQ().routing_probabilities(_STATES, _SYSTEM), atol=1e-15)


def test_the_job_in_service_counts():
    """C17: one in service and none waiting is longer than idle, for all who ask every queue."""
    system = System([1.0, 1.0], 1.0)
    for policy in (JSQ(), JFSQ(), JIQ(), IdleOneFirst(), LeastExpectedWork(), PowerOfD(2)):
        np.testing.assert_array_equal(
            policy.routing_probabilities(np.array([1, 0]), system), [0.0, 1.0]
        )


def test_speeds_count_only_where_a_policy_says_so():
    """Two idle servers of rates 1 and 3, and one job at the faster."""
    system = System([1.0, 3.0], 1.0)
    both, one = np.array([0, 0]), np.array([0, 1])
    for policy, shares in ((JSQ(), [0.5, 0.5]), (JFSQ(), [0.0, 1.0]), (JIQ(), [0.5, 0.5])):
        np.testing.assert_array_equal(policy.routing_probabilities(both, system), shares)
        np.testing.assert_array_equal(policy.routing_probabilities(one, system), [1.0, 0.0])
    # (1 + 1)/3 < (0 + 1)/1.
    work = LeastExpectedWork().routing_probabilities(one, system)
    np.testing.assert_array_equal(work, [0.0, 1.0])
    tied = LeastExpectedWork().routing_probabilities(np.array([0, 2]), system)
    np.testing.assert_array_equal(tied, [0.5, 0.5])


def test_messages_are_those_that_a_dispatcher_sends():
    assert JSQ().messages_per_job(_SYSTEM) == 4.0
    assert PowerOfD(3).messages_per_job(_SYSTEM) == 3.0
    assert Random().messages_per_job(_SYSTEM) == RateProportional().messages_per_job(_SYSTEM) == 0.0
    assert Marginal(JSQ(), rate=0.6).messages_per_job(_SYSTEM) == pytest.approx(0.8)
    nested = Marginal(JSQ(), fraction=0.5, base=PowerOfD(2))
    assert nested.messages_per_job(_SYSTEM) == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PowerOfD(0), "num_choices is 0"),
        (lambda: PowerOfD(1.5), "num_choices is 1.5"),
        (lambda: PowerOfD(True), "num_choices is True"),
        (lambda: PowerOfD(2, replacement=1), "replacement is 1"),
        (lambda: RankBased([0.5, 0.6]), "probs sum to 1.1"),
        (lambda: RankBased([1.5, -0.5]), r"probs\[1\] is -0.5"),
        (lambda: RankBased([np.nan, 1.0]), r"probs\[0\] is nan"),
        (lambda: RankBased([]), "probs has shape"),
        (lambda: Marginal(JSQ()), "exactly one"),
        (lambda: Marginal(JSQ(), rate=1.0, fraction=0.5), "exactly one"),
        (lambda: Marginal(JSQ(), rate=-1.0), "rate is -1.0"),
        (lambda: Marginal(JSQ(), rate=np.inf), "rate is inf"),
        (lambda: Marginal(JSQ(), fraction=1.5), "fraction is 1.5"),
        (lambda: Marginal(JSQ, rate=1.0), "policy is"),
        (lambda: Marginal("jsq", rate=1.0), "policy is 'jsq'"),
        (lambda: Marginal(JSQ(), rate=1.0, base=Random), "base is"),
    ],
)
def test_impossible_policies_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (PowerOfD(5), "num_choices is 5 for 4 servers"),
        (RankBased([0.5, 0.5]), "probs has 2 entries for 4 servers"),
        (Marginal(JSQ(), rate=3.5), "rate is 3.5, more than"),
        (Marginal(PowerOfD(9), fraction=0.5), "num_choices is 9"),
        (JSQ, "the class instead of an instance.*Random, RateProportional, JSQ"),
        ("jsqq", "policy is 'jsqq'.*PowerOfD"),
        (None, "policy is None"),
    ],
)
def test_policies_that_cannot_serve_a_system_are_refused(policy, message):
    """C10, C13: for every entry that takes a policy."""
    calls = (
        lambda: queueing.simulate(_SYSTEM, policy, horizon=1.0),
        lambda: queueing.long_run(_SYSTEM, policy, horizon=1.0),
        lambda: queueing.exact_stationary(_SYSTEM, policy, max_length=3),
    )
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_rates_that_are_all_zero_have_no_proportions():
    system = System([0.0, 0.0], 0.0)
    with pytest.raises(ValueError, match="service_rates are all 0"):
        queueing.simulate(system, RateProportional(), horizon=1.0)
