"""Remote stations [P4]: the fraction that looks, its rules, and what is refused."""

import numpy as np
import pytest

import atlas
import queueing
from queueing import (
    JSQ,
    DelayOptimum,
    Deterministic,
    Erlang,
    Hyperexponential,
    Marginal,
    Nearest,
    RateProportional,
    ReciprocalRootOfDelay,
    RootOfExcess,
)


def test_the_regime_is_randomised_jsq_with_travel():
    regime = queueing.remote([1.0, 2.0], 0.9, [5.0, 8.0], 0.2)
    assert regime.system.arrival_rate == pytest.approx(2.7)
    np.testing.assert_array_equal(regime.system.travel_times, [[5.0, 8.0]])
    assert regime.policy == Marginal(JSQ(), fraction=0.2, base=RateProportional())
    assert regime.scaling.length == pytest.approx(10.0)
    assert regime.scaling.time == pytest.approx(100.0)
    assert regime.mean_travel_time == pytest.approx(7.0)
    # Kingman at one server of rate 3: (1 + 1)/2 .9/(.1 3).
    assert regime.pooled_wait == pytest.approx(3.0)
    planned = queueing.remote([1.0, 2.0], 0.9, [[1.0, 9.0], [9.0, 1.0]], 0.1, base=Nearest())
    assert planned.policy.base == Nearest()
    for refused in (regime.limit, regime.limit_law, regime.with_pauses):
        with pytest.raises(NotImplementedError, match="pool completely"):
            refused()
    with pytest.raises(ValueError, match="'stationary'"):
        regime.stationary_start()


def test_rules_are_their_formulas():
    """By hand: Lambda = 1.9, d = 20, load .95, exponential services, two stations."""
    for rule, chi in (
        (RootOfExcess(), np.sqrt(0.05)),
        (RootOfExcess(factor=2.0), 2.0 * np.sqrt(0.05)),
        (ReciprocalRootOfDelay(), 1.0 / np.sqrt(38.0)),
        (DelayOptimum(kappa=1.0), np.sqrt(2.0 / 38.0)),
        (DelayOptimum(), float(atlas.OPTIMAL_DELAY_GAIN.value) * np.sqrt(2.0 / 38.0)),
        (0.3, 0.3),
        (0, 0.0),
        (1, 1.0),
    ):
        assert queueing.remote([1.0, 1.0], 0.95, 20.0, rule).fraction == pytest.approx(chi)
    # Four stations of unequal ways, services of scv 1/2: H_3 = 11/6.
    regime = queueing.remote(
        [1, 1, 1, 1], 0.5, [1.0, 2.0, 3.0, 4.0], DelayOptimum(1.0), service=Erlang(2)
    )
    assert regime.fraction == pytest.approx(np.sqrt(1.5 * 11.0 / 6.0 / (2.0 * 2.5)))


def test_stations_count_by_their_rates_and_origins_by_their_shares():
    """By hand: services of scv 0 and 4 at rates 1 and 3, so 3 in the mean; ways from two origins
    of shares .25 and .75 to stations of shares .25 and .75."""
    laws, ways = [Deterministic(), Hyperexponential(4.0)], [[1.0, 9.0], [5.0, 1.0]]
    regime = queueing.remote(
        [1.0, 3.0], 0.5, ways, DelayOptimum(1.0), service=laws, origin_probs=[0.25, 0.75]
    )
    assert regime.pooled_wait == pytest.approx(0.5 * (1.0 + 3.0) * 0.5 / (0.5 * 4.0))
    way = 0.25 * (0.25 * 1.0 + 0.75 * 9.0) + 0.75 * (0.25 * 5.0 + 0.75 * 1.0)
    assert regime.mean_travel_time == pytest.approx(way)
    assert regime.fraction == pytest.approx(min(1.0, np.sqrt((1.0 + 3.0) / (2.0 * way))))


def test_rules_at_the_ends():
    """No travel: all look; one station or nothing to do: still a fraction."""
    for rule in (ReciprocalRootOfDelay(), DelayOptimum()):
        assert queueing.remote([1.0, 1.0], 0.9, 0.0, rule).fraction == 1.0
        assert queueing.remote([1.0, 1.0], 0.0, 3.0, rule).fraction == 1.0
    assert queueing.remote([1.0], 0.9, 3.0, DelayOptimum()).fraction == 0.0
    assert queueing.remote([1.0, 1.0], 0.0, 3.0, RootOfExcess(5.0)).fraction == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"load": 1.0}, "load is 1.0"),
        ({"load": -0.1}, "load is -0.1"),
        ({"load": np.nan}, "load is nan"),
        ({"load": True}, "load is True"),
        ({"chi": 1.5}, "chi is 1.5"),
        ({"chi": -0.1}, "chi is -0.1"),
        ({"chi": np.nan}, "chi is nan"),
        ({"chi": "best"}, "chi is 'best'"),
        ({"chi": RootOfExcess}, "chi is .*an instance"),
        ({"travel_times": None}, "travel_times is None"),
        ({"travel_times": [1.0, 2.0, 3.0]}, "travel_times has shape"),
        ({"service_rates": [0.0, 0.0]}, "all 0"),
        ({"base": Nearest}, "the class instead of an instance"),
        ({"origin_probs": [0.3, 0.7]}, "origin_probs has 2 entries"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    given = {"service_rates": [1.0, 1.0], "load": 0.9, "travel_times": 5.0, "chi": 0.1}
    with pytest.raises(ValueError, match=message):
        queueing.remote(**(given | arguments))


@pytest.mark.parametrize("kind", [RootOfExcess, ReciprocalRootOfDelay, DelayOptimum])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, True, "1"])
def test_bad_factors_are_refused(kind, value):
    with pytest.raises(ValueError, match=r"(factor|kappa) is"):
        kind(value)
