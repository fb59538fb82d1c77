"""Runs that share noise: a coarse step with a fine one, few particles with many."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._coupling import CoarseNoise
from atlas._noise import Noise
from atlas._problem import Plan

MODEL = atlas.reflected_atlas(num_particles=6, a=2.0, b=1.0)
SCHEME = atlas.Splitting(step=0.05)
COUPLED = [scheme for scheme in atlas.SCHEMES if scheme.couples_steps]


def run(**changes: Any) -> atlas.Solution:
    options = dict(times=[0.0, 0.33, 1.0], replicas=32, key=0) | changes
    model, scheme = options.pop("model", MODEL), options.pop("scheme", SCHEME)
    return atlas.simulate(model, scheme, **options)


class TestCoupling:
    @pytest.mark.parametrize(
        ("scheme", "factor"),
        [(atlas.Splitting, 3)]
        + [pytest.param(scheme, 2, marks=pytest.mark.slow) for scheme in COUPLED],
    )
    def test_a_coarse_run_has_the_noise_of_the_fine_one_and_its_own_law(self, scheme, factor):
        """Free motion without a floor is linear in the noise: the coupled runs must end at the
        same place, and variance and mean must be those of the law (4e4 replicas, z = 4.9)."""
        model = atlas.RankDiffusion([0.0] * 5, [2.0] * 5, floor=False)
        options: dict[str, Any] = dict(
            model=model,
            initial=np.arange(5.0),
            replicas=8000,
            times=[1.2],
            observe={"total": lambda ranked: ranked.sum()},
        )
        fine = run(scheme=scheme(step=0.05), **options).values("total")[0]
        coarse = run(scheme=scheme(step=0.05 * factor), noise_step=0.05, **options)
        total = coarse.values("total")[0]
        np.testing.assert_allclose(total, fine, atol=1e-4)
        other = run(scheme=scheme(step=0.05 * factor), **options).values("total")[0]
        assert np.std(other - fine) > 1
        assert abs(np.var(total) / 12 - 1) < 4.9 * np.sqrt(2 / 8000)

    @pytest.mark.parametrize(
        ("scheme", "factor"),
        [pytest.param(atlas.Splitting, 2, marks=pytest.mark.slow)]
        + [pytest.param(scheme, 3, marks=pytest.mark.slow) for scheme in COUPLED],
    )
    def test_coupled_runs_have_the_law_of_uncoupled_ones(self, scheme, factor):
        """Mean gaps with a floor, 6e4 replicas each, z = 4.9 (1e-6), detecting 4 %; and the
        difference to the fine run has less than half the spread of independent ones."""
        options: dict[str, Any] = dict(times=[1.2], replicas=60_000)
        coarse = scheme(step=0.1 * factor)
        coupled = run(scheme=coarse, noise_step=0.1, **options)
        alone = run(scheme=coarse, key=1, **options)
        one, two = coupled.estimate("gaps"), alone.estimate("gaps")
        assert np.all(np.abs(one.value - two.value) < 4.9 * np.hypot(one.std_error, two.std_error))
        fine = run(scheme=scheme(step=0.1), **options)
        spread = lambda s: np.std(s.gaps[0] - fine.gaps[0], axis=0)  # noqa: E731
        assert np.all(spread(coupled) < 0.6 * spread(alone))

    @pytest.mark.parametrize("factor", [2, 3, 4])
    def test_coarse_increments_are_independent_standard_normals(self, factor):
        """Flows of one segment: variance 1, no correlation between neighbours though they share a
        fine increment. 1.3e5 draws, z = 4.9 (1e-6), detecting 1.4 %."""
        replicas = jnp.arange(2**14, dtype=jnp.uint32)[None, :]
        fine = Noise(jnp.asarray([3, 4], jnp.uint32), replicas, 8, np.dtype("float32"))
        one, three = jnp.float32(1.0), jnp.int32(3)
        plan = Plan(one, one, one, three, three, jnp.uint32(7))
        noise = CoarseNoise(fine, factor)
        flow = jax.jit(lambda j: noise.flow_normals(plan, j))
        flows = [np.asarray(flow(jnp.int32(j))).ravel() for j in range(4)]
        correlation = np.cov(flows)
        bound = 4.9 * np.sqrt(2 / flows[0].size)
        np.testing.assert_allclose(correlation, np.eye(4), atol=bound)


class TestFreeTruncation:
    def test_the_bound_is_reported_and_a_budget_kept(self):
        model = atlas.reflected_atlas(64, 2.0, 1.0, closure="free")
        near = run(model=model, num_ranks=3, replicas=200, times=[0.5])
        assert near.values("truncation_bound").shape == (3,)
        assert near.values("truncation_bound")[-1] < 1e-3
        with pytest.raises(atlas.SimulationError, match="far edge of a free truncation"):
            run(model=model, num_ranks=60, replicas=200, times=[0.5])
        kept = run(model=model, num_ranks=60, replicas=200, times=[0.5], throw=False)
        assert "raise num_particles" in kept.result

    @pytest.mark.slow
    def test_the_bound_covers_what_truncation_does(self):
        """Same noise with 12 and 48 particles: where a path of the three lowest ranks differs, a
        particle left out was there. The bound must exceed that fraction and not be absurd."""
        options: dict[str, Any] = dict(
            num_ranks=3, replicas=4000, times=[1.0], truncation_budget=1.0
        )
        small = run(model=atlas.reflected_atlas(12, 2.0, 1.0, closure="free"), **options)
        large = run(model=atlas.reflected_atlas(48, 2.0, 1.0, closure="free"), **options)
        differs = np.any(np.abs(small.ranked[0] - large.ranked[0]) > 1e-4, axis=1).mean()
        bound = small.values("truncation_bound")[-1]
        assert differs > 0
        assert differs < bound < 100 * differs
