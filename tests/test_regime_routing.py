"""General stations in heavy traffic [P3]: formulas, refusals, and the limit at small slack."""

import numpy as np
import pytest

import queueing
from queueing import (
    JSQ,
    Deterministic,
    Erlang,
    Exponential,
    Hyperexponential,
    Pareto,
    PowerOfD,
    Random,
    System,
)
from queueing._overload import overload


def test_the_limit_is_one_exponential_of_its_mean():
    """m = (1/(2J)) sum mu_j (c_e^2 + c_sj^2), by hand."""
    regime = queueing.routing([1, 1.5, 0.5], Erlang(2), Hyperexponential(scv=4.0), r=0.05)
    assert regime.limit_mean == pytest.approx(3.0 * 4.5 / 6.0)
    assert regime.limit_law().mean == pytest.approx([2.25])
    assert regime.system.arrival_rate == pytest.approx(2.95)
    assert regime.scaling.length == pytest.approx(20.0)
    assert regime.scaling.time == pytest.approx(400.0)
    assert regime.policy == JSQ()
    laws = [Deterministic(), Erlang(4)]
    mixed = queueing.routing([1.0, 3.0], service=laws, r=0.1)
    assert mixed.limit_mean == pytest.approx((1.0 * 1.0 + 3.0 * 1.25) / 4.0)
    with pytest.raises(NotImplementedError, match="state-space collapse"):
        regime.limit()
    with pytest.raises(ValueError, match="num_gaps is 2"):
        regime.limit_law(num_gaps=2)


def test_the_start_is_the_limit_law_for_all_queues_at_once():
    """All queues equal, exponential of mean m/r: 5 sigma of 4000 draws."""
    regime = queueing.routing([1.0, 2.0], r=0.01)
    lengths = regime.initial_lengths("stationary", replicas=4000, seed=1)
    assert np.all(lengths[:, 0] == lengths[:, 1])
    mean = regime.limit_mean / 0.01
    assert abs(lengths[:, 0].mean() + 0.5 - mean) < 5.0 * mean / np.sqrt(4000.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"r": 0.0}, "r is 0.0"),
        ({"r": 3.0}, "less than the capacity sum mu = 3"),
        ({"r": np.nan}, "r is nan"),
        ({"r": True}, "r is True"),
        ({"policy": Random()}, "JSQ"),
        ({"policy": PowerOfD(1)}, "JSQ"),
        ({"policy": PowerOfD(4)}, "num_choices is 4"),
        ({"policy": JSQ}, "the class instead of an instance"),
        ({"service_rates": [0.1, 0.2, 3.0], "policy": PowerOfD(2)}, r"0.333333 .* \[0.1, 0.2\]"),
        ({"service_rates": []}, "service_rates"),
        ({"service": Erlang}, "service is"),
        ({"arrival": "poisson"}, "arrivals is 'poisson'"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        queueing.routing(**({"service_rates": [1.0, 1.5, 0.5], "r": 0.1} | arguments))


def test_laws_without_a_second_moment_have_no_limit_but_a_system():
    regime = queueing.routing([1.0, 1.0], service=Pareto(1.5), r=0.1)
    with pytest.raises(ValueError, match="infinite"):
        _ = regime.limit_mean
    assert regime.system.laws == (Pareto(1.5), Pareto(1.5))
    heavy = queueing.heavy_traffic(2, 100, 1.0, 1.0, service=Pareto(1.5))
    for limit in (heavy.limit, heavy.limit_law):
        with pytest.raises(ValueError, match="scv is infinite"):
            limit()


def test_stations_too_slow_for_two_choices_are_known():
    """Capacity of the s slowest against C(s, 2)/C(J, 2) of the arrivals, just below and above."""
    for slowest, is_stable in ((0.7, False), (0.76, True)):
        system = System([slowest / 2, slowest / 2, 3.0], 2.2)
        problem = overload(system, PowerOfD(2))
        assert (problem is None) == is_stable
        if problem is not None:
            assert "servers 0, 1 together receive at least 0.733333" in problem
    assert overload(System([0.1, 0.2, 3.0], 2.2), JSQ()) is None
    assert "load" in str(overload(System([1.0], 1.0), JSQ()))
    assert overload(System([1.0], 2.0, buffer=2), JSQ()) is None
    assert "server 0 receives" in str(overload(System([0.5, 2.0], 1.2), Random()))
    with pytest.raises(queueing.UnstableError, match="servers 0, 1"):
        queueing.long_run(System([0.3, 0.3, 3.0], 2.2), PowerOfD(2), horizon=10.0)


def test_general_services_change_only_the_variance_of_the_limit():
    """heavy_traffic: variance 1 + c_s^2, gap rates divided by half of it."""
    exponential = queueing.heavy_traffic(3, 100, 1.0, 2.0)
    for law in (Erlang(4), Hyperexponential(3.0), Exponential(), Deterministic()):
        regime = queueing.heavy_traffic(3, 100, 1.0, 2.0, service=law)
        half = (1.0 + law.scv) / 2.0
        np.testing.assert_allclose(regime.limit_law().rates, exponential.limit_law().rates / half)
        np.testing.assert_allclose(regime.limit().variances, 2.0 * half)
        assert regime.system.service == law


_POINTS = {
    "exponential, JSQ": ((1.0, 1.0), None, None, 0.2, JSQ(), (0.981, 0.981), 0.006, 0.0),
    "small slack": ((1.0, 1.0), None, None, 0.05, JSQ(), (1.010, 1.010), 0.008, 0.0),
    "general, JSQ": (
        (1.0, 1.5, 0.5), Erlang(2), Hyperexponential(4.0), 0.05, JSQ(), (2.175, 2.150, 2.228),
        0.032, 2.25,
    ),
    "general, two choices": (
        (1.0, 1.5, 0.5), Erlang(2), Hyperexponential(4.0), 0.1, PowerOfD(2), (2.477, 2.223, 2.634),
        0.027, 2.25,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", _POINTS)
def test_queues_at_small_slack_are_as_tabulated(name):
    """r E Z_j against an independent simulation with its error; false-fail rate 1e-6 over three
    stations, detects 20 %; with exponential services m would be 1.5/2.25 of it: rejected."""
    rates, arrival, service, r, policy, table, table_error, mean = _POINTS[name]
    regime = queueing.routing(rates, arrival, service, r, policy)
    run = queueing.long_run(
        regime, horizon=2000.0 / r**2, warmup=50.0 / r**2, initial="stationary", replicas=32,
        seed=1, num_threads=1, progress=False,
    )  # fmt: skip
    scaled, error = r * run.estimate("lengths").value, r * run.estimate("lengths").std_error
    bound = 6.0 * np.hypot(error, table_error)
    assert np.all(np.abs(scaled - table) < bound), (scaled, error)
    assert np.all(bound < 0.2 * np.array(table))
    if mean:
        assert np.all(np.abs(scaled - mean * 2.0 / 3.0) > bound)
        imbalance = run.estimate("imbalance").value
        assert r * imbalance < 0.3 * mean
