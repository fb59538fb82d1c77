"""P2's regime: its rates and loads, what it refuses, and its reference values."""

import numpy as np
import pytest

import queueing
from queueing import JFSQ, JSQ, PowerOfD, zero_waiting
from queueing._regime import REGIMES
from queueing._regime._zero_waiting import PROFILES


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_rates_sum_to_the_number_of_servers(profile, size):
    regime = zero_waiting(size, 0.5, profile, buffer=4)
    rates = regime.system.service_rates
    assert rates.size == size
    assert rates.sum() == pytest.approx(size, rel=1e-12)
    assert np.all(np.diff(rates) <= 0.0)
    assert regime.system.arrival_rate == pytest.approx(size - size**0.5, rel=1e-12)
    assert regime.system.buffer == 4
    assert regime.policy == JFSQ()


def test_profiles_have_the_ratios_that_they_promise():
    half = zero_waiting(100, 0.5, "two_classes").service_rates
    np.testing.assert_allclose(half, np.repeat([1.5, 0.5], 50))
    few = zero_waiting(100, 0.5, "few_fast").service_rates
    assert np.count_nonzero(few == few[0]) == 10
    assert few[0] / few[-1] == pytest.approx(5.0)
    linear = zero_waiting(100, 0.5, "linear").service_rates
    assert linear[0] / linear[-1] == pytest.approx(3.0)
    np.testing.assert_allclose(np.diff(linear), np.diff(linear)[0])
    own = zero_waiting(3, 0.25, [4.0, 1.0, 1.0], policy=PowerOfD(2))
    np.testing.assert_allclose(own.service_rates, [2.0, 0.5, 0.5])
    assert own.policy == PowerOfD(2)


def test_the_load_falls_short_of_one_by_a_power_of_the_size():
    """N (1 - N^-alpha) of 16 servers, by hand, for alpha on both sides of 1/2."""
    assert zero_waiting(16, 0.25).system.arrival_rate == pytest.approx(8.0)
    assert zero_waiting(16, 0.75).system.arrival_rate == pytest.approx(14.0)


def test_equal_regimes_are_equal():
    assert zero_waiting(4, 0.5) == zero_waiting(4, 0.5, np.ones(4))
    assert zero_waiting(4, 0.5) != zero_waiting(4, 0.5, policy=JSQ())
    assert len({zero_waiting(4, 0.5), zero_waiting(4, 0.5), zero_waiting(4, 0.6)}) == 2


def test_there_is_no_diffusion_limit_and_it_says_what_is_proved():
    assert REGIMES["zero_waiting"] is zero_waiting
    regime = zero_waiting(10, 0.5, buffer=3)
    for ask in (regime.limit, regime.limit_law, regime.with_pauses):
        with pytest.raises(NotImplementedError, match="mean wait vanish"):
            ask()
    with pytest.raises(ValueError, match="not known in closed form"):
        queueing.simulate(regime, horizon=1.0, initial="stationary")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.5), "num_servers is 0"),
        ((10.0, 0.5), "num_servers is 10.0"),
        ((True, 0.5), "num_servers is True"),
        ((10, 0.0), "alpha is 0.0"),
        ((10, 1.0), "alpha is 1.0"),
        ((10, np.nan), "alpha is nan"),
        ((10, "half"), "alpha is 'half'"),
        ((10, 0.5, "two-classes"), "service_rates is 'two-classes'.*'two_classes'"),
        ((3, 0.5, [1.0, 1.0]), "service_rates has 2 entries"),
        ((2, 0.5, [0.0, 0.0]), "service_rates has 2 entries of sum 0"),
        ((2, 0.5, [1.0, -1.0]), r"service_rates\[1\] is -1"),
        ((2, 0.5, [1.0, np.inf]), r"service_rates\[1\] is inf"),
        ((2, 0.5, None), "service_rates is None"),
        ((2, 0.5, "linear", 0), "buffer is 0"),
        ((2, 0.5, "linear", 2.5), "buffer is 2.5"),
        ((2, 0.5, "linear", 2, JSQ), "class instead of an instance"),
        ((2, 0.5, "linear", 2, PowerOfD(3)), "num_choices is 3 for 2 servers"),
    ],
)
def test_impossible_regimes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        zero_waiting(*arguments)


# reference_values at N = 100, alpha = .5, buffer 5: P(wait), E wait, E response with their errors.
_TABLE = {
    "all 1": ("homogeneous", JFSQ(), (0.0677, 0.0006), (0.0677, 0.0006), 1.0683),
    "JFSQ": ("two_classes", JFSQ(), (0.0504, 0.0006), (0.0339, 0.0005), 0.9814),
    "JSQ": ("two_classes", JSQ(), (0.0839, 0.0007), (0.1066, 0.0009), 1.1279),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", _TABLE)
def test_reference_values_of_100_servers(row):
    """Two independent simulations, 5.5 joint standard errors: false-fail rate 1e-6 over 9.

    Detects 5 % of a mean wait; the rows of JFSQ and JSQ reject each other.
    """
    profile, policy, *known, response = _TABLE[row]
    regime = zero_waiting(100, 0.5, profile, buffer=5, policy=policy)
    run = queueing.long_run(regime, horizon=2e4, replicas=8, seed=81, progress=False)

    def score(name, value, error):
        estimate = run.estimate(name)
        return abs(estimate.value - value) / np.hypot(estimate.std_error, error)

    for name, (value, error) in zip(("prob_wait", "wait"), known, strict=True):
        assert score(name, value, error) < 5.5
    assert score("response", response, 0.001) < 5.5
    if row != "all 1":
        other = _TABLE["JSQ" if row == "JFSQ" else "JFSQ"]
        assert score("wait", *other[3]) > 5.5
