"""The claims of `power_of_d` hold for d choices and fail for another rule."""

import numpy as np
import pytest

import queueing
from atlas.ensemble import Estimate
from experiments import power_of_d
from experiments._frame import judge
from experiments._power_of_d_runs import Case, simulate
from experiments._server_profiles import HALVES
from experiments._size_extrapolation import extrapolate

SETTINGS = power_of_d.Settings(
    choices=(2,),
    sizes=(50, 200, 800),
    events=6e6,
    times=(1.0, 3.0),
    transient_servers=2**17,
)


def failures(policy_of) -> list[str]:
    runs = simulate(SETTINGS, seed=0, policy_of=policy_of)
    verdicts = judge(list(power_of_d.all_claims(runs)))
    return [verdict.claim.quantity for verdict in verdicts if not verdict.holds]


@pytest.mark.slow
def test_the_right_rule_passes():
    """Oracle: the mean field. False-fail rate 1e-4 by the frame's rule, at this fixed seed none.
    Detects 2 % of the servers.
    """
    assert failures(queueing.PowerOfD) == []


@pytest.mark.slow
def test_one_more_choice_fails():
    """As above: at load 0.9 three choices leave 7 % fewer servers with a second job."""
    failed = failures(lambda num_choices: queueing.PowerOfD(num_choices + 1))
    assert any("t=3" in quantity for quantity in failed)
    assert any("P(wait)" in quantity for quantity in failed)


@pytest.mark.slow
def test_a_tenth_of_the_jobs_at_random_fails():
    """As above, by some 3 % of the servers."""

    def mixed(num_choices):
        return queueing.Marginal(queueing.PowerOfD(num_choices), fraction=0.9)

    assert failures(mixed)


def test_the_start_has_the_proportions_of_the_fixed_point():
    """Oracle: the fixed point itself, to 1/N per class; no sampling."""
    case = Case(2, HALVES, 4)
    lengths = case.start(1000, 0.9)
    exact = case.mean_field(0.9).fixed_point().by_class
    for half, share in zip(np.split(lengths, 2), exact, strict=True):
        measured = [(half >= level).mean() for level in (1, 2, 3, 4)]
        np.testing.assert_allclose(measured, share, atol=1 / 500)


def test_extrapolation_takes_out_the_first_order():
    """Oracle: 1 + 3/n + 5/n^2, whose next order the bound covers; no sampling."""
    sizes = [Estimate(1 + 3 / n + 5 / n**2, 1e-9, np.inf) for n in (10, 40, 160)]
    limit, bias = extrapolate(sizes, 4.0)
    assert abs(limit.value - 1) < bias < 0.02
    assert abs(limit.value - 1) < 0.1 * abs(sizes[2].value - 1)
    noisy = [Estimate(1.0, 0.3, np.inf)] * 3
    limit, bias = extrapolate(noisy, 2.0)
    assert limit.std_error == pytest.approx(0.3 * 5**0.5)
    assert bias > 0


@pytest.mark.parametrize(
    ("field", "value"),
    [("load", 1.0), ("choices", (0,)), ("sizes", (50, 100, 200)), ("num_levels", 5)],
)
def test_bad_settings_are_refused(field, value):
    """Each message names the field."""
    with pytest.raises(ValueError, match=field):
        power_of_d.Settings(**{field: value})
