"""Exact identities of rank-routed servers: zero in exact stationarity, and only there."""

import functools

import numba
import numpy as np
import pytest

from queueing import JSQ, Marginal, RankBased, System
from queueing._exact import exact_stationary
from queueing._identities import (
    add_tied_block_drift,
    busy_identity,
    second_moment_identity,
    tied_block_drift,
    two_server_tie_identity,
)
from queueing._rank_streams import RankStreams
from queueing._regime import extreme_congestion, heavy_traffic

# uniform rate, rates by rank, service rate, longest queue considered: the truncation is invisible.
CASES = {
    "two servers, shortest only": (RankStreams(0.5, np.array([0.35, 0.0]), 1.0), 130),
    "two servers, unequal streams": (RankStreams(0.4, np.array([0.5, 0.15]), 1.0), 110),
    "two servers, more to the longest": (RankStreams(0.3, np.array([0.1, 0.3]), 1.0), 90),
    "two fast servers": (RankStreams(3.0, np.array([1.0, 0.5]), 5.0), 90),
    "three servers, every rank": (RankStreams(0.2, np.array([0.5, 0.2, 0.1]), 1.0), 45),
    "three servers, middle left out": (RankStreams(0.2, np.array([0.4, 0.0, 0.2]), 1.0), 45),
    "four servers, every rank": (RankStreams(0.1, np.array([0.4, 0.2, 0.05, 0.1]), 1.0), 22),
    "three servers, no uniform stream": (RankStreams(0.0, np.array([1.2, 0.3, 0.1]), 1.0), 30),
}


@functools.cache
def law_of(name):
    streams, max_length = CASES[name]
    special = float(streams.rank_rates.sum())
    arrivals = streams.num_servers * streams.uniform_rate + special
    system = System(np.full(streams.num_servers, streams.service_rate), arrivals)
    policy = Marginal(RankBased(streams.rank_rates / special), rate=special)
    return exact_stationary(system, policy, max_length=max_length)


def residuals(streams, law):
    """Residuals of all identities, in units of the largest total of the terms."""
    found = [
        busy_identity(streams, idle_servers=law.mean("idle_servers")),
        second_moment_identity(streams, lengths_ranked=law.mean("lengths_ranked")),
    ]
    if streams.num_servers == 2:
        found.append(two_server_tie_identity(streams, prob_tie=law.mean("prob_tie")))
    drift = law.probabilities @ tied_block_drift(streams, law.states)
    return np.concatenate(([identity.residual for identity in found], drift))


@pytest.mark.parametrize("name", CASES)
def test_identities_hold_on_the_oracle(name):
    """To 1e-10, and each fails for a service rate that is 1 % wrong."""
    streams, _ = CASES[name]
    law = law_of(name)
    assert law.truncation_error < 1e-10
    assert np.abs(residuals(streams, law)).max() < 1e-10
    assert np.abs(law.mean("tied_block_drift")).max() < 1e-10
    wrong = RankStreams(streams.uniform_rate, streams.rank_rates, 1.01 * streams.service_rate)
    assert np.abs(residuals(wrong, law)).min() > 1e-4


@pytest.mark.parametrize("name", [n for n in CASES if "unequal" in n or "every rank" in n])
def test_tied_blocks_see_which_rank_a_stream_joins(name):
    """Streams of two ranks exchanged: the total's identity cannot tell, the blocks' do."""
    streams, _ = CASES[name]
    law = law_of(name)
    swapped = streams.rank_rates.copy()
    swapped[:2] = swapped[:2][::-1]
    wrong = RankStreams(streams.uniform_rate, swapped, streams.service_rate)
    drift = law.probabilities @ tied_block_drift(wrong, law.states)
    assert abs(drift[0]) < 1e-10
    assert abs(drift[1]) > 1e-3


@pytest.mark.parametrize("name", CASES)
def test_tied_blocks_see_how_ties_are_broken(name):
    """Without the term of the tied block every identity but the total's fails."""
    streams, _ = CASES[name]
    law = law_of(name)
    rates = streams.uniform_rate + streams.rank_rates
    net = law.probabilities @ (rates - streams.service_rate * (law.states > 0))
    untied = np.cumsum(net[::-1])[::-1]
    assert abs(untied[0]) < 1e-10
    assert np.abs(untied[1:]).min() > 1e-3


def test_regimes_state_their_own_streams():
    for regime, max_length in (
        (extreme_congestion(2, 1.9, 1.0), 120),
        (heavy_traffic(2, 4, 1.0, 1.0, rank_probs=[0.7, 0.3]), 120),
    ):
        law = exact_stationary(regime, max_length=max_length)
        assert np.abs(residuals(regime.streams, law)).max() < 1e-10


def test_mean_queue_and_idle_servers_of_extreme_congestion():
    """n = 3: the closed forms from the oracle's E Q_(1); false for the system with pauses."""
    regime = extreme_congestion(3, 2.5, 1.0)
    law = exact_stationary(regime, max_length=50)
    lowest, queue = law.mean("lengths_ranked")[0], law.mean("total") / 3
    assert queue == pytest.approx(regime.mean_queue(lowest), abs=1e-9)
    assert law.mean("idle_servers") == pytest.approx(regime.idle_servers, abs=1e-11)
    paused = np.cumsum(regime.with_pauses().stationary_gaps().mean)
    assert abs(paused.mean() - regime.mean_queue(paused[0])) > 0.1


def one_state_drift(streams, ranked):
    """The drift of the sums above each rank by applying every transition of one state."""
    size = streams.num_servers
    drift = np.zeros(size)

    def add(server, change, rate):
        after = ranked.copy()
        after[server] += change
        step = np.sort(after) - ranked
        drift[:] += rate * np.cumsum(step[::-1])[::-1]

    for k in range(size):
        add(k, 1, streams.uniform_rate + streams.rank_rates[k])
        if ranked[k] > 0:
            add(k, -1, streams.service_rate)
    return drift


def test_drift_is_that_of_every_transition():
    """Oracle: 400 random states with many ties, each transition applied and sorted again; the
    numba twin gives the same numbers."""
    generator = np.random.default_rng(2)
    twin = numba.njit(add_tied_block_drift)
    for _ in range(400):
        size = int(generator.integers(1, 7))
        ranked = np.sort(generator.integers(0, 4, size))
        streams = RankStreams(generator.random(), generator.random(size), 0.1 + generator.random())
        expected = one_state_drift(streams, ranked)
        assert np.allclose(tied_block_drift(streams, ranked), expected, atol=1e-12)
        out = np.ones(size)
        arguments = (ranked, streams.uniform_rate, streams.rank_rates, streams.service_rate)
        twin(*arguments, 0.5, out)
        assert np.allclose(out, 1.0 + 0.5 * expected, atol=1e-12)


def test_drift_takes_batches():
    streams = RankStreams(0.3, np.array([0.2, 0.1]), 1.0)
    states = np.array([[[0, 0], [0, 2]], [[1, 1], [3, 4]]])
    batch = tied_block_drift(streams, states)
    assert batch.shape == (2, 2, 2)
    assert np.allclose(batch[1, 0], tied_block_drift(streams, states[1, 0]))


def test_jsq_is_all_special():
    """Random servers without a special stream: ties are as for independent queues."""
    law = exact_stationary(System([1.0, 1.0], 1.2), JSQ(), max_length=60)
    streams = RankStreams(0.0, np.array([1.2, 0.0]), 1.0)
    assert np.abs(residuals(streams, law)).max() < 1e-10


TWO = RankStreams(0.3, np.array([0.2, 0.1]), 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RankStreams(-0.1, np.array([0.2]), 1.0), "uniform_rate is -0.1"),
        (lambda: RankStreams(0.1, np.array([-0.2]), 1.0), r"rank_rates\[0\] is -0.2"),
        (lambda: RankStreams(0.1, np.array([0.2]), 0.0), "service_rate is 0.0"),
        (lambda: RankStreams(np.nan, np.array([0.2]), 1.0), "uniform_rate is nan"),
        (lambda: tied_block_drift(TWO, [1, 0]), "not ascending"),
        (lambda: tied_block_drift(TWO, [-1, 0]), "not ascending"),
        (lambda: tied_block_drift(TWO, [0, 1, 2]), "lengths_ranked has shape"),
        (lambda: second_moment_identity(TWO, lengths_ranked=[1.0]), "lengths_ranked has shape"),
        (
            lambda: two_server_tie_identity(CASES["three servers, every rank"][0], prob_tie=0.1),
            "streams has 3",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
