"""The stationary oracle against tables, closed forms and a second program."""

import itertools
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from queueing import (
    JIQ,
    JSQ,
    Marginal,
    Policy,
    PowerOfD,
    Random,
    RankBased,
    RateProportional,
    System,
)
from queueing._distribution import Distribution
from queueing._exact import exact_stationary
from queueing._exact._linear_algebra import ReducedGenerator, stationary_by_elimination
from queueing._exact._state_space import StateSpace
from queueing._exact._system_chain import build_system_chain
from queueing._paused import PausedSystem
from queueing._regime import extreme_congestion, heavy_traffic
from queueing._subject import resolve_subject


@dataclass(frozen=True)
class LowestIndex(Policy):
    """Join the shortest queue, ties to the lowest index: treats servers differently."""

    def routing_probabilities(self, lengths, system):
        return np.eye(system.num_servers)[np.argmin(lengths, axis=-1)]

    def messages_per_job(self, system):
        return float(system.num_servers)


@dataclass(frozen=True)
class BlindToService(Policy):
    """Shortest by the jobs that wait, the one in service not counted: C17's wrong policy."""

    def routing_probabilities(self, lengths, system):
        waiting = np.maximum(np.asarray(lengths) - 1, 0)
        return JSQ().routing_probabilities(waiting, system)

    def messages_per_job(self, system):
        return float(system.num_servers)


def dense_reference(system, policy, cap):
    """The law on lengths by server up to `cap`: one state at a time, dense null vector."""
    states = list(itertools.product(range(cap + 1), repeat=system.num_servers))
    number = {state: k for k, state in enumerate(states)}
    rates = np.zeros((len(states), len(states)))
    for state in states:
        routing = policy.routing_probabilities(np.array(state), system)
        for server in range(system.num_servers):
            up, down = list(state), list(state)
            up[server] += 1
            down[server] -= 1
            if state[server] < cap:
                rates[number[state], number[tuple(up)]] += system.arrival_rate * routing[server]
            if state[server] > 0:
                rates[number[state], number[tuple(down)]] += system.service_rates[server]
    generator = rates - np.diag(rates.sum(axis=1))
    matrix = np.vstack((generator.T, np.ones(len(states))))
    right = np.append(np.zeros(len(states)), 1.0)
    return np.array(states), np.linalg.lstsq(matrix, right, rcond=None)[0]


@pytest.mark.parametrize(
    ("num_servers", "load", "max_length", "printed"),
    [
        (2, 0.5, 40, [1.426320751, 0.426320751, 1.000000000, 0.315967498]),
        (2, 0.9, 180, [9.854843078, 4.474912821, 5.379930257, 0.842245762]),
        (2, 0.95, 320, [19.924613744, 9.486638813, 10.437974931, 0.919955015]),
        (3, 0.7, 32, [3.588639797, 0.708876094, 1.699110484, 0.455995183]),
    ],
)
def test_join_the_shortest_queue_to_all_printed_digits(num_servers, load, max_length, printed):
    """Mean total, shortest, longest, P(wait); the policy of C17 misses every one of them."""
    system = System(np.ones(num_servers), num_servers * load)

    def numbers(policy):
        law = exact_stationary(system, policy, max_length=max_length)
        ranks = law.mean("lengths_ranked")
        return np.array([law.mean("total"), ranks[0], ranks[-1], law.mean("prob_wait")])

    assert np.abs(numbers(JSQ()) - printed).max() < 6e-10
    if num_servers == 2 and load < 0.95:
        assert np.abs(numbers(BlindToService()) - printed).min() > 1e-3


@pytest.mark.parametrize(
    ("slack", "b", "n", "printed"),
    [
        (1.0, 0.0, 25, [0.852632, 1.894737, 3.600000, 0.19, 0.052632]),
        (1.0, 0.0, 100, [0.925641, 1.948718, 3.800000, 0.0975, 0.025641]),
        (1.0, 1.0, 25, [0.8728795, 0.9271205, 2.6728795, 0.1830025, 0.1]),
        (1.0, 1.0, 100, [0.9356604, 0.9643396, 2.8356604, 0.0954746, 0.05]),
    ],
)
def test_marginal_jsq_on_two_servers_to_all_printed_digits(slack, b, n, printed):
    """P1's table; a slack that is 1 % wrong misses the first four numbers."""
    units = np.array([1e-6] * 5) if b == 0.0 else np.array([1e-7] * 5)

    def numbers(slack):
        law = exact_stationary(heavy_traffic(2, n, slack, b), max_length=400)
        total = law.mean("total") / np.sqrt(n)
        atom = law.ranked_marginals[0, 0]
        return np.array([*law.mean("scaled_gaps"), total, atom, law.mean("prob_tie")])

    assert np.all(np.abs(numbers(slack) - printed) < 0.6 * units)
    assert np.all(np.abs(numbers(1.01 * slack) - printed)[:4] > 100 * units[:4])


SMALL = {
    "unequal servers, JSQ": (System([1.0, 0.4, 0.7], 1.5, buffer=3), JSQ()),
    "unequal servers, two choices": (System([1.0, 0.4, 0.7], 2.5, buffer=3), PowerOfD(2)),
    "two choices of three": (System([1.0] * 3, 2.2, buffer=4), PowerOfD(2)),
    "ranks of three": (System([1.0] * 3, 2.2, buffer=4), RankBased(np.array([0.5, 0.1, 0.4]))),
    "marginal": (System([1.0] * 2, 1.5, buffer=9), Marginal(JSQ(), rate=0.4)),
    "marginal over rates": (
        System([2.0, 1.0], 2.6, buffer=9),
        Marginal(JSQ(), fraction=0.3, base=RateProportional()),
    ),
    "ties to the lowest index": (System([1.0] * 2, 1.5, buffer=9), LowestIndex()),
    "overloaded with a buffer": (System([1.0] * 2, 5.0, buffer=6), Random()),
    "one server": (System([1.0], 0.8, buffer=12), JSQ()),
}


@pytest.mark.parametrize("name", SMALL)
def test_joint_law_is_that_of_a_second_program(name):
    """Oracle: state-by-state dense linear algebra; joint law of all ranks to 1e-12.  An arrival
    rate that is 1 % wrong is rejected."""
    system, policy = SMALL[name]
    law = exact_stationary(system, policy, max_length=50)
    assert law.truncation_error == 0.0 and law.prob_boundary == 0.0
    assert law.residual < 1e-14
    states, reference = dense_reference(system, policy, system.buffer)
    ranked, inverse = np.unique(np.sort(states, axis=1), axis=0, return_inverse=True)
    expected = np.bincount(inverse.ravel(), weights=reference)
    assert np.abs(law.prob(ranked) - expected).max() < 1e-12
    assert law.prob(ranked).sum() == pytest.approx(1.0, abs=1e-12)
    assert np.allclose(law.mean("lengths"), reference @ states, atol=1e-11)
    wrong = System(system.service_rates, 1.01 * system.arrival_rate, buffer=system.buffer)
    assert (
        np.abs(exact_stationary(wrong, policy, max_length=50).prob(ranked) - expected).max() > 1e-5
    )


def test_alike_servers_are_folded_and_unlike_ones_are_not():
    assert exact_stationary(System([1.0, 1.0], 1.0), JSQ(), max_length=20).num_states == 231
    assert exact_stationary(System([1.0, 1.1], 1.0), JSQ(), max_length=20).num_states == 441
    lowest = exact_stationary(System([1.0, 1.0], 1.0), LowestIndex(), max_length=20)
    assert not lowest.is_folded


def test_biased_ties_show_by_server_though_not_by_rank():
    """C8: ranks cannot tell how ties are broken between alike servers, lengths can."""
    system = System([1.0, 1.0], 1.2)
    fair = exact_stationary(system, JSQ(), max_length=60)
    biased = exact_stationary(system, LowestIndex(), max_length=60)
    assert np.allclose(fair.mean("lengths_ranked"), biased.mean("lengths_ranked"), atol=1e-10)
    assert np.ptp(fair.mean("lengths")) == 0.0
    assert biased.mean("lengths")[0] - biased.mean("lengths")[1] > 0.1


def test_folding_changes_nothing():
    """The folded chain of three servers against the chain of their 12^3 lengths."""
    system, policy = System([1.0] * 3, 2.0, buffer=11), Marginal(PowerOfD(2), fraction=0.7)
    folded = exact_stationary(system, policy, max_length=11)
    whole = build_system_chain(resolve_subject(system, policy), cap=11, is_folded=False)
    law = ReducedGenerator(whole.generator).stationary_vector()
    ranked, inverse = np.unique(whole.ranked, axis=0, return_inverse=True)
    assert np.abs(folded.prob(ranked) - np.bincount(inverse.ravel(), weights=law)).max() < 1e-13


def test_job_in_service_counts():
    """C17: one job in service at A, none waiting, B idle: the next job goes to B."""
    system = System([1.0, 1.0], 1.0, buffer=2)
    law = exact_stationary(system, JSQ(), max_length=2)
    numbers = {tuple(state): k for k, state in enumerate(law.states.tolist())}
    rates = law.chain.generator.toarray()
    assert rates[numbers[0, 1], numbers[1, 1]] == 1.0
    assert rates[numbers[0, 1], numbers[0, 2]] == 0.0
    wrong = exact_stationary(system, BlindToService(), max_length=2).chain.generator.toarray()
    assert wrong[numbers[0, 1], numbers[0, 2]] == 0.5


def test_single_queue_has_its_closed_forms():
    law = exact_stationary(System([2.0], 1.0), JSQ(), max_length=60)
    assert law.mean("total") == pytest.approx(1.0, abs=1e-12)
    assert law.mean("wait") == pytest.approx(0.5, abs=1e-12)
    assert law.prob([[0], [3]]) == pytest.approx([0.5, 0.0625], abs=1e-14)
    full = exact_stationary(System([1.0], 2.0, buffer=3), JSQ(), max_length=3)
    assert full.mean("prob_loss") == pytest.approx(8.0 / 15.0, abs=1e-14)
    assert full.mean("throughput") == pytest.approx([14.0 / 15.0], abs=1e-14)


def test_random_routing_makes_independent_queues():
    law = exact_stationary(System([1.0, 2.0], 1.2), Random(), max_length=60)
    states, probabilities = law.joint
    product = 0.4 * 0.6 ** states[:, 0] * 0.7 * 0.3 ** states[:, 1]
    assert np.abs(probabilities - product).max() < 1e-12


def test_d_choices_run_from_random_to_jsq():
    """C10: d = 1 is random routing, d = n is JSQ."""
    system = System([1.0] * 3, 2.0, buffer=8)

    def law(policy):
        return exact_stationary(system, policy, max_length=8).probabilities

    assert np.allclose(law(PowerOfD(1)), law(Random()), atol=1e-14)
    assert np.allclose(law(PowerOfD(3)), law(JSQ()), atol=1e-14)
    assert np.abs(law(PowerOfD(2)) - law(JSQ())).max() > 1e-3


def test_two_servers_with_400_levels_take_seconds():
    """80 601 states within 5 s of processor time (about 0.5 s where this was written)."""
    start = time.process_time()
    law = exact_stationary(heavy_traffic(2, 100, 1.0, 1.0), max_length=400)
    law.mean("lengths_ranked")
    assert law.num_states == 80_601
    assert time.process_time() - start < 5.0


def test_elimination_and_factorisation_agree():
    subject = resolve_subject(System([1.0] * 2, 1.7), JSQ())
    chain = build_system_chain(subject, cap=15, is_folded=True)
    by_elimination = stationary_by_elimination(chain.generator)
    by_factors = ReducedGenerator(chain.generator).stationary_vector()
    assert np.allclose(by_elimination, by_factors, rtol=1e-11, atol=0.0)


def test_elimination_keeps_relative_accuracy_of_rare_states():
    """M/M/1 at load 0.01: the last of 80 states has probability 1e-158."""
    subject = resolve_subject(System([1.0], 0.01), JSQ())
    chain = build_system_chain(subject, cap=79, is_folded=True)
    law = stationary_by_elimination(chain.generator)
    assert np.allclose(law[1:] / law[:-1], 0.01, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize("num_servers", [1, 2, 3, 5])
def test_states_and_their_numbers_are_inverse(num_servers, is_folded):
    space = StateSpace(num_servers, 4, is_folded)
    assert len(np.unique(space.states, axis=0)) == space.num_states
    assert np.array_equal(space.numbers(space.states), np.arange(space.num_states))
    if is_folded:
        assert np.all(np.diff(space.states, axis=1) >= 0)


@pytest.mark.parametrize("rates", [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
def test_without_arrivals_the_system_is_empty(rates):
    """C10: arrival rate 0 from empty, whatever the service rates."""
    law = exact_stationary(System(rates, 0.0), JSQ(), max_length=5)
    assert law.mean("total") == 0.0 and law.mean("idle_servers") == 2.0
    assert law.mean("utilisation") == pytest.approx([0.0, 0.0])
    assert law.truncation_error == 0.0


def test_a_dead_server_is_full_or_shunned():
    """C10: a service rate of 0."""
    dead = exact_stationary(System([1.0, 0.0], 0.6, buffer=4), JSQ(), max_length=4)
    assert dead.mean("lengths")[1] == pytest.approx(4.0)
    shunned = exact_stationary(System([1.0, 0.0], 0.6), RateProportional(), max_length=80)
    assert shunned.mean("lengths") == pytest.approx([1.5, 0.0], abs=1e-12)
    assert shunned.mean("wait") == pytest.approx(1.5, abs=1e-10)
    assert shunned.mean("throughput") == pytest.approx([0.6, 0.0], abs=1e-12)


def test_a_thin_stream_of_rate_zero_changes_nothing():
    """C10: b = 0."""
    law = exact_stationary(heavy_traffic(2, 25, 1.0, 0.0), max_length=60)
    plain = exact_stationary(System([25.0, 25.0], 45.0), Random(), max_length=60)
    assert np.allclose(law.probabilities, plain.probabilities, atol=1e-14)


def test_paused_chain_of_one_rank_is_a_single_queue():
    law = exact_stationary(PausedSystem([0.5], [1.0]), max_length=60)
    assert law.mean("gaps") == pytest.approx([1.0], abs=1e-12)


STABLE = System([1.0, 1.0], 1.2)
# Untyped, so that wrong types can be passed.
ASK: Any = exact_stationary


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ASK(STABLE, JSQ(), max_length=0), "max_length is 0"),
        (lambda: ASK(STABLE, JSQ(), max_length=2.5), "max_length is 2.5"),
        (
            lambda: ASK(System(np.ones(8), 7.0), JSQ(), max_length=60),
            "makes 7392009768 states",
        ),
        (
            lambda: ASK(extreme_congestion(10**6, 2, 1), max_length=400),
            r"makes about 10\^1531 states",
        ),
        (
            lambda: ASK(System(np.arange(1.0, 5001.0), 7.0), JSQ(), max_length=60),
            r"makes about 10\^8927 states \(lengths by server\)",
        ),
        (
            lambda: ASK(STABLE, JSQ(), max_length=60, max_states=1000),
            r"makes 1891 states .*max_states = 1000",
        ),
        (lambda: ASK(System([1.0, 1.0], 2.0), JSQ(), max_length=9), "capacity 2.0"),
        (lambda: ASK(System([1.0, 0.0], 0.5), JSQ(), max_length=9), "only fills up"),
        (
            lambda: ASK(System([1.0, 0.4], 1.2), Random(), max_length=40),
            "no stationary law: server 1 receives at least 0.6",
        ),
        (
            lambda: ASK(System([1.0, 0.4], 1.2), Marginal(JIQ(), fraction=0.05), max_length=40),
            "server 1 is offered",
        ),
        (
            lambda: ASK(
                System([1.0, 1.0], 1.6),
                Marginal(RankBased(np.array([0.0, 1.0])), rate=0.9),
                max_length=50,
            ),
            "no stationary law",
        ),
        (lambda: ASK(heavy_traffic(2, 25, -1.0, 1.0), max_length=50), "capacity 50"),
        (lambda: ASK(PausedSystem([1.0, 1.2], [1.0, 1.0]), max_length=9), "rho_2"),
        (lambda: ASK(extreme_congestion(2, 1, 0), JSQ(), max_length=9), "policy"),
        (lambda: ASK(PausedSystem([1], [2]), JSQ(), max_length=9), "policy"),
        (
            lambda: ASK(STABLE, JSQ(), max_length=9, observe={"total": max}),
            "observe has 'total'",
        ),
        (lambda: ASK(STABLE, RankBased(np.array([1.0])), max_length=9), "probs has 1"),
    ],
)
def test_impossible_requests_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ASK("farm", JSQ(), max_length=9), "system_or_regime is 'farm'"),
        (lambda: ASK(STABLE, "jsqq", max_length=9), "JSQ, PowerOfD"),
        (lambda: ASK(STABLE, JSQ, max_length=9), "class instead of an instance"),
        (lambda: ASK(STABLE, max_length=9), "policy is None"),
        (lambda: ASK(STABLE, JSQ(), max_length="9"), "max_length is '9'"),
        (lambda: ASK(STABLE, JSQ(), max_length=9, observe=max), "observe is"),
        (lambda: ASK(STABLE, JSQ(), max_length=9, observe={"x": 1}), "observe"),
    ],
)
def test_wrong_types_are_refused_by_name(call, message):
    """C13: names and classes instead of instances, the known ones listed."""
    with pytest.raises(ValueError, match=message):
        call()


@dataclass(frozen=True)
class Leaky(Policy):
    """Loses a tenth of the probability."""

    def routing_probabilities(self, lengths, system):
        return 0.9 * JSQ().routing_probabilities(lengths, system)

    def messages_per_job(self, system):
        return 0.0


def test_a_policy_that_is_no_law_is_refused():
    with pytest.raises(ValueError, match="must be non-negative and sum to 1"):
        exact_stationary(STABLE, Leaky(), max_length=5)


@dataclass(frozen=True)
class TwoPoints(Distribution):
    """Half or three halves, equally likely: no memoryless law."""

    @property
    def scv(self):
        return 0.25

    def sample(self, generator, size):
        return 0.5 + generator.integers(0, 2, size)


def test_lengths_alone_are_markov_only_with_exponential_services():
    system = System([1.0, 1.0], 1.2, service=TwoPoints())
    assert not system.is_markov
    with pytest.raises(
        ValueError, match=r"lengths are no Markov process, because service is TwoPoints"
    ):
        exact_stationary(system, JSQ(), max_length=5)


@pytest.mark.parametrize(("num_servers", "load"), [(1, 2.0), (10, 0.8), (300, 1.0)])
def test_without_waiting_room_the_loss_is_erlangs(num_servers, load):
    """Oracle: Erlang's formula by its recursion; 300 servers are 301 ranked states."""
    offered = load * num_servers
    blocking = 1.0
    for servers in range(1, num_servers + 1):
        blocking = offered * blocking / (servers + offered * blocking)
    system = System(np.ones(num_servers), offered, buffer=1)
    law = exact_stationary(system, JSQ(), max_length=1)
    assert law.mean("prob_loss") == pytest.approx(blocking, rel=1e-12)
    assert law.mean("prob_wait") == 0.0
    assert law.prob(np.ones(num_servers, dtype=int)) == pytest.approx(blocking, rel=1e-12)
    if num_servers > 1:
        at_random = exact_stationary(system, Random(), max_length=1)
        assert at_random.mean("prob_loss") > blocking + 0.1
