"""The experiments on remote stations: their parts by formula, their quick forms, wrong numbers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import queueing
from experiments import (
    balancing_order,
    capacity_planning,
    remote_queues,
    stale_information,
)
from experiments._flat_minimum import find_minimum
from experiments._frame import judge
from experiments._oscillation import delay_model, spectrum
from experiments._three_cities import nearest_wait, square_root_capacities, travel_times

QUICK = {
    "remote_queues": remote_queues,
    "balancing_order": balancing_order,
    "capacity_planning": capacity_planning,
    "stale_information": stale_information,
}


def test_the_least_of_a_known_curve_is_found_with_its_error():
    """Exact curve x + 1/x plus noise common to all x: place 1, least 2 + mean noise. The place has
    no error from common noise; independent noise gives it one."""
    x = np.geomspace(0.4, 2.5, 9)
    rng = np.random.default_rng(0)
    common = rng.normal(0, 0.3, 32)
    curve = np.cosh(np.log(x))[:, None] * 2
    found = find_minimum(x, curve + common, degree=6)
    assert float(found.place.value) == pytest.approx(1.0, abs=1e-3)
    assert float(found.place.std_error) < 1e-8
    assert float(found.least.value) == pytest.approx(2 + common.mean(), abs=1e-4)
    assert float(found.least.std_error) == pytest.approx(common.std(ddof=1) / 32**0.5)
    noisy = find_minimum(x, curve + rng.normal(0, 0.05, (9, 32)), degree=4)
    assert 1e-3 < float(noisy.place.std_error) < 0.1
    assert abs(float(noisy.place.value) - 1) < 5 * float(noisy.place.std_error)
    with pytest.raises(ValueError, match="least at an end"):
        find_minimum(x[4:], curve[4:] + common)


def test_the_period_of_a_known_oscillation_is_found():
    """Sines of period 4.4 delays in white noise, eight looks a delay: 1.1 within 1 %; that is not
    the period 1 that a relay has."""
    time = np.arange(2048)[:, None] / 8
    rng = np.random.default_rng(1)
    phase = rng.uniform(0, 2 * np.pi, 16)
    found = spectrum(10 * np.sin(2 * np.pi * time / 4.4 + phase) + rng.normal(0, 1, (2048, 16)))
    assert float(found.period.value) == pytest.approx(1.1, rel=0.01)


def test_the_delay_model_has_the_rates_of_the_queues():
    """Drifts and variances by hand: load .95, chi .2, services of scv 4."""
    service = queueing.Hyperexponential(4.0)
    model = delay_model(queueing.remote([1.0, 1.0], 0.95, 20.0, 0.2, service=service))
    np.testing.assert_allclose(model.drifts, [0.76 + 0.38 - 1, 0.76 - 1])
    np.testing.assert_allclose(model.variances, [0.95 * 5, 0.95 * 5])
    assert model.delay == 20.0 and model.floor


def test_square_root_capacities_are_the_best_for_nearest_stations():
    """Exact: no small change of the capacities lowers the wait, equal shares are worse."""
    settings = capacity_planning.Settings()
    best = square_root_capacities(settings, 0.95)
    assert best.sum() == pytest.approx(settings.capacity)
    least = nearest_wait(settings, 0.95, best)
    for change in np.array([[1, -1, 0], [0, 1, -1], [1, 0, -1]]) * 1e-3:
        assert nearest_wait(settings, 0.95, best + change) > least
        assert nearest_wait(settings, 0.95, best - change) > least
    proportional = settings.capacity * np.array(settings.demand)
    assert nearest_wait(settings, 0.95, proportional) > 1.02 * least


def test_every_city_is_nearest_to_itself():
    times = travel_times()
    np.testing.assert_allclose(times, times.T)
    np.testing.assert_array_equal(np.argmin(times, axis=1), [0, 1, 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: remote_queues.Settings(chi=(0.1, 1.0)), "at least 6 fractions from 0 to 1"),
        (lambda: remote_queues.Settings(replicas=2), "at least 8 replicas"),
        (lambda: balancing_order.Settings(excess=(0.1, 0.02, 0.01)), "each half of the former"),
        (lambda: balancing_order.Settings(factor=(0.5, 1.0, 2.0)), "at least 5 with 0.5, 1 and 2"),
        (lambda: capacity_planning.Settings(demand=(0.5, 0.5, 0.5)), "sum to 1"),
        (lambda: capacity_planning.Settings(load=(0.9, 1.0)), "below 1, ascending"),
        (lambda: stale_information.Settings(period=(2.0, 1.0, 3.0)), "ascending"),
        (lambda: stale_information.Settings(num_stations=1), "at least 2 num_stations"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_all_claims_of_the_quick_form_hold(name):
    """The claims of each experiment together fail by chance with probability 1e-4 at most; the
    seed is fixed."""
    experiment = QUICK[name].EXPERIMENT
    outcome = experiment.run(experiment.quick, seed=0)
    assert all(verdict.holds for verdict in judge(outcome.claims))
    assert outcome.rows and outcome.notes


@pytest.mark.slow
def test_claims_on_remote_queues_reject_wrong_numbers():
    """Waits a fourth too long, tie probabilities of another chi and a period of two delays: each
    makes the claims that it touches fail."""
    settings = replace(remote_queues.EXPERIMENT.quick, jobs=2e6, replicas=32)
    runs = remote_queues.simulate(settings, seed=1)
    assert all(verdict.holds for verdict in judge(list(remote_queues.claims(runs))))
    here, there = runs.sweeps[0.0], runs.sweeps[20.0]
    longer = [replace(each, wait=1.25 * each.wait) for each in there]
    shifted = [replace(each, prob_tie=other.prob_tie) for each, other in pairwise(here)]
    half = replace(runs.full, period=type(runs.full.period)(0.5, runs.full.period.std_error, 31))
    for wrong in (
        replace(runs, sweeps={0.0: here, 20.0: longer}),
        replace(runs, sweeps={0.0: [*shifted, here[-1]], 20.0: there}),
        replace(runs, full=half),
    ):
        assert not all(verdict.holds for verdict in judge(list(remote_queues.claims(wrong))))
