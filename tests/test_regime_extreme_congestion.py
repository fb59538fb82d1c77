"""Extreme congestion at finite n: its rates, its limit, and what it refuses."""

from typing import Any

import numpy as np
import pytest

import atlas
from queueing import JSQ, Marginal
from queueing._exact import exact_stationary
from queueing._regime import REGIMES, extreme_congestion, heavy_traffic

REFERENCE: dict[str, Any] = dict(n=100, a=2.0, b=1.0)


def test_rates_are_those_of_the_paper():
    regime = extreme_congestion(**REFERENCE)
    assert regime.system.num_servers == 100
    assert np.all(regime.system.service_rates == 100.0)
    assert regime.system.arrival_rate == pytest.approx(100**2 - 2 * 10 + 1 * 10, rel=1e-15)
    assert regime.policy == Marginal(JSQ(), rate=10.0)
    assert regime.scaling.length == 10.0 and regime.scaling.time == 1.0
    assert regime.policy.messages_per_job(regime.system) == pytest.approx(1000 / 9990)
    assert regime == extreme_congestion(**REFERENCE)
    assert regime != extreme_congestion(n=100, a=2.0, b=1.5)


def test_streams_add_up_to_all_arrivals():
    for n, a, b in ((1, 0.5, 0.2), (7, 2.0, 1.0), (10**6, 2.0, 1.0), (4, -3.0, 1.0)):
        regime = extreme_congestion(n, a, b)
        streams = regime.streams
        total = n * streams.uniform_rate + streams.rank_rates.sum()
        assert total == pytest.approx(regime.system.arrival_rate, rel=1e-14)
        assert streams.rank_rates[0] == pytest.approx(b * np.sqrt(n))
        assert not streams.rank_rates[1:].any()


def test_limit_is_the_infinite_reflected_atlas_process():
    regime = extreme_congestion(**REFERENCE)
    for closure in ("stationary", "prelimit", "free"):
        model = regime.limit(num_particles=8, closure=closure)
        assert model.num_particles == 8 and model.floor
        assert model.infinite is not None and model.infinite.closure == closure
    law = regime.limit_law(num_gaps=8)
    assert isinstance(law, atlas.ProductExponential)
    assert np.allclose(law.rates, [1.0, 2, 2, 2, 2, 2, 2, 2])
    assert np.allclose(law.rates, atlas.stationary_gaps(regime.limit(num_particles=8)).rates)


def test_it_is_heavy_traffic_with_as_many_servers_as_rate():
    """Oracle: P1's formulas with K = n and slack a - b."""
    one, other = extreme_congestion(9, 2.0, 0.7), heavy_traffic(9, 9, 1.3, 0.7)
    assert one.system.arrival_rate == pytest.approx(other.system.arrival_rate, rel=1e-15)
    assert one.streams.uniform_rate == pytest.approx(other.streams.uniform_rate, rel=1e-15)
    assert np.allclose(one.streams.rank_rates, other.streams.rank_rates)
    assert np.allclose(one.stationary_start().rates, other.stationary_start().rates)
    ours, theirs = one.with_pauses().stationary_gaps(), other.with_pauses().stationary_gaps()
    assert np.allclose(ours.ratios, theirs.ratios, rtol=1e-14)


def test_paused_gaps_tend_to_the_invariant_law():
    """rho_k^(m sqrt n) against exp(-rate m): the error falls as n^(-1/2); the law that forgets
    b is rejected at the lowest gap."""
    errors = []
    for n in (10**2, 10**4, 10**6):
        regime = extreme_congestion(n, 2.0, 1.0)
        ratios = regime.with_pauses().stationary_gaps().ratios[:5]
        tails = ratios ** (0.7 * np.sqrt(n))
        limit = regime.limit_law(num_gaps=5).survival(np.full(5, 0.7))
        errors.append(np.abs(tails - limit).max())
        assert abs(tails[0] - np.exp(-2.0 * 0.7)) > 0.1
    assert np.allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.1)


def test_idle_servers_and_mean_queue_on_the_oracle():
    for n, a, b, max_length in ((1, 0.5, 0.2, 100), (2, 2.0, 1.0, 90)):
        regime = extreme_congestion(n, a, b)
        law = exact_stationary(regime, max_length=max_length)
        assert law.mean("idle_servers") == pytest.approx(regime.idle_servers, abs=1e-10)
        lowest = law.mean("lengths_ranked")[0]
        assert law.mean("total") / n == pytest.approx(regime.mean_queue(lowest), abs=1e-8)


def test_pausing_twice_is_pausing_once():
    paused = extreme_congestion(**REFERENCE).with_pauses()
    assert paused.with_pauses() is paused
    assert paused == extreme_congestion(**REFERENCE).with_pauses()
    assert paused.system == extreme_congestion(**REFERENCE).with_pauses().system
    assert paused != extreme_congestion(100, 2.0, 1.5).with_pauses()
    assert paused.policy is None and paused.scaling.length == 10.0
    assert np.allclose(paused.limit_law(3).rates, [1.0, 2.0, 2.0])
    assert paused.limit(4).num_particles == 4


def test_a_million_servers_are_a_value():
    """Everything but simulation is at most linear in n."""
    regime = extreme_congestion(10**6, 2.0, 1.0)
    assert regime.system.load == pytest.approx(1.0 - 1e-9, abs=1e-15)
    lengths = regime.initial_lengths("stationary", replicas=64, seed=0, num_ranks=5)
    assert lengths.shape == (64, 5)
    assert regime.with_pauses().stationary_gaps().num_coordinates == 10**6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": 1000.0}, r"a is 1000.0, at least n\^\(3/2\) = 1000"),
        ({"a": np.nan}, "a is nan"),
        ({"a": np.inf}, "a is inf"),
        ({"b": -0.1}, "b is -0.1"),
        ({"b": np.nan}, "b is nan"),
        ({"n": 0}, "n is 0"),
        ({"n": -3}, "n is -3"),
        ({"n": 2.5}, "n is 2.5"),
        ({"n": 1e2}, "n is 100.0"),
    ],
)
def test_bad_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        extreme_congestion(**(REFERENCE | arguments))


@pytest.mark.parametrize(("a", "b"), [(2.0, 2.0), (2.0, 3.0), (2.0, 0.0), (-1.0, 0.5)])
def test_stationary_laws_need_b_between_0_and_a(a, b):
    """The system itself is legal: it can start from other lengths."""
    regime = extreme_congestion(9, a, b)
    assert np.all(regime.initial_lengths("empty", replicas=2, seed=1) == 0)
    for ask in (
        lambda: regime.limit_law(3),
        lambda: regime.stationary_start(),
        lambda: regime.initial_lengths("stationary", replicas=2, seed=1),
        lambda: regime.idle_servers,
        lambda: regime.mean_queue(1.0),
    ):
        with pytest.raises(ValueError, match=r"b is .* needs 0 < b < a"):
            ask()


def test_pauses_without_a_stationary_law():
    with pytest.raises(ValueError, match="rho_1 = "):
        extreme_congestion(9, 1.0, 1.5).with_pauses().stationary_gaps()
    with pytest.raises(ValueError, match="rho_1 = "):
        extreme_congestion(9, 1.0, 1.5).with_pauses().stationary_start()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.limit(), "num_particles is None"),
        (lambda r: r.limit_law(), "num_gaps is None"),
        (lambda r: r.limit_law(0), "num_gaps is 0"),
        (lambda r: r.limit(num_particles=4, closure="open"), "closure"),
        (lambda r: r.initial_lengths("full", replicas=1, seed=0), "kind is 'full'"),
        (lambda r: r.start_description("full"), "kind is 'full'"),
    ],
)
def test_bad_requests_are_refused_by_name(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(extreme_congestion(**REFERENCE))


def test_registry_names_the_constructors():
    assert REGIMES["extreme_congestion"] is extreme_congestion
    assert REGIMES["heavy_traffic"] is heavy_traffic
