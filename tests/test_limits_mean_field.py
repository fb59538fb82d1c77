"""The mean field of power-of-d routing against scipy's solver, closed forms and large systems."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import queueing
from queueing._limits._mean_field_fixed_point import solve_fixed_point


def derivative(occupancy, num_choices, arrivals, rates, shares):
    """By lengths instead of tails: jobs per class and length, divided where lengths differ."""
    tails = np.concatenate([np.ones((rates.size, 1)), occupancy, np.zeros((rates.size, 1))], axis=1)
    exact = -np.diff(tails, axis=1)
    mixed = shares @ tails
    joined = mixed[:-2] ** num_choices - mixed[1:-1] ** num_choices
    of_length = shares @ exact[:, :-1]
    chance = np.divide(joined, of_length, out=np.zeros_like(joined), where=of_length > 1e-300)
    return arrivals * chance * exact[:, :-1] - rates[:, None] * exact[:, 1:]


def test_transient_against_another_solver():
    """Oracle: scipy's LSODA on the equation by lengths; no sampling. Another d is rejected."""
    rates, shares, times = np.array([1.5, 0.5]), np.array([0.4, 0.6]), [0.0, 1.0, 3.0]
    start = np.array([[0.9, 0.2, 0.0], [0.5, 0.3, 0.1]])
    field = queueing.PowerOfDMeanField(2, 0.9, rates, shares, buffer=6)
    path = field.solve(times, start)

    def solve(num_choices):
        def slope(_, flat):
            occupancy = flat.reshape(2, 6)
            return derivative(occupancy, num_choices, 0.9 * 0.9, rates, shares).ravel()

        padded = np.pad(start, ((0, 0), (0, 3))).ravel()
        exact = solve_ivp(slope, (0, 3), padded, "LSODA", times, rtol=1e-10, atol=1e-12)
        return exact.y.T.reshape(3, 2, 6)

    np.testing.assert_allclose(path.by_class, solve(2), atol=1e-7)
    assert np.max(np.abs(path.by_class - solve(3))) > 0.03
    np.testing.assert_allclose(path.occupancy, shares @ path.by_class, atol=1e-15)
    np.testing.assert_allclose(path.mean_length, path.occupancy.sum(axis=-1))


@pytest.mark.parametrize(
    ("num_choices", "load", "options"),
    [
        (1, 0.7, {"buffer": 4}),
        (2, 0.95, {"buffer": 1}),
        (2, 1.4, {"buffer": 5}),
        (3, 0.9, {"service_rates": [1.5, 0.5]}),
        (2, 0.9, {"service_rates": [2.0, 1.0, 0.5], "buffer": 6}),
        (40, 0.97, {"service_rates": [1.5, 0.5], "shares": [0.2, 0.8]}),
    ],
)
def test_fixed_points_are_at_rest(num_choices, load, options):
    """Oracle: the derivative, by lengths, vanishes; no sampling. One per mille off is rejected."""
    field = queueing.PowerOfDMeanField(num_choices, load, **options)
    point = field.fixed_point().by_class
    rule = (num_choices, field.arrival_rate, field.classes.rates, field.classes.shares)
    assert np.max(np.abs(derivative(point, *rule))) < 1e-10
    assert np.max(np.abs(derivative(point * 0.999, *rule))) > 1e-5
    lost = field.prob_loss()
    throughput = field.classes.shares @ (field.classes.rates * point[:, 0])
    assert throughput == pytest.approx(field.arrival_rate * (1 - lost), rel=1e-9)


@pytest.mark.parametrize(("num_choices", "load"), [(1, 0.6), (2, 0.9), (2, 0.99), (5, 0.95)])
def test_the_closed_form_and_newton_s_method_agree(num_choices, load):
    """Oracle: load^((d^i - 1)/(d - 1)); no sampling."""
    field = queueing.PowerOfDMeanField(num_choices, load)
    levels = np.arange(1, field.num_levels + 1)
    exponents = levels if num_choices == 1 else (num_choices**levels - 1.0) / (num_choices - 1)
    np.testing.assert_allclose(field.fixed_point().occupancy, load**exponents, atol=1e-12)
    np.testing.assert_allclose(solve_fixed_point(field)[0], load**exponents, atol=1e-11)
    assert field.prob_wait() == pytest.approx(load**num_choices)


def test_one_place_and_one_choice_is_erlang_s_loss():
    """Oracle: load/(1 + load) lost, a waiting job impossible; no sampling."""
    field = queueing.PowerOfDMeanField(1, 0.8, buffer=1)
    assert field.prob_loss() == pytest.approx(0.8 / 1.8)
    assert field.prob_wait() == pytest.approx(0.0, abs=1e-12)


def test_one_choice_is_independent_queues_with_a_waiting_room():
    """Oracle: M/M/1 with 3 places, P(n) proportional to load^n; no sampling."""
    field = queueing.PowerOfDMeanField(1, 0.8, buffer=3)
    law = 0.8 ** np.arange(4) / np.sum(0.8 ** np.arange(4))
    assert field.prob_loss() == pytest.approx(law[3])
    assert field.prob_wait() == pytest.approx((law[1] + law[2]) / (1.0 - law[3]))


def test_degenerate_values():
    """No load, no time, enormous d: closed forms; no sampling."""
    assert queueing.PowerOfDMeanField(2, 0.0).fixed_point().occupancy == pytest.approx([0.0])
    start = [0.5, 0.25]
    path = queueing.PowerOfDMeanField(2, 0.5).solve([0.0], start)
    assert path.occupancy[0, :2] == pytest.approx(start)
    many = queueing.PowerOfDMeanField(1000, 0.9, buffer=3).fixed_point().occupancy
    assert many[1] == pytest.approx(0.0, abs=1e-9) or many[1] < many[0] < 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: queueing.PowerOfDMeanField(0, 0.5), "num_choices is 0"),
        (lambda: queueing.PowerOfDMeanField(True, 0.5), "num_choices is True"),
        (lambda: queueing.PowerOfDMeanField(2, -0.1), "load is -0.1"),
        (lambda: queueing.PowerOfDMeanField(2, 0.5, buffer=0), "buffer is 0"),
        (lambda: queueing.PowerOfDMeanField(2, 0.5, buffer=3, num_levels=4), "num_levels is 4"),
        (lambda: queueing.PowerOfDMeanField(2, 1.0).fixed_point(), "load is 1.0"),
        (lambda: queueing.PowerOfDMeanField(1, 0.9, [1.5, 0.5]).fixed_point(), "get more jobs"),
        # Just as many jobs as they can serve.
        (lambda: queueing.PowerOfDMeanField(1, 0.5, [1.5, 0.5]).fixed_point(), "get more jobs"),
        (
            lambda: queueing.PowerOfDMeanField(2, 0.99, num_levels=3).fixed_point(),
            "num_levels is 3",
        ),
        (lambda: queueing.PowerOfDMeanField(2, 0.9).solve([0.0], [0.2, 0.4]), "initial is"),
        (lambda: queueing.PowerOfDMeanField(2, 0.9).solve([0.0], "full"), "initial is 'full'"),
        (lambda: queueing.PowerOfDMeanField(2, 0.9, buffer=1).solve([0.0], [1, 0.5]), "levels"),
        (lambda: queueing.PowerOfDMeanField(2, 0.9).solve([1.0, 0.5]), "times is not ascending"),
        (lambda: queueing.PowerOfDMeanField(2, 0.9).solve([0.0], [np.nan]), "initial is"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
def test_large_systems_follow_the_mean_field():
    """Oracle: the mean field; what parts N from it falls like 1/N, and N and 2N take that out.

    False-fail rate 1e-6 per level (5 s.e.); detects 0.8 % of the servers. d = 3 is rejected.
    """
    load, times = 0.9, [1.0, 3.0]

    def occupancy(count, replicas):
        system = queueing.System(np.ones(count), load * count)
        options = {"times": times, "replicas": replicas, "seed": 7, "num_ranks": 1, "num_levels": 4}
        return queueing.simulate(system, queueing.PowerOfD(2), **options).estimate("occupancy")

    small, large = occupancy(500, 2000), occupancy(1000, 1000)
    limit = 2 * large.value - small.value
    error = np.hypot(2 * large.std_error, small.std_error) + 1e-5
    exact = queueing.PowerOfDMeanField(2, load).solve(times).occupancy[:, :4]
    wrong = queueing.PowerOfDMeanField(3, load).solve(times).occupancy[:, :4]
    assert np.all(np.abs(limit - exact) < 5 * error)
    assert np.max(5 * error) < 8e-3
    assert np.any(np.abs(limit - wrong) > 10 * error)
