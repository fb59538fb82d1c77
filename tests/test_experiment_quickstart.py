"""`quickstart`, the main job: claims that fail for what is wrong on purpose."""

import numpy as np
import pytest

import atlas
from experiments import quickstart
from experiments._diffusion_limit_claims import joint_law_claim, law_claims, transform_claims
from experiments._diffusion_limit_runs import Simulated

from .experiment_wrong_queues import REGIMES, SETTINGS, WRONG, compared, failed, simulated

TINY = quickstart.Settings(
    sizes=(16, 36), times=(0.125, 0.25), num_particles=12, step=0.0125, replicas=100,
    largest_replicas=100, diffusion_replicas=400, path_points=20, huge=64,
    huge_replicas=64,
)  # fmt: skip


def claims(comparison):
    return [
        *transform_claims(comparison),
        *law_claims(comparison),
        joint_law_claim(comparison),
        *quickstart.product_claims(comparison, SETTINGS),
    ]


def test_sound_queues_hold():
    """Oracles: the diffusion, and the product law. False-fail rate 1e-4, at these seeds none.

    Detects 4 % of a transform or mean and 0.06 of a distribution function.
    """
    assert failed(claims(compared("sound"))) == []


@pytest.mark.parametrize(
    "name", [WRONG[0]] + [pytest.param(name, marks=pytest.mark.slow) for name in WRONG[1:]]
)
def test_wrong_queues_fail_on_the_product_law(name):
    """Oracle and rates as above; without the diffusion."""
    assert failed(list(quickstart.product_claims(compared(name), SETTINGS)))


def test_a_projected_floor_fails():
    """Oracle and rates as above; the queues are sound, the diffusion is not."""
    wrong = failed(claims(compared("sound", atlas.ProjectedEuler)))
    assert wrong and not any("exact" in quantity for quantity in wrong)


@pytest.mark.slow
def test_what_is_injected_is_what_is_run():
    """A tiny run: every claim is made, paths start together, and rows and notes are there."""
    outcome = quickstart.run(TINY, seed=2)
    assert {claim.id for claim in outcome.claims} == {"P0.1", "P0.2"}
    assert len(outcome.notes) == 2 + len(TINY.sizes)
    assert {row["n"] for row in outcome.rows} == {*TINY.sizes, TINY.huge}
    other = quickstart.run(TINY, seed=2, simulated=simulated("b pushes the second rank"))
    assert [c.estimate for c in other.claims] != [c.estimate for c in outcome.claims]
    assert [c.quantity for c in other.claims] == [c.quantity for c in outcome.claims]


def test_paths_start_together():
    paths = quickstart.sample_paths(TINY, Simulated(REGIMES["sound"]), seed=1)
    assert np.allclose(paths.queues[0], paths.particles[0], rtol=1e-6)
    assert paths.queues.shape == paths.particles.shape == (20, 9)
    assert np.all(paths.particles >= 0)


def test_settings_that_show_nothing_are_refused():
    with pytest.raises(ValueError, match="at least 2"):
        quickstart.Settings(path_points=1)
    with pytest.raises(ValueError, match="ascending"):
        quickstart.Settings(sizes=(16,))
    with pytest.raises(ValueError, match="huge is 100"):
        quickstart.Settings(sizes=(16, 100), huge=100)


@pytest.mark.slow
def test_the_quick_form_holds():
    """All claims; false-fail rate 1e-4, at this fixed seed none."""
    assert failed(list(quickstart.run(quickstart.EXPERIMENT.quick, seed=1).claims)) == []
