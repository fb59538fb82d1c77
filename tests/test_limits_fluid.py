"""Fluid limits of JFSQ and JSQ, and their next order, against linear programs and exact chains."""

import numpy as np
import pytest
from scipy.optimize import linprog

import queueing
from experiments._loss_systems import ordered_law, random_idle_law

# Rates, shares and load.
PROFILES = [
    ([1.5, 0.5], [0.5, 0.5], 0.9),
    ([2.0, 1.0, 0.5], [0.2, 0.3, 0.5], 0.75),
    (np.linspace(0.2, 3.0, 9), None, 0.4),
    ([0.3, 0.3, 0.9], None, 0.6),
    ([1.0], None, 0.7),
]


@pytest.mark.parametrize(("rates", "shares", "load"), PROFILES)
def test_jfsq_keeps_as_few_busy_as_can_be(rates, shares, load):
    """Oracle: a linear program for the fewest busy servers of that throughput; no sampling.

    The most busy servers, slowest first, are told apart where speeds differ.
    """
    fluid = queueing.jfsq_fluid(rates, shares, load=load)
    weights = fluid.shares
    work = [weights * fluid.service_rates]
    fewest = linprog(weights, A_eq=work, b_eq=[fluid.arrival_rate], bounds=(0, 1)).fun
    most = -linprog(-weights, A_eq=work, b_eq=[fluid.arrival_rate], bounds=(0, 1)).fun
    assert fluid.busy_servers == pytest.approx(fewest, rel=1e-9)
    assert fluid.response == pytest.approx(fewest / fluid.arrival_rate, rel=1e-9)
    assert fluid.busy @ work[0] == pytest.approx(fluid.arrival_rate, rel=1e-12)
    assert np.all((fluid.busy >= 0) & (fluid.busy <= 1))
    if np.ptp(fluid.service_rates) > 0:
        assert most > fewest + 0.02


def mean_busy(law):
    """Mean busy servers of each of two classes."""
    i, j = np.indices(law.shape)
    return np.array([np.sum(law * i), np.sum(law * j)])


def test_jsq_blind_to_speed():
    """Oracle: the product form of the loss system, extrapolated in 1/N; no sampling.

    JFSQ's busy servers are told apart by 0.1.
    """
    rates, load = [1.5, 0.5], 0.8
    small, large = (
        mean_busy(random_idle_law((half, half), rates, 2 * half * load)) / half
        for half in (200, 400)
    )
    fluid = queueing.jsq_fluid(rates, load=load)
    assert fluid.busy == pytest.approx(2 * large - small, abs=2e-5)
    assert abs(fluid.busy_servers - queueing.jfsq_fluid(rates, load=load).busy_servers) > 0.1
    # A published run of our own at N = 100: 0.9191 (error below 0.0005), next order included.
    assert queueing.jsq_fluid(rates, load=0.9).busy_servers == pytest.approx(0.9191, abs=2e-3)


def test_the_next_order_of_jfsq():
    """Oracle: linear algebra for two classes, extrapolated in 1/N; no sampling. Detects 8 % of the
    correction of 7.5.

    The limit without it is rejected.
    """
    rates, shares, load = np.array([2.0, 4 / 7]), [0.3, 0.7], 0.8
    fluid = queueing.jfsq_fluid(rates, shares, load=load)
    assert fluid.extra_busy == pytest.approx(3 * (3.5 - 1))
    small, large = (
        mean_busy(ordered_law((3 * tenth, 7 * tenth), rates, load * 10 * tenth)).sum()
        - 10 * tenth * fluid.busy_servers
        for tenth in (20, 40)
    )
    assert 2 * large - small == pytest.approx(fluid.extra_busy, rel=0.08)
    excess = queueing.fast_idle_rate(rates, shares, load)
    assert excess == pytest.approx(fluid.extra_busy * rates[1])
    # Near saturation rho is the capacity of the fast ones alone.
    assert queueing.fast_idle_rate([1.5, 0.5]) == pytest.approx(3.0)
    assert queueing.fast_idle_rate([3.0, 1.0]) == pytest.approx(3.0)
    assert queueing.fast_idle_rate() == 0.0
    assert queueing.jfsq_fluid([1.5, 0.5], load=0.75).extra_busy in (0.0, np.inf)


def test_idle_servers_of_many_classes_are_counted_once():
    """The sum over classes of (mu_j - mu_K) times the idle of class j, F_j - F_{j-1} with F_k =
    rho_k/(1 - rho_k), is the formula's by parts; in another unit of the rates, too."""
    rates, shares = np.array([5.0, 2.0, 1.0, 0.25]), np.array([0.1, 0.2, 0.3, 0.4])
    for load, last in ((0.9, 2), (0.6, 1), (1.0, 3)):
        rho = np.cumsum(rates * shares)[:last] / (load * (rates @ shares))
        idle = np.diff(rho / (1.0 - rho), prepend=0.0)
        excess = (rates[:last] - rates[last]) @ idle / (rates @ shares)
        for unit in (1.0, 3.0):
            found = queueing.fast_idle_rate(unit * rates, shares, load)
            assert found == pytest.approx(excess, rel=1e-12)


def test_no_load_and_one_entry_per_server():
    """Limits of the formulas, and classes given one by one; no sampling."""
    assert queueing.jfsq_fluid([2.0, 0.5], load=0.0).response == 0.5
    assert queueing.jsq_fluid([2.0, 0.5], load=0.0).response == 1.25
    assert queueing.jsq_fluid([2.0, 0.5], load=1e-9).response == pytest.approx(1.25, rel=1e-6)
    each = queueing.jfsq_fluid([0.5, 1.5, 0.5, 1.5], load=0.9)
    assert each.busy == pytest.approx([0.6, 1, 0.6, 1])
    assert each.busy_servers == queueing.jfsq_fluid([1.5, 0.5], load=0.9).busy_servers
    empty_class = queueing.jfsq_fluid([9.0, 1.0], [0.0, 1.0], load=0.5)
    assert empty_class.busy_servers == pytest.approx(0.5)


@pytest.mark.parametrize("limit", [queueing.jfsq_fluid, queueing.jsq_fluid])
@pytest.mark.parametrize(
    ("rates", "shares", "load", "message"),
    [
        ([1.0, 0.0], None, 0.5, r"service_rates\[1\] is 0"),
        ([1.0, np.nan], None, 0.5, r"service_rates\[1\] is nan"),
        ([], None, 0.5, "service_rates has shape"),
        ([1.0, 2.0], [0.5], 0.5, "shares has 1 entries"),
        ([1.0, 2.0], [0.5, 0.6], 0.5, "shares sums to"),
        ([1.0, 2.0], None, 1.0, "load is 1.0"),
        ([1.0, 2.0], None, True, "load is True"),
        ([1.0, 2.0], None, np.nan, "load is nan"),
    ],
)
def test_bad_arguments_are_refused(limit, rates, shares, load, message):
    with pytest.raises(ValueError, match=message):
        limit(rates, shares, load=load)
