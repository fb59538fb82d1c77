"""Engine "batched": the exact law of whole states, replicas of their own, and what it refuses."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RankBased, RateProportional, System
from queueing._engine import _batched, _batched_leap, _batched_random

REPLICAS, TIME = 8192, 2.0
THIN = Marginal(RankBased([0.2, 0.5, 0.3]), rate=0.7, base=RateProportional())
UNLIKE = System([1.5, 1.5, 0.6], 2.9)


def simulate(system, policy, **changes: Any):
    options: dict[str, Any] = dict(times=[TIME], replicas=REPLICAS, seed=5, engine="batched")
    return queueing.simulate(system, policy, **options | changes)


def p_value(states: np.ndarray, law, cap: int, is_ranked: bool) -> float:
    """Chi-square of states (R, K), cut at `cap`, against the exact law; rare cells together."""

    def cell(lengths):
        lengths = np.sort(lengths, axis=1) if is_ranked else lengths
        return np.minimum(lengths, cap) @ (cap + 1) ** np.arange(lengths.shape[1])

    size = (cap + 1) ** states.shape[1]
    probabilities = np.bincount(cell(law.states), weights=law.probabilities[-1], minlength=size)
    observed = np.bincount(cell(states), minlength=size)
    is_kept = probabilities * len(states) >= 20
    expected = np.append(probabilities[is_kept], probabilities[~is_kept].sum()) * len(states)
    counts = np.append(observed[is_kept], observed[~is_kept].sum())
    if expected[-1] < 20:
        expected, counts = expected[:-1] * counts[:-1].sum() / expected[:-1].sum(), counts[:-1]
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.fixture(scope="module")
def leapt():
    return simulate(UNLIKE, THIN, initial=[2, 0, 1])


@pytest.mark.slow
def test_leaps_have_the_exact_law_of_all_servers_together(leapt, monkeypatch):
    """Oracle: uniformisation, 8192 states after 2 units of time, about 60 cells of lengths by
    server, chi-square, false-fail rate 1e-6: detects 8 % of a cell of 5 %. Lengths cut at 0 at the
    end of an interval, instead of pushed up by the walk's minimum, are rejected."""
    law = queueing.exact_transient(UNLIKE, THIN, times=[TIME], initial=[2, 0, 1], max_length=22)
    assert p_value(leapt.lengths[0], law, 4, is_ranked=False) > 1e-6

    def cut_at_the_end(lengths, piece, step, rates, streams):
        uniforms = _batched_random.uniform_pair(streams, step, 3, _batched_random.STREAM_COUNTS)
        counts = [
            _batched_leap._invert(
                _batched_leap._poisson_cdf(piece, rate, rates.log_factorial), u, rates.class_of
            )
            for rate, u in zip((rates.arrival_rates, rates.service_rates), uniforms, strict=True)
        ]
        return jnp.maximum(lengths + counts[0] - counts[1], 0)

    monkeypatch.setattr(_batched_leap, "_leap", cut_at_the_end)
    # Another function object, so that nothing compiled before is used.
    wrong = jax.jit(lambda *arguments: _batched_leap.leap_all(*arguments))
    monkeypatch.setattr(_batched, "leap_all_compiled", wrong)
    states = simulate(UNLIKE, THIN, initial=[2, 0, 1]).lengths[0]
    assert p_value(states, law, 4, is_ranked=False) < 1e-6


@pytest.mark.slow
def test_an_own_clock_for_each_class_of_servers_is_rejected(leapt, monkeypatch):
    """C18: intervals that the servers do not share. As the test above, with intervals scrambled
    from class to class in a way that keeps the exponential law of each."""
    law = queueing.exact_transient(UNLIKE, THIN, times=[TIME], initial=[2, 0, 1], max_length=22)

    def scrambled(piece, class_rates, log_factorial):
        own = jnp.modf(piece[:, None] * 1e6 * jnp.arange(1.0, 1 + class_rates.size))[0]
        clock = jnp.where(piece[:, None] > 0, -jnp.log1p(-own) / 0.7, 0.0)
        mean = jnp.minimum(clock, 8.0)[:, :, None] * class_rates[:, None]
        count = jnp.arange(log_factorial.size // 2, dtype=jnp.float64)
        log_mean = jnp.log(jnp.maximum(mean, 1e-300))
        return jnp.cumsum(jnp.exp(count * log_mean - mean - log_factorial[: count.size]), axis=-1)

    monkeypatch.setattr(_batched_leap, "_poisson_cdf", scrambled)
    wrong = jax.jit(lambda *arguments: _batched_leap.leap_all(*arguments))
    monkeypatch.setattr(_batched, "leap_all_compiled", wrong)
    states = simulate(UNLIKE, THIN, initial=[2, 0, 1]).lengths[0]
    assert p_value(states, law, 4, is_ranked=False) < 1e-6


def _rates(special_rate, rank_cdf, class_of, arrivals, services):
    log_factorial = gammaln(np.arange(512.0) + 1.0)
    return _batched_leap.LeapRates(
        jnp.float64(special_rate),
        jnp.asarray(rank_cdf),
        jnp.asarray(class_of),
        jnp.asarray(arrivals),
        jnp.asarray(services),
        jnp.float64(jnp.inf),
        jnp.asarray(log_factorial),
    )


def test_a_leap_is_what_its_uniforms_say(monkeypatch):
    """Exact: counts by SciPy's quantiles, the depth of the minimum by its product formula."""
    rng, size = np.random.default_rng(1), 60
    uniforms = {
        _batched_random.STREAM_COUNTS: rng.random((2, 2, size)),
        _batched_random.STREAM_MINIMA: rng.random((2, 2, size)) ** 3,
    }
    class_of, pieces = np.arange(size) % 2, np.array([2.0, 0.5])
    arrivals, services = np.array([3.0, 1.0]), np.array([3.5, 6.0])
    lengths = rng.integers(0, 5, (2, size))
    expected = np.empty((2, size), int)
    for r, i in np.ndindex(2, size):
        means = pieces[r] * arrivals[class_of[i]], pieces[r] * services[class_of[i]]
        draws = uniforms[_batched_random.STREAM_COUNTS][:, r, i]
        ups, downs = (int(stats.poisson.ppf(u, m)) for u, m in zip(draws, means, strict=True))
        depth, tail = 0, 1.0
        while depth < downs:
            tail *= min(1.0, (downs - depth) / (ups + depth + 1)) if depth >= downs - ups else 1.0
            if tail < uniforms[_batched_random.STREAM_MINIMA][0, r, i]:
                break
            depth += 1
        expected[r, i] = lengths[r, i] + ups - downs + max(0, depth - lengths[r, i])
    with jax.enable_x64(True):
        monkeypatch.setattr(
            _batched_leap, "uniform_pair", lambda s, t, k, stream: jnp.asarray(uniforms[stream])
        )
        rates = _rates(1.0, [1.0], class_of, arrivals, services)
        found = _batched_leap._leap(
            jnp.asarray(lengths),
            jnp.asarray(pieces),
            *[None, rates, None],  # type: ignore[arg-type]
        )
    np.testing.assert_array_equal(found, expected)
    assert np.any(expected == 0) and np.any(expected > lengths)


def test_special_arrivals_are_what_their_uniforms_say(monkeypatch):
    """Exact: the gap, the rank by its cumulated probabilities, and which of the tied servers."""
    uniforms = [[[0.2], [0.5], [0.9], [0.9]], [[0.1], [0.67], [0.66], [1.0]]]
    lengths = np.array([[2, 1, 1, 1], [0, 3, 3, 3], [0, 3, 3, 3], [0, 4, 4, 4]])
    arrives = [True, True, True, False]
    expected = lengths + np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    with jax.enable_x64(True):
        monkeypatch.setattr(_batched_leap, "uniform_pair", lambda *_: jnp.asarray(uniforms))
        rates = _rates(4.0, [0.5, 1.0], np.zeros(4, int), [0.0], [0.0])
        args: Any = (jnp.asarray(lengths), jnp.asarray(arrives), None, rates, None)
        found = _batched_leap._join_by_rank(*args)
        gaps = _batched_leap._draw_gap(args[2], rates, args[4])
        args = (*args[:3], rates._replace(rank_cdf=jnp.ones(1)), None)
        lowest = _batched_leap._join_by_rank(*args)
    np.testing.assert_array_equal(found, expected)
    expected = lengths + np.array([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(lowest, expected)
    np.testing.assert_allclose(gaps, -np.log([0.2, 0.5, 0.9, 0.9]) / 4.0)


def test_events_on_counts_have_the_exact_law_of_all_ranks_together():
    """Oracle: uniformisation, 8192 states, about 20 cells of ranked lengths, chi-square,
    false-fail rate 1e-6: detects 7 % of a cell of 10 %. The law under JSQ alone is rejected, and
    so is that of a buffer with one place more."""
    policy, start = Marginal(PowerOfD(2), fraction=0.5), [3, 0, 0]
    system = System([1.0, 1.0, 1.0], 2.6, buffer=3)
    run = simulate(system, policy, initial=start)
    assert "lengths" not in run.variables and run.attrs["engine"] == "batched"
    exact = {
        name: queueing.exact_transient(*args, times=[TIME], initial=start, max_length=4)
        for name, args in {
            "right": (system, policy),
            "JSQ": (system, JSQ()),
            "buffer": (System([1.0, 1.0, 1.0], 2.6, buffer=4), policy),
        }.items()
    }
    states = run.lengths_ranked[0]
    p = {name: p_value(states, law, 4, is_ranked=True) for name, law in exact.items()}
    assert p["right"] > 1e-6
    assert p["JSQ"] < 1e-6 and p["buffer"] < 1e-6


@pytest.mark.slow
def test_a_replica_that_leaps_is_the_same_in_any_batch(leapt):
    part = simulate(UNLIKE, THIN, initial=[2, 0, 1], replicas=range(64, 128))
    np.testing.assert_array_equal(part.lengths, leapt.lengths[:, 64:128])


def test_a_replica_is_the_same_in_any_batch():
    system = System([1.0, 1.0, 1.0], 2.6, buffer=3)
    chunked = simulate(system, JSQ(), replicas=96, chunk=32, times=[1.0, 2.0])
    one = simulate(system, JSQ(), replicas=range(32, 64), times=[1.0, 2.0])
    np.testing.assert_array_equal(chunked.lengths_ranked[:, 32:64], one.lengths_ranked)
    rows = chunked.lengths_ranked[-1]
    assert len({tuple(row) for row in rows}) > 5


def test_queues_that_outgrow_their_levels_get_more_and_the_same_numbers(monkeypatch):
    """40 jobs more than 16 levels hold, and the same run with levels enough from the start."""
    system = System([1.0, 1.0], 40.0)
    short = simulate(system, JSQ(), replicas=4, times=[1.0, 2.0])
    monkeypatch.setattr(_batched, "_FIRST_LEVELS", 256)
    long = simulate(system, JSQ(), replicas=4, times=[1.0, 2.0])
    np.testing.assert_array_equal(short.lengths_ranked, long.lengths_ranked)
    assert short.lengths_ranked.max() > 32


def test_uniforms_resolve_what_32_bits_do_not():
    """The least are 2^-65 and never 0; values close to 0 are not multiples of 2^-32."""
    zero, one, most = jnp.uint32(0), jnp.uint32(1), jnp.uint32(0xFFFFFFFF)
    with jax.enable_x64(True):
        assert float(_batched_random._uniform(zero, zero)) == 2.0**-65
        assert float(_batched_random._uniform(zero, one)) == 1.5 * 2.0**-64
        assert 1 - 2.0**-52 < float(_batched_random._uniform(most, most)) <= 1
        streams = _batched_random.Streams(jnp.zeros(2, jnp.uint32), jnp.arange(4, dtype=jnp.uint32))
        step = jnp.zeros(4, jnp.uint32)
        pair = _batched_random.uniform_pair(streams, step, 8, _batched_random.STREAM_COUNTS)
        values = np.concatenate([np.asarray(u).ravel() for u in pair])
    assert len(set(values)) == 64
    assert np.all(values * 2.0**32 % 1 > 0)


@pytest.mark.parametrize(
    ("system", "policy", "start", "expected"),
    [
        pytest.param(System([1.0, 1.0], 0.0), Random(), [3, 2], None, marks=pytest.mark.slow),
        (System([0.0, 0.0], 0.0), JSQ(), [3, 2], [2, 3]),
        (System([1.0], 0.5, buffer=1), JSQ(), [1], None),
        (System([0.0], 0.0, buffer=1), JSQ(), [1], [1]),
    ],
)
def test_degenerate_systems_run(system, policy, start, expected):
    """C10: no arrivals, no services, one server, one place."""
    run = simulate(system, policy, initial=start, replicas=2, times=[0.0, 1.0])
    np.testing.assert_array_equal(run.lengths_ranked[0], np.tile(np.sort(start), (2, 1)))
    assert np.all(run.lengths_ranked >= 0) and run.lengths_ranked.max() <= max(start)
    if expected is not None:
        np.testing.assert_array_equal(run.lengths_ranked[1], np.tile(expected, (2, 1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: queueing.long_run(UNLIKE, THIN, horizon=10.0, engine="batched"),
            "takes snapshots only",
        ),
        (
            lambda: simulate(System(np.arange(1.0, 12.0), 5.0), Random()),
            "11 different pairs of rates",
        ),
        (lambda: simulate(System([1.0, 2.0], 1.0, buffer=3), Random()), "use engine='markov'"),
        (
            lambda: simulate(System([1.0], 0.5, service=queueing.Deterministic()), Random()),
            "use engine='calendar'",
        ),
        (
            lambda: simulate(System(np.ones(10**6), 0.5e6, buffer=None), Random(), replicas=10**6),
            "GiB of memory",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
def test_it_agrees_with_leaping_on_many_servers():
    """Extreme congestion, 100 servers, 2e4 replicas each: mean and spread of five ranks, the mean
    and the imbalance against engine "leap" from one start above 0, z = 4.9 (1e-6 each), detecting
    2 % of the lowest rank. A stream half as large again is rejected."""
    regime = queueing.extreme_congestion(n=100, a=2.0, b=1.0)
    other = queueing.extreme_congestion(n=100, a=2.0, b=1.5)

    def numbers(regime, engine, seed):
        run = queueing.simulate(
            regime,
            times=[1.0],
            initial=10 + 5 * np.arange(100),
            replicas=20_000,
            seed=seed,
            engine=engine,
            num_ranks=5,
        )
        ranked = run.lengths_ranked[0].astype(float)
        return np.column_stack(
            [ranked, ranked**2, run.values("total")[0], run.values("imbalance")[0]]
        )

    def score(one, two):
        error = np.sqrt(one.var(axis=0) / len(one) + two.var(axis=0) / len(two))
        return np.max(np.abs(one.mean(axis=0) - two.mean(axis=0)) / error)

    batched = numbers(regime, "batched", 1)
    assert score(batched, numbers(regime, "leap", 2)) < 4.9
    assert score(batched, numbers(other, "leap", 3)) > 4.9
