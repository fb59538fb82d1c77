"""The claims of `routing_tradeoff` hold for marginal JSQ and fail for what is nearly it."""

import numpy as np
import pytest

import queueing
from experiments import routing_tradeoff
from experiments._frame import judge
from experiments._routing_tradeoff_runs import random_imbalance, random_mean_queue, simulate
from tests.experiment_wrong_regimes import to_the_second_rank, with_more_slack

SETTINGS = routing_tradeoff.Settings(
    b=(1.0,),
    front_b=(),
    small_n=4,
    relaxations=400,
    small_replicas=64,
    premium_b=(1.0,),
    n=64,
    replicas=2**10,
    jsq_n=(4, 16, 64),
    jsq_events=1e6,
)


def failures(regime) -> set[str]:
    runs = simulate(SETTINGS, seed=0, regime=regime)
    verdicts = judge(list(routing_tradeoff.all_claims(runs)))
    return {verdict.claim.id for verdict in verdicts if not verdict.holds}


@pytest.mark.slow
def test_the_right_system_passes():
    """Oracle: identities, Little's law. False-fail rate 1e-4 by the frame's rule, at this fixed
    seed none. Detects 3 % of the mean queue.
    """
    assert failures(queueing.extreme_congestion) == set()


@pytest.mark.slow
def test_a_slack_5_percent_off_fails():
    """As above: the mean queue is 6 % off."""
    assert "P0.10" in failures(with_more_slack)


@pytest.mark.slow
def test_a_stream_to_the_second_rank_fails():
    """As above: the identity, with the wrong rank in it, is 13 % off."""
    assert "P0.10" in failures(to_the_second_rank)


@pytest.mark.slow
def test_a_run_gives_claims_rows_and_a_figure():
    """No oracle: every panel is drawn from the least that the settings allow."""
    tiny = routing_tradeoff.Settings(
        b=(0.5, 1.5),
        front_b=(2.0,),
        small_n=4,
        relaxations=5,
        small_replicas=20,
        premium_b=(1.5,),
        n=32,
        replicas=64,
        jsq_events=1e5,
    )
    outcome = routing_tradeoff.run(tiny, seed=1)
    assert len(outcome.figure.axes) == 6
    assert {row["routing"] for row in outcome.rows} == {"marginal JSQ", "random", "full JSQ"}


def test_random_routing_in_closed_form():
    """Oracle: the law of the maximum and the minimum of n geometrics, term by term; no sampling."""
    n, slack = 5, 1.0
    ratio = 1 - slack * n**-1.5
    m = np.arange(1, 2000)
    highest = np.sum(1 - (1 - ratio**m) ** n)
    lowest = np.sum(ratio ** (n * m))
    assert random_imbalance(n, slack) == pytest.approx(highest - lowest, rel=1e-9)
    assert random_mean_queue(n, slack) == pytest.approx(ratio / (1 - ratio), rel=1e-9)


@pytest.mark.parametrize(
    ("field", "value"), [("b", (2.5,)), ("slack", 0.0), ("jsq_n", (4, 8, 16)), ("replicas", 3)]
)
def test_bad_settings_are_refused(field, value):
    """Each message names the field."""
    with pytest.raises(ValueError, match=field):
        routing_tradeoff.Settings(**{field: value})
