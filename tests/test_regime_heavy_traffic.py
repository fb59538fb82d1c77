"""Heavy traffic with streams by rank: its rates, its limit, and what it refuses."""

from math import comb
from typing import Any

import numpy as np
import pytest

import atlas
from queueing import JSQ, Marginal, PowerOfD, RankBased, System
from queueing._exact import exact_stationary
from queueing._regime import Regime, Scaling, heavy_traffic

REFERENCE: dict[str, Any] = dict(num_servers=3, n=100, slack=1.0, b=2.0)
RULES = {
    "shortest": None,
    "two choices of five": [comb(5 - k, 1) / comb(5, 2) for k in range(1, 6)],
    "uniform": [0.2] * 5,
    "lower half": [0.5, 0.4, 0.1, 0.0, 0.0],
    "a little to the longest": [0.5, 0.2, 0.1, 0.1, 0.1],
}


def test_rates_are_those_of_the_paper():
    regime = heavy_traffic(**REFERENCE)
    assert np.all(regime.system.service_rates == 100.0) and regime.system.num_servers == 3
    assert regime.system.arrival_rate == 290.0
    assert regime.policy == Marginal(JSQ(), rate=20.0)
    ranks = heavy_traffic(**REFERENCE, rank_probs=[0.5, 0.3, 0.2])
    assert ranks.policy == Marginal(RankBased(np.array([0.5, 0.3, 0.2])), rate=20.0)
    assert ranks.scaling == Scaling(length=10.0, time=1.0)
    assert ranks == heavy_traffic(**REFERENCE, rank_probs=np.array([0.5, 0.3, 0.2]))


def test_streams_add_up_to_all_arrivals():
    for slack in (1.0, 0.0, -2.0):
        regime = heavy_traffic(3, 16, slack, 2.0, rank_probs=[0.5, 0.3, 0.2])
        streams = regime.streams
        total = 3 * streams.uniform_rate + streams.rank_rates.sum()
        assert total == pytest.approx(regime.system.arrival_rate, rel=1e-14)
        assert np.allclose(streams.rank_rates, [4.0, 2.4, 1.6])


@pytest.mark.parametrize("rule", RULES)
def test_limit_law_is_that_of_the_limit(rule):
    """Two derivations: P1's formula here, the orthant form in `atlas`."""
    regime = heavy_traffic(5, 400, 1.0, 3.0, rank_probs=RULES[rule])
    model = regime.limit()
    assert np.allclose(model.variances, 2.0) and model.floor
    assert model.drifts.sum() == pytest.approx(-1.0)
    law = regime.limit_law()
    assert np.allclose(law.rates, atlas.stationary_gaps(model).rates, rtol=1e-12)
    assert law.rates[0] == pytest.approx(1.0)
    assert np.allclose(regime.limit_law(num_gaps=2).rates, law.rates[:2])
    assert regime.limit(num_particles=5).num_particles == 5


@pytest.mark.parametrize(
    ("num_servers", "b", "shortest", "two_choices"),
    [(5, 1.0, 15.0, 17.6905), (5, 4.0, 9.0, 11.4167), (5, 20.0, 5.9524, 6.8385)],
)
def test_mean_total_in_the_limit(num_servers, b, shortest, two_choices):
    """The table of P1 at slack 1, to its printed digits."""

    def mean_total(rank_probs):
        rates = heavy_traffic(num_servers, 10**4, 1.0, b, rank_probs).limit_law().rates
        return np.sum(np.arange(num_servers, 0, -1) / rates)

    assert mean_total(None) == pytest.approx(shortest, rel=5e-6)
    assert mean_total(RULES["two choices of five"]) == pytest.approx(two_choices, rel=5e-6)
    assert mean_total(RULES["uniform"]) == pytest.approx(25.0, rel=1e-12)


def test_two_choices_are_a_rank_rule():
    """Oracle: the law of PowerOfD(2) as a thin stream equals that of its rank probabilities."""
    probs = np.array([comb(3 - k, 1) / comb(3, 2) for k in range(1, 4)])
    regime = heavy_traffic(3, 4, 1.5, 1.0, rank_probs=probs)
    by_rank = exact_stationary(regime, max_length=25)
    choices = Marginal(PowerOfD(2), rate=2.0)
    by_choice = exact_stationary(regime.system, choices, max_length=25)
    assert np.allclose(by_rank.probabilities, by_choice.probabilities, atol=1e-13)


@pytest.mark.parametrize("probs", [None, [0.7, 0.3], [0.4, 0.6]])
def test_scaled_gaps_tend_to_the_limit_law(probs):
    """Oracle at n = 25, 100, 400: the error of the mean gaps halves as n is multiplied by 4; the
    limit for b of the other rank rule is missed."""
    slack, b = 2.0, 1.0
    errors = []
    for n, max_length in ((25, 110), (100, 220), (400, 420)):
        regime = heavy_traffic(2, n, slack, b, rank_probs=probs)
        means = exact_stationary(regime, max_length=max_length).mean("scaled_gaps")
        errors.append(np.abs(means - regime.limit_law().mean).max())
    assert np.allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.15)
    wrong = heavy_traffic(2, 400, slack, b, rank_probs=[0.1, 0.9]).limit_law().mean
    assert np.abs(means - wrong).max() > 4 * errors[-1]


def test_lowest_gap_does_not_know_the_rank_rule():
    """The lowest gap of P1 is Exp(slack) in the limit for every rank rule."""
    for probs in RULES.values():
        assert heavy_traffic(5, 100, 0.7, 1.0, probs).gap_rates()[0] == pytest.approx(0.7)


def test_overload_is_legal_without_a_stationary_law():
    regime = heavy_traffic(5, 400, -1.0, 2.0)
    assert regime.system.load > 1.0
    assert regime.limit().drifts.sum() == pytest.approx(1.0)
    assert np.all(regime.initial_lengths("empty", replicas=1, seed=0) == 0)
    for slack in (-1.0, 0.0):
        regime = heavy_traffic(5, 400, slack, 2.0)
        for ask in (
            regime.gap_rates,
            regime.limit_law,
            regime.stationary_start,
            lambda regime=regime: regime.initial_lengths("stationary", replicas=1, seed=0),
        ):
            with pytest.raises(ValueError, match=r"slack is .* needs slack > 0"):
                ask()
    with pytest.raises(ValueError, match="rho_1 = "):
        heavy_traffic(5, 400, -1.0, 2.0).with_pauses().stationary_gaps()


def test_upper_ranks_can_run_away():
    """A rule that feeds the longest queue has no stationary law although slack is positive."""
    regime = heavy_traffic(2, 25, 0.5, 3.0, rank_probs=[0.0, 1.0])
    with pytest.raises(ValueError, match=r"gap 2 has rate -1.25, so the upper ranks run away"):
        regime.limit_law()
    with pytest.raises(ValueError, match="no stationary law"):
        exact_stationary(regime, max_length=60)
    with pytest.raises(ValueError, match="rho_2 = "):
        regime.with_pauses().stationary_gaps()


@pytest.mark.parametrize("n", [4, 25])
def test_pauses_by_rank_are_a_jackson_network(n):
    """Oracle: the paused chain's joint law on two servers, unequal streams."""
    regime = heavy_traffic(2, n, 1.0, 1.0, rank_probs=[0.8, 0.2]).with_pauses()
    law, product = exact_stationary(regime, max_length=200), regime.stationary_gaps()
    gaps = np.diff(law.states, axis=1, prepend=0)
    assert np.abs(product.prob(gaps) - law.probabilities).max() < 1e-10
    original = exact_stationary(regime.original, max_length=200)
    assert np.abs(product.prob(gaps) - original.probabilities).max() > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_servers": 0}, "num_servers is 0"),
        ({"num_servers": 2.5}, "num_servers is 2.5"),
        ({"n": 0}, "n is 0"),
        ({"n": 1.5}, "n is 1.5"),
        ({"slack": np.nan}, "slack is nan"),
        ({"slack": np.inf}, "slack is inf"),
        ({"slack": 29.0}, "b is 2.0: its stream .* = 20 exceeds all arrivals .* = 10"),
        ({"b": -1.0}, "b is -1.0"),
        ({"b": 40.0}, "b is 40.0: its stream"),
        ({"b": np.nan}, "b is nan"),
        ({"rank_probs": [0.5, 0.5]}, "rank_probs has 2 entries; give 3"),
        ({"rank_probs": [0.5, 0.6, -0.1]}, r"rank_probs\[2\] is -0.1"),
        ({"rank_probs": [0.5, 0.3, 0.1]}, "rank_probs sums to 0.9"),
        ({"rank_probs": [0.5, np.nan, 0.1]}, r"rank_probs\[1\] is nan"),
        ({"rank_probs": []}, "rank_probs has shape"),
    ],
)
def test_bad_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        heavy_traffic(**(REFERENCE | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"service": "exponential"}, "service is 'exponential'"),
        ({"n": "100"}, "n is '100'"),
        ({"slack": None}, "slack is None"),
        ({"rank_probs": "jsq"}, "rank_probs is 'jsq'"),
    ],
)
def test_wrong_types_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        heavy_traffic(**(REFERENCE | arguments))


def test_misspelt_keywords_are_refused():
    with pytest.raises(TypeError, match="rankprobs"):
        heavy_traffic(**(REFERENCE | {"rankprobs": [1.0, 0.0, 0.0]}))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.limit(num_particles=4), "num_particles is 4; the limit has num_servers = 3"),
        (lambda r: r.limit_law(num_gaps=4), "num_gaps is 4"),
        (lambda r: r.limit_law(num_gaps=0), "num_gaps is 0"),
    ],
)
def test_bad_requests_are_refused_by_name(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(heavy_traffic(**REFERENCE))


class Bare(Regime):
    """A regime of a paper that proves no diffusion limit."""

    @property
    def system(self):
        return System([1.0, 1.0], 1.0)

    @property
    def policy(self):
        return JSQ()

    @property
    def scaling(self):
        return Scaling(1.0, 1.0)

    @property
    def _what_is_proved(self):
        return "the paper proves that waiting vanishes"

    def stationary_start(self):
        raise ValueError("no closed form")


def test_regimes_without_a_diffusion_limit_say_what_is_proved():
    regime = Bare()
    assert regime.initial_lengths("empty", replicas=3, seed=0).shape == (3, 2)
    for ask in (regime.limit, regime.limit_law, regime.with_pauses):
        with pytest.raises(NotImplementedError, match="the paper proves that waiting vanishes"):
            ask()
