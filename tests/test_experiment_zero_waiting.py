"""The claims of `zero_waiting` hold for JFSQ and fail where waiting does not vanish."""

import numpy as np
import pytest

import queueing
from atlas.ensemble import Estimate
from experiments import _zero_waiting_runs, zero_waiting
from experiments._frame import judge
from experiments._server_profiles import PROFILES

SETTINGS = zero_waiting.Settings(
    alphas=(0.4, 0.5), sizes=(64, 256, 1024), events=3e6, replicas=24, paths=2**11
)


def failures(regime=queueing.zero_waiting) -> set[str]:
    runs = _zero_waiting_runs.simulate(SETTINGS, seed=0, regime=regime)
    verdicts = judge(list(zero_waiting.all_claims(runs)))
    return {verdict.claim.id for verdict in verdicts if not verdict.holds}


@pytest.mark.slow
def test_the_right_system_passes():
    """Oracle: exponents, the diffusion, the mean field. False-fail rate 1e-4 by the frame's rule,
    at this fixed seed none. Detects slopes 0.3 off.
    """
    assert failures() == set()


@pytest.mark.slow
def test_a_load_that_does_not_rise_with_n_fails():
    """As above: at the smallest size's load P(wait) falls far too fast."""

    def at_one_load(n, alpha, rates, buffer):
        class Regime:
            system = queueing.System(rates, n * (1 - 64**-alpha), buffer=buffer)

        return Regime

    assert "P2.2" in failures(at_one_load)


@pytest.mark.slow
def test_two_choices_in_the_place_of_jfsq_fail(monkeypatch):
    """As above: most jobs wait, at every size."""
    wrong = {name: queueing.PowerOfD(2) for name in _zero_waiting_runs.POLICIES}
    monkeypatch.setattr(_zero_waiting_runs, "POLICIES", wrong)
    assert failures() >= {"P2.1", "P2.2"}


def test_slopes_and_what_is_left_of_their_drift():
    """Oracle: y = n^-p (1 + c n^-q), whose local slopes drift geometrically; no sampling."""
    sizes = (100, 400, 1600, 6400)
    values = [Estimate(n**-0.35 * (1 - 0.8 * n**-0.3), 1e-9, np.inf) for n in sizes]
    slope, error, drift = zero_waiting.local_slope(sizes, values)
    waits = _zero_waiting_runs.Waits("JFSQ", PROFILES[0], 0.65, values, values)
    bound = drift * zero_waiting.remaining(waits)
    assert abs(slope + 0.35) < bound
    assert bound < 0.1
    assert error < 1e-6
    nobody = [*values[:3], Estimate(0.0, 0.0, np.inf)]
    assert np.isfinite(zero_waiting.local_slope(sizes, nobody)[0])


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_are_those_of_the_regime(profile):
    """Oracle: the named profiles of `queueing.zero_waiting`; no sampling."""
    names = dict(zip(PROFILES, ("homogeneous", "two_classes", "linear", "few_fast"), strict=True))
    rates = queueing.zero_waiting(100, 0.5, names[profile]).service_rates
    np.testing.assert_allclose(profile.service_rates(100), rates)
    assert (rates.min(), rates.max()) == pytest.approx((profile.slowest, profile.fastest))


@pytest.mark.parametrize(
    ("field", "value"),
    [("alphas", (1.0,)), ("sizes", (100, 200, 400)), ("buffer", 1), ("paths", 3)],
)
def test_bad_settings_are_refused(field, value):
    """Each message names the field."""
    with pytest.raises(ValueError, match=field):
        zero_waiting.Settings(**{field: value})
