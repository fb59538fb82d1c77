"""Runs that share noise: a coarse step with a fine one, few particles with many."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import atlas
from atlas._coupling import CoarseNoise
from atlas._noise import Noise
from atlas._problem import Plan, Problem
from atlas._truncation import free_truncation_bound

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

    def test_a_coarse_step_is_the_joined_path_of_its_fine_ones(self):
        """Exact: sum and minimum of three fine bridges in NumPy, from the end and the uniform of
        the coarse step 2; the fine steps one later have another path."""
        replicas = jnp.arange(50, dtype=jnp.uint32)[None, :]
        fine = Noise(jnp.asarray([3, 4], jnp.uint32), replicas, 4, np.dtype("float32"))
        one, steps = jnp.float32(1.0), jnp.int32(5)
        plan = Plan(one, one, one, steps, steps, jnp.uint32(7))
        with jax.disable_jit():
            normals = CoarseNoise(fine, 3).step_normals(plan, 2)
            both = CoarseNoise(fine, 3).step_pairs(plan, 2)
            pairs = [fine.pairs(7 + 3 * 2 + i) for i in range(4)]
        z, uniform = (np.asarray(value, float) for value in both)

        def joined(pairs):
            end, lowest = np.zeros(z.shape), np.zeros(z.shape)
            for normal, u in pairs:
                s, u = np.asarray(normal, float), np.asarray(u, float)
                lowest = np.minimum(lowest, end + (s - np.sqrt(s**2 - 2 * np.log(u))) / 2)
                end = end + s
            return end, lowest

        end, lowest = joined(pairs[:3])
        np.testing.assert_allclose(np.sqrt(3) * z, end, atol=1e-5)
        np.testing.assert_allclose(np.asarray(normals), z, atol=1e-6)
        found = (end - np.sqrt(end**2 - 2 * 3 * np.log(uniform))) / 2
        np.testing.assert_allclose(found, lowest, atol=1e-4)
        assert np.median(np.abs(found - joined(pairs[1:])[1])) > 0.1

    def test_a_ratio_of_steps_is_rounded_to_the_nearest(self):
        assert 0.3 / 0.1 < 3
        solution = run(scheme=atlas.Splitting(step=0.3), noise_step=0.1, times=[0.0])
        assert solution.attrs["noise_step"] == 0.1


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

    def test_the_bound_of_a_run_is_that_of_its_peaks_whatever_the_chunks(self):
        """Exact: particles that are kept sorted, all steps saved, so that peaks are those of the
        saved ranks. Unless ranks are asked for by number the lowest alone has to be within the
        budget."""
        model = atlas.reflected_atlas(12, 2.0, 1.0, closure="free")
        options: dict[str, Any] = dict(
            model=model, scheme=atlas.BridgeEuler(step=0.1), replicas=5, regulators=True,
            times=0.1 * np.arange(6), truncation_budget=0.05,
        )  # fmt: skip
        whole = run(**options)
        ranked = whole.ranked.astype(float)
        peaks = ranked.max(axis=0).T
        assert np.any(peaks == ranked[-1].T) and np.any(peaks > ranked[-1].T)
        expected = free_truncation_bound(model, ranked[0, :, -1], peaks, 0.5)
        bound = whole.values("truncation_bound")
        np.testing.assert_allclose(bound, expected, rtol=1e-3)
        assert bound[0] < 0.05 < bound[-1]
        for keep in ("paths", "moments"):
            chunked = run(chunk=3, keep=keep, **options).values("truncation_bound")
            np.testing.assert_allclose(chunked, bound, rtol=1e-6)

    def test_a_rank_stays_below_the_highest_that_started_below_it(self):
        problem = Problem.from_model(MODEL, np.dtype("float32"), False)
        peaks = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0])
        highest = problem.peaks_by_start(problem.pack(jnp.asarray(peaks[:, None, None])))
        assert highest[:, 0, 0].tolist() == [1, 3, 3, 5, 5, 6]

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
