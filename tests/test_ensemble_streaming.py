"""Streaming moments and quantiles: what merging keeps, and how large the error can be."""

import numpy as np
import pytest

from atlas.ensemble import Estimate, StreamingMoments, StreamingQuantiles, plan_chunks, run_chunks


def test_merged_moments_are_those_of_all_samples():
    samples = np.random.default_rng(21).exponential(size=(1000, 3))
    for chunk in (1, 7, 64, 1000):
        parts = [StreamingMoments.from_samples(samples[c]) for c in plan_chunks(1000, chunk)]
        merged = StreamingMoments.merge_all(parts)
        whole = Estimate.from_samples(samples)
        assert merged.count == 1000
        np.testing.assert_allclose(merged.variance, samples.var(axis=0, ddof=1), rtol=1e-12)
        np.testing.assert_allclose(merged.estimate().value, whole.value, rtol=1e-13)
        np.testing.assert_allclose(merged.estimate().std_error, whole.std_error, rtol=1e-12)
        np.testing.assert_array_equal(merged.estimate().dof, whole.dof)


def test_moments_survive_a_large_mean():
    """A sum of squares loses all digits here: its variance is off by more than 10 %."""
    samples = 1e9 + np.random.default_rng(22).normal(size=10_000)
    parts = [StreamingMoments.from_samples(part) for part in np.split(samples, 100)]
    variance = StreamingMoments.merge_all(parts).variance
    np.testing.assert_allclose(variance, samples.var(ddof=1), rtol=1e-7)
    naive = np.mean(samples**2) - np.mean(samples) ** 2
    assert abs(naive / variance - 1) > 0.1


def test_moments_are_the_same_for_any_number_of_threads():
    def task(chunk):
        return StreamingMoments.from_samples(np.random.default_rng(chunk.start).normal(size=(5, 2)))

    def run(num_threads):
        return run_chunks(
            task, plan_chunks(200, 5), merge=StreamingMoments.merge, num_threads=num_threads
        )

    alone, together = run(1), run(4)
    np.testing.assert_array_equal(alone.mean, together.mean)
    np.testing.assert_array_equal(alone.square_sum, together.square_sum)


def test_few_samples_have_no_variance():
    assert np.isnan(StreamingMoments.from_samples([[1.0]]).variance).all()
    none = StreamingMoments.from_samples(np.zeros((0, 2)))
    some = StreamingMoments.from_samples([[1.0, 2.0], [3.0, 5.0]])
    for merged in (none.merge(some), some.merge(none)):
        np.testing.assert_array_equal(merged.mean, some.mean)
        np.testing.assert_array_equal(merged.square_sum, some.square_sum)
    assert none.merge(none).count == 0


def test_moments_and_quantiles_survive_a_store():
    samples = np.random.default_rng(23).exponential(size=(10, 2))
    moments = StreamingMoments.from_samples(samples)
    again = StreamingMoments.from_arrays(moments.to_arrays())
    assert again.count == 10
    np.testing.assert_array_equal(again.square_sum, moments.square_sum)
    quantiles = StreamingQuantiles.empty((2,), relative_error=0.02, signed=True).add(samples)
    again = StreamingQuantiles.from_arrays(quantiles.to_arrays())
    np.testing.assert_array_equal(again.merge(quantiles).counts, 2 * quantiles.counts)


LAWS = {
    "exponential": lambda rng: rng.exponential(size=2000),
    "heavy tail": lambda rng: rng.pareto(0.8, size=2000) + 1.0,
    "half idle": lambda rng: rng.exponential(size=2000) * rng.integers(0, 2, 2000),
    "counts": lambda rng: rng.poisson(5.0, size=2000),
    "constant": lambda rng: np.full(2000, 0.25),
    "normal": lambda rng: rng.normal(size=2000),
}
PROBS = np.array([0.0, 1e-3, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0])


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("error", [0.001, 0.05])
def test_quantiles_are_within_their_stated_error(law, error):
    samples = LAWS[law](np.random.default_rng(24))
    exact = np.quantile(samples, PROBS, method="inverted_cdf")
    streamed = StreamingQuantiles.empty(
        relative_error=error, smallest=1e-3, largest=1e8, signed=law == "normal"
    ).add(samples)
    found = streamed.quantile(PROBS)
    bound = error * np.abs(exact) * (1 + 1e-9)
    assert np.all(np.abs(found - exact) <= np.where(np.abs(exact) > 1e-3, bound, 1e-3))


def test_a_quantile_is_the_least_sample_with_enough_at_or_below():
    """Of 1 ... 100: p = 0.07 asks for seven though 0.07 * 100 > 7, p = 0.071 for eight."""
    histogram = StreamingQuantiles.empty().add(np.arange(1.0, 101.0))
    probs = [0.0, 0.01, 0.07, 0.071, 0.5, 0.505, 1.0]
    np.testing.assert_allclose(histogram.quantile(probs), [1, 1, 7, 8, 50, 51, 100], rtol=0.01)


def test_bins_that_are_too_wide_are_noticed():
    """The bound is sharp: bins made for .05 break a stated .01."""
    samples = np.random.default_rng(25).exponential(size=2000)
    found = StreamingQuantiles.empty(relative_error=0.05).add(samples).quantile(PROBS)
    exact = np.quantile(samples, PROBS, method="inverted_cdf")
    assert np.any(np.abs(found / exact - 1) > 0.01)


def test_quantiles_merge_exactly_in_any_order_and_in_fixed_memory():
    samples = np.random.default_rng(26).lognormal(size=(1000, 3, 2))
    empty = StreamingQuantiles.empty((3, 2))
    whole = empty.add(samples)
    merged = empty
    for part in reversed(np.split(samples, 10)):
        merged = empty.add(part).merge(merged)
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert whole.counts.nbytes == empty.counts.nbytes
    assert np.all(whole.count == 1000)
    assert whole.quantile(PROBS).shape == (8, 3, 2)
    assert whole.quantile(0.5).shape == (3, 2)


def test_values_beyond_the_range_are_zero_or_infinite():
    streamed = StreamingQuantiles.empty(smallest=1.0, largest=100.0, signed=True)
    streamed = streamed.add([-1e9, -0.5, 1.0, 100.0, 100.1, np.inf])
    found = streamed.quantile(np.arange(1, 7) / 6)
    assert found[[0, 1, 2, 4, 5]].tolist() == [-np.inf, 0.0, 0.0, np.inf, np.inf]
    assert found[3] == pytest.approx(100.0, rel=0.01)
    assert StreamingQuantiles.empty(smallest=1.0, largest=100.0).size == streamed.num_bins + 2


def test_an_engine_can_count_by_the_documented_formula():
    """ceil(log(x/smallest) / log_growth), as a compiled loop would."""
    samples = np.random.default_rng(27).exponential(size=500) + 0.01
    empty = StreamingQuantiles.empty(smallest=1e-2)
    bins = np.ceil(np.log(samples / 1e-2) / empty.log_growth).astype(int)
    counts = np.bincount(bins, minlength=empty.size)
    np.testing.assert_array_equal(empty.add(samples).counts, counts)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: StreamingMoments.merge_all([]), ValueError, "at least one StreamingMoments"),
        (
            lambda: StreamingMoments.from_samples([1.0]).merge(
                StreamingMoments.from_samples([[1.0]])
            ),
            ValueError,
            r"samples of shape \(\), got \(1,\)",
        ),
        (
            lambda: StreamingMoments.from_samples(np.zeros((0, 1))).estimate(),
            ValueError,
            "at least one sample",
        ),
        (lambda: StreamingQuantiles.empty(relative_error=0.0), ValueError, "relative_error"),
        (lambda: StreamingQuantiles.empty(smallest=0.0), ValueError, "smallest and largest"),
        (lambda: StreamingQuantiles.empty(largest=1e-9), ValueError, "smallest and largest"),
        (lambda: StreamingQuantiles.empty().add([-1.0]), ValueError, "got -1.0: use signed=True"),
        (lambda: StreamingQuantiles.empty().add([np.nan]), ValueError, "must not hold nan"),
        (lambda: StreamingQuantiles.empty((2,)).add([1.0]), ValueError, r"shape \(2,\) beside"),
        (lambda: StreamingQuantiles.empty().quantile(0.5), ValueError, "at least one sample"),
        (lambda: StreamingQuantiles.empty().quantile(1.5), ValueError, r"in \[0, 1\], got 1.5"),
        (lambda: StreamingQuantiles(np.zeros(5, int)), ValueError, "last axis of"),
        (
            lambda: StreamingQuantiles.empty().merge(StreamingQuantiles.empty(signed=True)),
            ValueError,
            "other must have settings",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()
