"""What the truncation costs is measured, and the report covers it."""

import numpy as np
import pytest

from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, RateProportional, System
from queueing._exact import exact_stationary
from queueing._paused import PausedSystem

# system, policy, two truncations, one at which nothing is left of the truncation error.
CASES = {
    "one server": (System([1.0], 0.9), JSQ(), (20, 60), 400),
    "one busy server, crudely": (System([1.0], 0.99), JSQ(), (10, 100), 4000),
    "random": (System([1.0, 1.0], 1.6), Random(), (15, 40), 160),
    "shortest": (System([1.0, 1.0], 1.8), JSQ(), (12, 40), 180),
    "marginal": (System([1.0, 1.0], 1.7), Marginal(JSQ(), rate=0.4), (15, 40), 160),
    "ranks of three": (
        System([1.0] * 3, 1.8),
        Marginal(RankBased(np.array([0.5, 0.2, 0.3])), rate=0.6),
        (8, 16),
        44,
    ),
    "two of three": (System([1.0] * 3, 2.1), PowerOfD(2), (8, 16), 36),
    "unequal, shortest": (System([1.0, 0.4], 1.2), JSQ(), (15, 40), 130),
    "unequal, by rate": (System([1.0, 0.4], 1.0), RateProportional(), (15, 40), 110),
}
MEANS = ("lengths", "lengths_ranked", "gaps", "total", "imbalance", "idle_servers", "prob_wait")


@pytest.mark.parametrize("name", CASES)
def test_reported_error_covers_the_truth_and_not_much_more(name):
    """Oracle: the same system with so many levels that its own error is 1e-8 at most.  The error
    of every mean is below the report, and the largest is at least a seventh of it, so that a
    report of a tenth of ours is rejected."""
    system, policy, truncations, everything = CASES[name]
    exact = exact_stationary(system, policy, max_length=everything)
    for max_length in truncations:
        law = exact_stationary(system, policy, max_length=max_length)
        worst = max(np.max(np.abs(law.mean(m) - np.asarray(exact.mean(m)))) for m in MEANS)
        assert exact.truncation_error < 1e-3 * law.truncation_error
        assert worst <= law.truncation_error
        assert worst > 0.1 * law.truncation_error


def test_one_server_is_covered_exactly_twice():
    """For M/M/1 the estimate inside the report is the error itself."""
    for load, max_length in ((0.5, 10), (0.9, 30), (0.99, 60)):
        law = exact_stationary(System([1.0], load), JSQ(), max_length=max_length)
        error = load / (1.0 - load) - law.mean("total")
        assert law.truncation_error == pytest.approx(2.0 * error, rel=1e-6)


def test_paused_chain_is_covered():
    paused = PausedSystem([1.1, 0.8, 0.8], [1.3, 1.1, 1.1])
    exact = paused.stationary_gaps().mean
    for max_length in (15, 30, 45):
        law = exact_stationary(paused, max_length=max_length)
        worst = np.abs(np.cumsum(exact) - law.mean("lengths_ranked")).max()
        assert 0.1 * law.truncation_error < worst <= law.truncation_error
        # Lower ranks meet the rank above before the truncation.
        is_full = law.states[:, -1] == max_length
        np.testing.assert_array_equal(law.chain.blocked_rates, 0.8 * is_full)


def test_error_falls_as_levels_are_added():
    errors = [
        exact_stationary(System([1.0, 1.0], 1.6), JSQ(), max_length=m).truncation_error
        for m in (10, 20, 40, 80)
    ]
    assert np.all(np.diff(errors) < 0.0) and errors[-1] < 1e-12


def test_a_buffer_within_reach_is_no_truncation():
    system = System([1.0, 0.5], 3.0, buffer=6)
    law = exact_stationary(system, JSQ(), max_length=6)
    assert law.truncation_error == 0.0
    beyond = exact_stationary(system, JSQ(), max_length=60)
    assert np.array_equal(law.probabilities, beyond.probabilities)
    short = exact_stationary(System([1.0, 0.5], 0.5, buffer=40), JSQ(), max_length=20)
    assert 0.0 < short.truncation_error < 1e-4 and short.mean("prob_loss") == 0.0
