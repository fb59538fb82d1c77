"""`simulate`: the same replica in any batch, exact times, and failures that are named."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import atlas

MODEL = atlas.reflected_atlas(num_particles=6, a=2.0, b=1.0)
SCHEME = atlas.Splitting(step=0.05)


def run(**changes: Any) -> atlas.Solution:
    options: dict[str, Any] = dict(times=[0.0, 0.33, 1.0], replicas=32, key=0) | changes
    model, scheme = options.pop("model", MODEL), options.pop("scheme", SCHEME)
    return atlas.simulate(model, scheme, **options)


class TestReplicas:
    @pytest.mark.parametrize(
        ("scheme", "num_particles"),
        [(atlas.Splitting, 6)]
        + [
            pytest.param(scheme, 6, marks=pytest.mark.slow)
            for scheme in atlas.SCHEMES
            if scheme is not atlas.Splitting
        ]
        + [pytest.param(atlas.Splitting, n, marks=pytest.mark.slow) for n in (1, 12)],
    )
    def test_a_replica_is_the_same_in_any_batch(self, scheme, num_particles):
        options: dict[str, Any] = dict(
            model=atlas.reflected_atlas(num_particles, 2.0, 1.0), scheme=scheme(step=0.1)
        )
        whole = run(replicas=1024, **options).ranked
        for replicas in (1, 7, 64):
            np.testing.assert_array_equal(
                run(replicas=replicas, **options).ranked, whole[:, :replicas]
            )

    @pytest.mark.parametrize("chunk", [7, 1024])
    def test_chunks_and_threads_change_nothing(self, chunk):
        whole = run(replicas=150).ranked
        np.testing.assert_array_equal(run(replicas=150, chunk=chunk).ranked, whole)
        threaded = run(replicas=150, chunk=chunk, num_threads=3).ranked
        np.testing.assert_array_equal(threaded, whole)

    def test_a_range_of_replicas_is_part_of_the_whole(self):
        whole = run(replicas=100)
        part = run(replicas=range(40, 47))
        np.testing.assert_array_equal(part.ranked, whole.ranked[:, 40:47])
        assert part.coordinates["replica"].tolist() == list(range(40, 47))

    def test_replicas_and_keys_differ(self):
        ranked = run(replicas=8).ranked[-1]
        assert len({tuple(row) for row in ranked}) == 8
        assert np.all(run(replicas=8, key=1).ranked[-1] != ranked)
        assert abs(
            np.corrcoef(
                run(replicas=4000).ranked[-1, :-1, 0], run(replicas=4000).ranked[-1, 1:, 0]
            )[0, 1]
        ) < 4.9 / np.sqrt(4000)

    def test_both_precisions_agree_to_rounding(self):
        single, double = run(replicas=200), run(replicas=200, dtype="float64")
        assert single.ranked.dtype == np.float32 and double.ranked.dtype == np.float64
        np.testing.assert_allclose(single.ranked, double.ranked, atol=1e-4)
        assert jnp.zeros(1).dtype == jnp.float32

    def test_particles_of_a_smaller_system_share_noise_and_start(self):
        """Started far apart, the lowest of N and of 2 N particles have the same path."""
        near, far = [0.5, 1.0, 2.0], [50.0, 60.0, 70.0]
        small = atlas.RankDiffusion([1.0, 0, 0], np.full(3, 2.0))
        large = atlas.RankDiffusion([1.0, 0, 0, 0, 0, 0], np.full(6, 2.0))
        one = run(model=small, initial=near).ranked
        two = run(model=large, initial=near + far).ranked
        np.testing.assert_allclose(two[..., :3], one, atol=1e-6)
        law = lambda m: run(model=m, times=[0.0]).ranked  # noqa: E731
        small, large = atlas.reflected_atlas(3, 2.0, 1.0), atlas.reflected_atlas(6, 2.0, 1.0)
        np.testing.assert_array_equal(law(large)[..., :3], law(small))

    def test_an_executor_gives_the_same(self):
        with ThreadPoolExecutor(2) as pool:
            ranked = run(replicas=100, chunk=30, executor=pool).ranked
        np.testing.assert_array_equal(ranked, run(replicas=100).ranked)


class TestKeys:
    def test_int_and_typed_keys_round_trip_with_their_implementation(self, tmp_path):
        for key, name in (
            (5, "int"),
            (jax.random.key(5), "threefry2x32"),
            (jax.random.key(5, impl="philox4x32"), "philox4x32"),
        ):
            solution = run(key=key, replicas=2)
            assert solution.attrs["seed_implementation"] == name
            path = tmp_path / f"{name}.nc"
            solution.save(path)
            assert atlas.load(path).attrs == solution.attrs

    def test_no_seed_draws_one_and_stores_it(self):
        drawn = run(key=None, replicas=3)
        assert np.any(drawn.ranked != run(key=None, replicas=3).ranked)
        np.testing.assert_array_equal(run(key=drawn.attrs["seed"], replicas=3).ranked, drawn.ranked)
        np.testing.assert_array_equal(run(key=None, seed=0).ranked, run(key=0).ranked)

    def test_keys_that_depend_on_the_batch_are_refused(self):
        with pytest.raises(ValueError, match="rbg"):
            run(key=jax.random.key(0, impl="rbg"))


class TestTimes:
    def test_saves_lie_exactly_at_the_times_asked_for(self):
        solution = run(times=[0.0, 0.0, 0.1, 0.33, 0.33, 1.0])
        assert solution.times.tolist() == [0.0, 0.0, 0.1, 0.33, 0.33, 1.0]
        ranked = solution.ranked
        np.testing.assert_array_equal(ranked[0], ranked[1])
        np.testing.assert_array_equal(ranked[3], ranked[4])
        assert np.all(ranked[1] != ranked[2])
        start = atlas.stationary_gaps(MODEL).sample(0, 32).cumsum(1)
        assert ranked.shape == (6, 32, 6)
        assert start.shape == ranked[0].shape

    def test_a_horizon_saves_its_end(self):
        solution = run(times=None, horizon=0.37)
        assert solution.times.tolist() == [0.37] and solution.ranked.shape[0] == 1
        zero = run(times=None, horizon=0.0, initial="empty")
        assert np.all(zero.ranked == 0) and zero.times.tolist() == [0.0]

    @pytest.mark.parametrize(
        ("scheme", "times"),
        [(atlas.Splitting, times) for times in ([1], [0.33, 1], [0.7, 0.71, 1])]
        + [
            pytest.param(scheme, [0.031, 0.05, 0.77, 1], marks=pytest.mark.slow)
            for scheme in atlas.SCHEMES
        ],
    )
    def test_the_law_does_not_depend_on_saves_or_on_a_last_short_step(self, scheme, times):
        """Driftless reflected motion from 1: every grid of steps is exact in law with bridges and
        reflection, so variance of the free motion and mean at t = 1 are known. 1e5 replicas,
        z = 4.9 (1e-6), detecting 1.5 %: a step lost or counted twice (5 %) is rejected."""
        model = atlas.RankDiffusion([0.3], [2.0], floor=False)
        ranked = (
            run(model=model, scheme=scheme(step=0.05), times=times, initial=[1.0], replicas=100_000)
            .ranked[-1, :, 0]
            .astype(float)
        )
        assert abs(ranked.mean() - 1.3) < 4.9 * np.sqrt(2 / 1e5)
        assert abs(ranked.var() / 2 - 1) < 4.9 * np.sqrt(2 / 1e5)

    def test_a_step_longer_than_the_run_and_a_tiny_one_end(self):
        assert run(scheme=atlas.Splitting(step=10.0), times=[0.1]).times.tolist() == [0.1]
        tiny = run(scheme=atlas.Splitting(step=1e-9), times=[1e-6], initial=[1.0] * 6)
        spread = tiny.ranked[0] - 1
        assert 0 < np.abs(spread).max() < 0.01

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (dict(times=None), "pass exactly one"),
            (dict(horizon=1.0), "pass exactly one"),
            (dict(times=[]), r"times has shape \(0,\)"),
            (dict(times=[1.0, 0.5]), "not ascending at index 0"),
            (dict(times=[-1.0]), "holds -1.0"),
            (dict(times=[np.nan]), "holds nan"),
            (dict(times=[np.inf]), "holds inf"),
            (dict(times=["a"]), "not an array of numbers"),
            (dict(times=None, horizon="1"), "horizon = '1'"),
            (dict(scheme=atlas.Splitting(step=1e-9)), "longer step or raise max_steps"),
            (dict(max_steps=3), "max_steps = 3"),
        ],
    )
    def test_bad_times_are_refused(self, changes, message):
        with pytest.raises(ValueError, match=message):
            run(**changes)


class TestStart:
    def test_positions_for_all_or_for_each_replica(self):
        same = run(initial=[0, 0, 1, 2, 3, 4], times=[0.0]).ranked[0]
        np.testing.assert_array_equal(same, np.tile([0, 0, 1, 2, 3, 4], (32, 1)))
        each = np.sort(np.random.default_rng(0).exponential(size=(32, 6)), axis=1)
        np.testing.assert_allclose(run(initial=each, times=[0.0]).ranked[0], each, rtol=1e-6)
        later = run(initial=each[:3], replicas=range(2, 5), times=[0.0]).ranked[0]
        np.testing.assert_allclose(later, each[:3], rtol=1e-6)
        chunked = run(initial=each, chunk=5)
        np.testing.assert_array_equal(chunked.ranked, run(initial=each).ranked)

    def test_a_law_of_gaps_gives_each_replica_its_own_start(self):
        law = atlas.ProductExponential([3.0, 1, 1, 1, 1, 1])
        gaps = run(initial=law, replicas=20_000, times=[0.0]).gaps[0]
        np.testing.assert_allclose(gaps.mean(0), law.mean, rtol=0.05)

    def test_precision_follows_the_sum_of_the_gaps(self):
        """float32 serves up to 2.7e4 at this step; six gaps of 1e4 add up to more, of 3e3 not."""
        for rate, dtype in ((1e-4, "float64"), (1 / 3e3, "float32")):
            law = atlas.ProductExponential([rate] * 6)
            assert run(initial=law, replicas=1, times=[0.0]).attrs["dtype"] == dtype

    def test_an_observable_is_a_function_of_the_ranks(self):
        solution = run(
            observe={
                "spread": lambda ranked: ranked[-1] - ranked[0],
                "pair": lambda ranked: ranked[:2] ** 2,
            },
            num_ranks=3,
            chunk=10,
        )
        full = run()
        assert solution.ranked.shape == (3, 32, 3)
        np.testing.assert_array_equal(solution.ranked, full.ranked[..., :3])
        np.testing.assert_allclose(
            solution.values("spread"), full.ranked[..., -1] - full.ranked[..., 0], rtol=1e-6
        )
        np.testing.assert_allclose(solution.values("pair"), full.ranked[..., :2] ** 2, rtol=1e-6)
        assert solution.estimate("spread").shape == (3,)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (dict(initial="stationry"), "initial = 'stationry' is unknown"),
            (dict(initial=[1.0, 2.0]), r"initial has shape \(2,\)"),
            (dict(initial=np.zeros((3, 6))), r"initial has shape \(3, 6\)"),
            (dict(initial=[3, 2, 1, 4, 5, 6]), "not ascending at index"),
            (dict(initial=[1, 2, 3, 4, 6, 5]), r"not ascending at index \(4,\)"),
            (dict(initial=[-1, 0, 1, 2, 3, 4]), "below the floor"),
            (dict(initial=[0, 1, 2, 3, 4, np.nan]), "nan at rank 5 of every replica, step 0"),
            (dict(initial=object()), "must be 'stationary'"),
            (dict(initial=atlas.ProductExponential([1.0])), "initial has 1 gaps and the model 6"),
            (dict(replicas=0), "replicas"),
            (dict(replicas=2.0), "replicas"),
            (dict(replicas=range(4, 4)), "replicas"),
            (dict(chunk=0), "chunk = 0"),
            (dict(num_threads=0), "num_threads = 0"),
            (dict(num_ranks=7), "num_ranks = 7 is too large"),
            (dict(num_ranks=0), "num_ranks = 0"),
            (dict(key=-1), "seed must be"),
            (dict(key=1, seed=2), "pass one of them"),
            (dict(dtype="float16"), "dtype = 'float16'"),
            (dict(dtype="double-ish"), "dtype = 'double-ish'"),
            (dict(keep="path"), "keep = 'path' is unknown"),
            (dict(quantiles=[0.5]), "keep='moments'"),
            (dict(quantiles=[1.5], keep="moments"), "probabilities lie in"),
            (dict(regulators=1), "regulators = 1"),
            (dict(observe=[1]), "must map names"),
            (dict(observe={"gaps": len}), "the name 'gaps'"),
            (dict(observe={"x": 3}), "no function"),
            (dict(scheme="splitting"), r"pass one of ProjectedEuler\(step=...\)"),
            (dict(scheme=atlas.Splitting), "is no scheme object"),
            (dict(model="atlas"), "is no RankDiffusion"),
            (dict(noise_step=0.03), "must divide the step"),
            (dict(noise_step=0.025), "multiples of the step"),
            (dict(noise_step=-1.0), "noise_step"),
            (dict(truncation_budget=0), "truncation_budget"),
            (dict(throw="no"), "throw = 'no'"),
            (dict(store=5), "store must be .* got 5"),
        ],
    )
    def test_bad_arguments_are_named(self, changes, message):
        with pytest.raises(ValueError, match=message):
            run(**changes)

    def test_misspelt_keywords_are_refused(self):
        with pytest.raises(TypeError, match="replica_count"):
            run(replica_count=3)


class TestFailures:
    blowing_up = atlas.RankDiffusion([1e37, 1e37], [2.0, 2.0])

    def failing(self, **changes):
        initial = np.tile([0.0, 1.0], (5, 1))
        initial[3] = [3e38, 3.1e38]
        options = (
            dict(
                model=self.blowing_up,
                initial=initial,
                replicas=5,
                times=[1.0, 3.0, 8.0],
                scheme=atlas.ProjectedEuler(step=0.5),
                dtype="float32",
            )
            | changes
        )
        return run(**options)

    def test_a_position_that_is_not_finite_names_replica_and_step(self):
        with pytest.raises(atlas.SimulationError, match=r"replica 3 .* after step") as caught:
            self.failing()
        solution = caught.value.solution
        step = solution.attrs["result"].split("after step ")[1].split(" ")[0]
        early = self.failing(times=[0.5 * max(int(step) - 1, 0)], throw=False)
        late = self.failing(times=[0.5 * int(step)], throw=False)
        assert early.result == "successful" and "replica 3" in late.result

    def test_failures_can_be_kept(self):
        solution = self.failing(throw=False)
        assert "replica 3" in solution.result
        assert np.all(np.isfinite(solution.ranked[:, [0, 1, 2, 4]]))
        moments = self.failing(throw=False, keep="moments")
        assert "not finite" in moments.result

    def test_what_does_not_fit_into_memory_is_refused_with_the_number(self):
        with pytest.raises(ValueError, match="GiB"):
            run(replicas=10**8, times=np.linspace(0, 1, 2000))


class TestMoments:
    def test_streamed_moments_are_those_of_the_paths(self):
        paths = run(replicas=500)
        moments = run(replicas=500, keep="moments", chunk=64, num_threads=2)
        for name in ("ranked", "gaps"):
            one, two = paths.estimate(name), moments.estimate(name)
            np.testing.assert_allclose(one.value, two.value, rtol=1e-5)
            np.testing.assert_allclose(one.std_error, two.std_error, rtol=1e-4)
            np.testing.assert_allclose(one.ci[0], two.ci[0], rtol=1e-4, atol=1e-5)
        assert moments.attrs["num_replicas"] == 500
        with pytest.raises(ValueError, match="keep='paths'"):
            _ = moments.ranked

    def test_streamed_quantiles_are_within_one_percent(self):
        probs = [0.1, 0.5, 0.9]
        solution = run(replicas=5000, keep="moments", quantiles=probs)
        gaps = run(replicas=5000).gaps.astype(float)
        expected = np.quantile(gaps, probs, axis=1, method="inverted_cdf")
        np.testing.assert_allclose(solution.values("gaps_quantile"), expected, rtol=0.0101)

    def test_memory_does_not_grow_with_replicas(self):
        """2e6 replicas at 200 times would be 19 GB as paths; as moments they pass the check."""
        from atlas._chunk import ChunkTask
        from atlas._collect import check_output_memory

        fields: dict[str, Any] = dict(
            model=MODEL,
            scheme=SCHEME,
            times=np.arange(200.0),
            segments=(),
            start=None,
            words=(0, 0),
            width=1024,
            num_ranks=6,
            observe=(),
            with_regulators=False,
            noise_factor=1,
            dtype=np.dtype("float32"),
        )
        check_output_memory(ChunkTask(**fields, keep="moments"), 10**12)
        with pytest.raises(ValueError, match="GiB"):
            check_output_memory(ChunkTask(**fields, keep="paths"), 10**12)


class TestSolution:
    def test_labels_and_attributes_say_everything(self):
        data = run(regulators=True).to_xarray()
        assert data["ranked"].dims == ("time", "replica", "rank")
        assert data["gaps"].dims == ("time", "replica", "gap")
        assert data["rank"].values[0] == 1 and data["gap"].values[0] == 1
        for name in (
            "scheme",
            "step",
            "seed",
            "seed_implementation",
            "jax",
            "numpy",
            "dtype",
            "closure",
            "result",
            "version",
            "python",
        ):
            assert name in data.attrs

    def test_save_and_load_round_trip(self, tmp_path):
        solution = run(regulators=True)
        solution.save(tmp_path / "a.nc")
        loaded = atlas.load(tmp_path / "a.nc")
        assert isinstance(loaded, atlas.Solution)
        np.testing.assert_array_equal(loaded.ranked, solution.ranked)
        np.testing.assert_array_equal(loaded.regulators, solution.regulators)
        assert loaded.attrs == solution.attrs and loaded.result == "successful"
        assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
        with pytest.raises(FileNotFoundError):
            atlas.load(tmp_path / "b.nc")

    def test_estimates_have_errors_and_intervals(self):
        estimate = run(replicas=400).estimate("gaps")
        assert estimate.value.shape == estimate.std_error.shape == (3, 6)
        low, high = estimate.ci
        assert np.all(low < estimate.value) and np.all(estimate.value < high)
        with pytest.raises(ValueError, match="name must be one of"):
            run().estimate("gap")

    def test_without_a_floor_there_is_one_gap_less(self):
        model = atlas.RankDiffusion([1.0, 0, 0], np.ones(3), floor=False)
        solution = run(model=model, regulators=True)
        assert solution.gaps.shape == (3, 32, 2) and solution.regulators.shape == (3, 32, 2)
        with pytest.raises(ValueError, match="has none"):
            run(model=model, initial="empty")
