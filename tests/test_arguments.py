"""Numbers and arrays in every form: what means the same is the same, what would change is refused.

Each refusal is a ValueError that names the argument; nothing is converted in silence.
"""

# What is passed here is wrong on purpose.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalCall=false

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import atlas
import queueing
from atlas import ensemble

MODEL = atlas.reflected_atlas(2, 2.0, 1.0)
LAW = atlas.ProductExponential([1.0, 2.0])
MIXTURE = atlas.stationary_gaps(
    atlas.hybrid_atlas([1.0, 0.0, -1.0], [0.1, 0.0, -0.1], [1.0, 1.0, 1.0])
)
STREAMS = queueing.RankStreams(0.5, [0.2, 0.1], 1.0)
GEOMETRIC = queueing.ProductGeometric([0.5, 0.6])
GAMMA = queueing.GammaLaw(2.0, 1.0)
SCHEME = atlas.Splitting(step=0.1)
JSQ = queueing.JSQ()

# What takes one number.
NUMBERS = {
    "a": lambda v: atlas.reflected_atlas(2, v, 0.25),
    "drift": lambda v: atlas.atlas_model(2, v),
    "mean_drift": lambda v: atlas.linear_rank_drift(2, 1.0, v, floor=True),
    "pull": lambda v: atlas.delay_diffusion(v, 1.0),
    "delay": lambda v: atlas.delay_diffusion(1.0, v),
    "decay": lambda v: atlas.ReflectedOU(1.0, v),
    "step": lambda v: atlas.Splitting(step=v),
    "reach": lambda v: atlas.TwoScaleSplitting(step=0.1, reach=v),
    "horizon": lambda v: atlas.simulate(MODEL, SCHEME, horizon=v, max_steps=10**6),
    "truncation_budget": lambda v: atlas.simulate(
        MODEL, SCHEME, horizon=0.0, truncation_budget=v
    ),
    "floor": lambda v: atlas.reflect_half_line([0.0, -1.0], v),
    "level": lambda v: ensemble.Estimate([1.0], [0.1], 3.0).interval(v),
    "smallest": lambda v: ensemble.StreamingQuantiles.empty(smallest=v),
    "relative_error": lambda v: ensemble.StreamingQuantiles.empty(relative_error=v),
    "arrival_rate": lambda v: queueing.System([1.0, 0.5], v),
    "rate": lambda v: queueing.Marginal(queueing.JSQ(), rate=v),
    "period": lambda v: queueing.Refreshed(v),
    "load": lambda v: queueing.jfsq_fluid(load=v),
    "beta": lambda v: queueing.halfin_whitt(v),
    "slack": lambda v: queueing.heavy_traffic(2, 9, v, 1.0),
    "alpha": lambda v: queueing.zero_waiting(3, v),
    "chi": lambda v: queueing.remote([1.0], 0.5, 1.0, v),
    "scv": lambda v: queueing.Lognormal(v),
    "mean": lambda v: queueing.fit(v, 1.0),
    "warmup": lambda v: queueing.long_run(
        queueing.System([1.0], 0.5), queueing.Random(), horizon=1.0, warmup=v, seed=0
    ),
}  # fmt: skip

# What takes a vector of two numbers.
VECTORS = {
    "drifts": lambda v: atlas.first_order(v, [1.0, 1.0]),
    "variances": lambda v: atlas.first_order([1.0, -1.0], v),
    "memory_decays": lambda v: atlas.ReflectedOU(1.0, memory_decays=v, memory_weights=[1.0, 1.0]),
    "rates": lambda v: atlas.ProductExponential(v),
    "gaps": lambda v: [law(v) for law in (LAW.cdf, LAW.survival, LAW.log_prob, MIXTURE.cdf)],
    "prob": lambda v: [LAW.quantile(v), MIXTURE.quantile(v)],
    "times": lambda v: atlas.simulate(MODEL, SCHEME, times=v, key=0),
    "initial": lambda v: atlas.simulate(MODEL, SCHEME, horizon=0.0, initial=v),
    "path": lambda v: atlas.reflect_half_line(v),
    "series": lambda v: ensemble.batch_means(v, num_batches=2),
    "value": lambda v: ensemble.Estimate(v, 0.1, 3.0),
    "samples": lambda v: ensemble.StreamingMoments.from_samples(v),
    "service_rates": lambda v: queueing.System(v, 0.1),
    "travel_times": lambda v: queueing.System([1.0, 1.0], 0.1, travel_times=v),
    "origin_probs": lambda v: queueing.System(
        [1.0, 1.0], 0.1, travel_times=np.ones((2, 2)), origin_probs=v
    ),
    "ratios": lambda v: queueing.ProductGeometric(v),
    "lengths": lambda v: [GEOMETRIC.tail(v), GEOMETRIC.cdf(v)],
    "lengths_ranked": lambda v: queueing.second_moment_identity(STREAMS, lengths_ranked=v),
    "x": lambda v: [GAMMA.cdf(v), GAMMA.survival(v), queueing.Exponential().cdf(v)],
    "values": lambda v: queueing.Empirical(v),
    "interarrivals": lambda v: queueing.TraceArrivals(v),
    "levels": lambda v: queueing.TimeVarying.from_levels(v, 1.0),
    "rank_probs": lambda v: queueing.heavy_traffic(2, 9, 1.0, 1.0, rank_probs=v),
    "shares": lambda v: queueing.fast_idle_rate([1.0, 2.0], v),
}


@pytest.mark.parametrize("value", [10**400, -(10**400), Fraction(10**400, 3), 1j, "1", True, None])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_float_is_refused_by_name(name, value):
    if value is None and name in ("horizon", "rate"):
        return  # None has a meaning there
    with pytest.raises(ValueError, match=name):
        NUMBERS[name](value)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_in_an_array_of_no_axis_is_that_number(name):
    if name in ("horizon", "truncation_budget", "warmup"):
        return  # a run each, and the same check
    for same in (np.array(0.5), jnp.asarray(0.5), np.float32(0.5), Fraction(1, 2)):
        NUMBERS[name](same)


@pytest.mark.parametrize("name", VECTORS)
@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked_array([0.5, 0.5], [False, True]),
        np.array([0.5 + 0j, 0.5]),
        np.array([1, 2], "m8[s]"),
        ["0.5", "0.5"],
        [0.5, None],
        [[0.5], [0.5, 0.5]],
        {0.5, 0.25},
        (x for x in (0.5, 0.5)),
    ],
    ids=["masked", "complex", "durations", "strings", "None", "ragged", "set", "generator"],
)
def test_what_an_array_of_floats_cannot_hold_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        VECTORS[name](value)


@pytest.mark.parametrize("name", VECTORS)
def test_numbers_beyond_a_float_are_refused_or_infinite(name):
    """Where infinite values are sound, as where a law is evaluated, 10^400 is one."""
    if name in ("value", "samples", "x", "lengths", "lengths_ranked", "gaps"):
        VECTORS[name]([0.5, 10**400])
        return
    with pytest.raises(ValueError, match=name):
        VECTORS[name]([0.5, 10**400])


@pytest.mark.parametrize("name", VECTORS)
def test_every_form_of_the_same_vector_is_taken(name):
    pandas = pytest.importorskip("pandas")
    if name == "times":
        return  # a run each, and the same check
    values = [0.5, 0.5]
    forms = [
        tuple(values),
        np.array(values, np.float16),
        np.array(values, ">f8"),
        np.array([0.5, 9.0, 0.5, 9.0])[::2],
        np.broadcast_to(0.5, (2,)),
        np.array([Fraction(1, 2), 0.5], object),
        np.ma.masked_array(values, [False, False]),
        pandas.Series(values, index=[7, 3]),
        jnp.asarray(values),
    ]
    for form in forms:
        VECTORS[name](form)


def test_settings_are_kept_as_plain_numbers():
    """A number in an array of no axis would be no key of a dict."""
    half, two = np.array(0.5), np.array(2)
    for made, plain in (
        (queueing.Marginal(JSQ, rate=half), queueing.Marginal(JSQ, rate=0.5)),
        (queueing.Marginal(JSQ, fraction=half), queueing.Marginal(JSQ, fraction=0.5)),
        (queueing.PowerOfD(two), queueing.PowerOfD(2)),
        (queueing.remote([1.0], half, 1.0, half), queueing.remote([1.0], 0.5, 1.0, 0.5)),
        (queueing.zero_waiting(3, half, buffer=two), queueing.zero_waiting(3, 0.5, buffer=2)),
        (queueing.RootOfExcess(half), queueing.RootOfExcess(0.5)),
        (queueing.DelayOptimum(half), queueing.DelayOptimum(0.5)),
    ):
        assert made == plain
        assert hash(made) == hash(plain)
        assert repr(made) == repr(plain)


def test_arrays_of_the_caller_stay_his_own():
    given = np.array([0.5, 0.5])
    made = [
        atlas.first_order(given, given).drifts,
        atlas.ProductExponential(given).rates,
        queueing.System(given, 0.1).service_rates,
        queueing.ProductGeometric(given).ratios,
        queueing.Empirical(given).values,
        ensemble.Estimate(given, 0.1, 3.0).value,
    ]
    given[:] = 7.0
    assert all(np.all(array != 7.0) for array in made)
    assert given.flags.writeable


@pytest.mark.parametrize("axis", [None, 0.0, "0", [0], True, 1, -2])
def test_an_axis_that_is_none_is_refused(axis):
    estimate, quantiles = ensemble.Estimate, ensemble.StreamingQuantiles.empty()
    for call in (
        lambda: estimate.from_samples([1.0, 2.0], axis),
        lambda: estimate.from_ratio([1.0, 2.0], [1.0, 2.0], axis),
        lambda: estimate.pooled([1.0, 2.0], [0.1, 0.1], 3.0, axis),
        lambda: ensemble.StreamingMoments.from_samples([1.0, 2.0], axis),
        lambda: quantiles.add([1.0, 2.0], axis),
    ):
        with pytest.raises(ValueError, match="axis"):
            call()


def test_streamed_quantiles_take_one_probability_and_no_sample():
    quantiles = ensemble.StreamingQuantiles.empty().add([1.0, 2.0, 3.0])
    assert quantiles.quantile(0.5) == quantiles.quantile([0.5])[0]
    assert quantiles.add([]).count == 3
    for settings in (
        {"relative_error": 1e-12},
        {"largest": 1e308, "smallest": 1e-5},
        {"signed": 1},
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            ensemble.StreamingQuantiles.empty(**settings)
    with pytest.raises(ValueError, match="shape"):
        ensemble.StreamingQuantiles.empty(shape=2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ensemble.Result(None), "variables"),
        (lambda: ensemble.Result({}, attrs=[1]), "attrs"),
        (lambda: ensemble.Result({}, coordinates=[1]), "coordinates"),
        (lambda: ensemble.Result({}).estimate([1]), "name"),
        (lambda: ensemble.Result({}).save_table("x.csv", 1), "names"),
        (lambda: ensemble.Variable(1, 1.0), "dims"),
        (lambda: ensemble.Variable(("time",), [[1.0], [1.0, 2.0]]), "values"),
        (lambda: ensemble.Variable(("time",), np.ma.masked_array([1.0], [True])), "values"),
        (lambda: ensemble.Estimate.pooled([1.0, 2.0], [0.1, 0.1], [1, 2, 3]), "dof"),
        (lambda: ensemble.check_memory(10**400, "it", "wait"), "memory"),
        (lambda: atlas.BrownianSteps(2, 0.0, 0.1, None, dtype="int32"), "dtype"),
        (lambda: atlas.ReflectedSplitting("model"), "model"),
        (lambda: atlas.TwoScaleSplitting(step=1e-320, macro_step=1.0), "macro_step"),
        (lambda: atlas.simulate(MODEL, SCHEME, horizon=0.1, noise_step=1e-17), "noise_step"),
        (lambda: atlas.simulate(MODEL, SCHEME, horizon=0.1, noise_step=1e-320), "noise_step"),
        (lambda: atlas.simulate(MODEL, SCHEME, horizon=-1.0), "horizon"),
        (lambda: atlas.simulate(MODEL, SCHEME, horizon=0.1, initial=float), "initial"),
        (lambda: LAW.sample(0, 10**11), "shape"),
        (lambda: MIXTURE.sample(0, (10**6, 10**6)), "shape"),
        (lambda: GEOMETRIC.sample(replicas=10**12, seed=0), "replicas"),
        (lambda: GEOMETRIC.sample(replicas=2**32, seed=0), "samples"),
        (lambda: ensemble.RelativeHalfWidth(0.1, min_dof=None), "min_dof"),
        (lambda: queueing.extreme_congestion(10**12, 2.0, 1.0), "n = 1e"),
        (lambda: queueing.heavy_traffic(10**12, 9, 1.0, 1.0), "num_servers = 1e"),
        (lambda: queueing.heavy_traffic(2, 10**400, 1.0, 1.0), "n is above"),
        (lambda: queueing.zero_waiting(10**400, 0.5), "num_servers needs"),
        (lambda: queueing.routing([1.0], r=1e-300), "r is 1e-300"),
        (lambda: queueing.System([1.7e308, 1.7e308], 0.1), "service_rates"),
        (lambda: queueing.busy_identity(None, idle_servers=0.1), "streams"),
        (lambda: queueing.busy_identity(STREAMS, idle_servers="a"), "idle_servers"),
        (lambda: atlas.simulate_reflected_ou(
            atlas.ReflectedOU(1.0), step=0.1, horizon=1.0, replicas=2**32), "replicas"),
    ],
)  # fmt: skip
def test_other_slips_are_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.mark.parametrize(
    "model",
    [
        atlas.first_order([1.0, -1.0], [1e-320, 1e-320]),
        atlas.hybrid_atlas([1.0, -1.0], [0.1, -0.1], [1e-320, 1e-320]),
    ],
)
def test_laws_beyond_the_range_of_floats_are_refused(model):
    with pytest.raises(ValueError, match="rates"):
        atlas.stationary_gaps(model)


def test_mixtures_of_huge_and_of_tiny_rates_are_laws():
    """Weights 1 / prod of rates under- or overflow: shifted in the logarithm they do not."""
    for unit in (1e-150, 1.0, 1e150):
        drifts = np.array([1.0, 0.0, -1.0]) * unit
        law = atlas.stationary_gaps(atlas.hybrid_atlas(drifts, drifts / 10, [1.0, 1.0, 1.0]))
        np.testing.assert_allclose(law.mean * unit, _UNIT_LAW.mean, rtol=1e-12)


_UNIT_LAW = atlas.stationary_gaps(
    atlas.hybrid_atlas([1.0, 0.0, -1.0], [0.1, 0.0, -0.1], [1.0, 1.0, 1.0])
)
