"""Laws of mean 1: their moments, distribution functions, samples and refusals."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from scipy.linalg import expm

import queueing
from queueing import (
    DISTRIBUTIONS,
    Coxian,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    InOrder,
    Lognormal,
    MixedErlang,
    Mixture,
    Pareto,
    PhaseTypeLaw,
    Uniform,
    Weibull,
)
from tests.distribution_cases import LAWS

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
by_law = pytest.mark.parametrize("law", LAWS, ids=repr)


def moment_by_quadrature(law, order):
    """E S^k = integral of k x^(k-1) P(S > x), piece by piece between quantiles."""
    tails = 10.0 ** -np.arange(1.0, 10.5, 0.25)
    edges = law.quantile(
        np.unique(np.concatenate([np.linspace(0.0, 0.98, 99), tails, 1.0 - tails]))
    )
    edges = np.unique(np.concatenate([[0.0], edges]))
    half = 0.5 * np.diff(edges)
    x = edges[:-1, None] + half[:, None] * (1.0 + NODES)
    return float(np.sum(half[:, None] * WEIGHTS * order * x ** (order - 1) * (1.0 - law.cdf(x))))


def distance_to_law(law, samples):
    """sup |F_n - F|, also where either jumps."""
    points = np.unique(samples)
    ordered = np.sort(samples)
    at = np.searchsorted(ordered, points, side="right") / samples.size - law.cdf(points)
    below = np.searchsorted(ordered, points, side="left") / samples.size
    below = below - law.cdf(np.nextafter(points, -np.inf))
    return max(np.abs(at).max(), np.abs(below).max())


def test_every_registered_law_is_tried():
    assert {type(law) for law in LAWS} == set(DISTRIBUTIONS.values())
    assert all(getattr(queueing, name) is kind for name, kind in DISTRIBUTIONS.items())


@by_law
def test_moments_are_the_integrals_of_the_tail(law):
    """Oracle: quadrature; what it leaves out beyond a tail of 1e-10 is below the tolerances."""
    assert law.mean == 1.0 and law.moment(0) == law.moment(1) == 1.0
    assert law.moment(2) == pytest.approx(1.0 + law.scv, rel=1e-12)
    if math.isfinite(law.scv):
        assert moment_by_quadrature(law, 1) == pytest.approx(1.0, rel=1e-5)
        assert moment_by_quadrature(law, 2) == pytest.approx(law.moment(2), rel=1e-4)
        assert moment_by_quadrature(law, 3) == pytest.approx(law.moment(3), rel=3e-3)
        assert moment_by_quadrature(law, 2) != pytest.approx(1.01 * law.moment(2), rel=1e-3)


@by_law
def test_samples_have_the_law(law):
    """Oracle: the distribution function; Massart's bound 2 exp(-2 n d^2) < 1e-6 for any law, so
    d = .0135 is the false-fail limit and about .02 what is detected: times 1.2 is rejected.

    Streams have ways of their own to draw.
    """
    samples = law.sample(np.random.default_rng(1), (200, 200))
    assert samples.shape == (200, 200) and samples.dtype == np.float64
    stream = np.empty(samples.size)
    law.start(np.random.default_rng(2)).fill(stream)
    limit = math.sqrt(math.log(2.0e6) / (2.0 * samples.size))
    for times in (samples.ravel(), stream):
        assert times.min() >= 0.0
        assert distance_to_law(law, times) < limit
        assert distance_to_law(law, 1.2 * times) > limit


@by_law
def test_quantiles_invert_the_distribution_function(law):
    p = np.array([0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9])
    x = law.quantile(p)
    assert np.all(law.cdf(x) >= p - 1e-12)
    just_below = x * (1.0 - 1e-6) - 1e-300
    assert np.all(law.cdf(just_below)[1:] <= p[1:] + 1e-5)
    assert np.all(np.diff(x) >= 0.0)
    ends = law.quantile([0.0, 1.0])
    assert law.cdf(ends[1]) == 1.0
    assert np.all(law.cdf(np.array([ends[0] - 1e-9, -1.0, -np.inf])) == 0.0)
    assert law.cdf(np.inf) == 1.0
    assert np.shape(law.cdf(0.5)) == () and law.quantile(np.full((2, 3), 0.5)).shape == (2, 3)


@by_law
def test_laws_are_frozen_values(law):
    again = pickle.loads(pickle.dumps(law))
    assert again == law and hash(again) == hash(law)
    assert sum(law == other for other in LAWS) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(law, "shape", 3.0)  # noqa: B010


@by_law
@pytest.mark.parametrize("blocks", [(1, 4999), (7, 100, 2048, 2845)])
def test_a_stream_does_not_depend_on_the_blocks_it_is_read_in(law, blocks):
    whole = np.empty(5000)
    law.start(np.random.default_rng(3)).fill(whole)
    stream = law.start(np.random.default_rng(3))
    parts = [np.empty(size) for size in (*blocks, 0)]
    for part in parts:
        stream.fill(part)
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("law", [law for law in LAWS if isinstance(law, PhaseTypeLaw)], ids=repr)
def test_phases_have_the_law(law):
    """Oracle: E S^k = k! p (-T)^-k 1 and P(S > t) = p exp(T t) 1."""
    phases = law.phases()
    assert phases.initial.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.all(phases.exit_rates >= -1e-12)
    ones = np.ones(phases.initial.size)
    vector = ones
    for order in (1, 2, 3):
        vector = order * np.linalg.solve(-phases.subgenerator, vector)
        assert phases.initial @ vector == pytest.approx(law.moment(order), rel=1e-10)
    for t in (0.1, 1.0, 4.0):
        tail = phases.initial @ expm(phases.subgenerator * t) @ ones
        assert law.cdf(t) == pytest.approx(1.0 - tail, abs=1e-12)


SCVS = [1e-9, 1e-3, 0.2, 0.25, 0.3, 1.0 / 3.0, 0.49, 0.5, 0.51, 0.9, 1.0, 1.5, 7.0, 1e6]


@pytest.mark.parametrize("scv", SCVS)
def test_laws_made_from_an_scv_have_it(scv):
    """To the rounding of a second moment near 1."""
    made = [Gamma.from_scv(scv), Coxian(scv), Lognormal(scv), Weibull.from_scv(scv)]
    made.append(MixedErlang(scv) if scv <= 1.0 else Hyperexponential(scv))
    for law in made:
        assert law.scv == pytest.approx(scv, rel=1e-9)
        assert law.moment(2) - 1.0 == pytest.approx(scv, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("scv", [0.0, *SCVS])
def test_fit_matches_both_moments(scv):
    law, rate = queueing.fit(2.5, scv)
    assert rate == 0.4
    assert law.moment(2) - 1.0 == pytest.approx(scv, rel=1e-9, abs=1e-14)
    assert law.scv == pytest.approx(scv, rel=1e-12)


def test_fit_takes_the_plainest_law():
    assert queueing.fit(1, 0) == (Deterministic(), 1.0)
    assert queueing.fit(1.0, 0.25).law == Erlang(4)
    assert queueing.fit(1.0, 0.3).law == MixedErlang(0.3)
    assert queueing.fit(mean=2.0, scv=1).law == Exponential()
    assert queueing.fit(1.0, 3).law == Hyperexponential(3.0)


@pytest.mark.parametrize(
    ("law", "exponential"),
    [(Erlang(1), True), (MixedErlang(1.0), True), (Coxian(1.0), True), (Gamma(1.0), True),
     (Weibull(1.0), True), (Hyperexponential(1), True), (Lognormal(1.0), False)],
)  # fmt: skip
def test_laws_of_scv_one_are_exponential_where_their_family_has_it(law, exponential):
    x = np.linspace(0.0, 20.0, 101)
    same = np.allclose(law.cdf(x), Exponential().cdf(x), rtol=0.0, atol=1e-13)
    assert same == exponential


def test_moments_that_are_infinite_say_so():
    assert Pareto(2.0).scv == Pareto(1.5).scv == math.inf
    assert Pareto(2.1).moment(2) == pytest.approx(1.0 + 1.0 / (2.1 * 0.1))
    assert Pareto(2.1).moment(3) == Pareto(3.0).moment(3) == math.inf
    assert Mixture([Exponential(), Pareto(1.5)], [0.5, 0.5]).scv == math.inf
    assert Mixture([Exponential(), Pareto(1.5)], [1.0, 0.0]).scv == 1.0
    assert Lognormal(1e12).moment(60) == math.inf  # beyond the largest float
    assert Erlang(2).moment(400) == math.inf


def test_an_empirical_law_keeps_its_unit():
    law = Empirical([2, 6, 4])
    assert law.original_mean == 4.0 and law.values.tolist() == [0.5, 1.0, 1.5]
    assert law == Empirical((6.0, 4.0, 2.0)) != Empirical([1, 3, 2])
    assert InOrder([2, 6, 4]) != InOrder([6, 4, 2])
    assert law.quantile([0.0, 1 / 3, 0.34, 2 / 3, 1.0]).tolist() == [0.5, 0.5, 1.0, 1.0, 1.5]
    assert Empirical([1e308, 1e308]).original_mean == 1e308
    assert Empirical([5e-324, 1e-320]).scv == pytest.approx(1.0, abs=0.01)
    with pytest.raises(ValueError, match="read-only"):
        law.values[0] = 2.0
    out = np.empty(5)
    InOrder([2, 6, 4]).start(np.random.default_rng(0)).fill(out)
    assert out.tolist() == [0.5, 1.5, 1.0, 0.5, 1.5]


def test_a_mixture_is_scaled_to_mean_one():
    law = Mixture([Deterministic(), Deterministic()], [0.75, 0.25], means=[1, 5])
    assert law.means == (0.5, 2.5)
    assert law.scv == pytest.approx(0.75 * 0.25 + 0.25 * 2.25)
    assert law.quantile([0.0, 0.75, 0.76, 1.0]).tolist() == [0.5, 0.5, 2.5, 2.5]
    draws = law.sample(np.random.default_rng(0), 1000)
    assert set(draws.tolist()) == {0.5, 2.5}


@dataclasses.dataclass(frozen=True)
class Halves(Distribution):
    """A user's law: half or three halves."""

    scv: float = 0.25

    def sample(self, generator, size):
        return 0.5 + generator.integers(0, 2, size)


def test_a_user_s_law_needs_samples_and_scv_only():
    law = Halves()
    assert law.moment(2) == 1.25
    out = np.empty(3000)
    law.start(np.random.default_rng(0)).fill(out)
    assert set(out.tolist()) == {0.5, 1.5}
    with pytest.raises(ValueError, match=r"Halves\(scv=0.25\) offers samples and scv only.*_cdf"):
        law.quantile(0.5)
    with pytest.raises(ValueError, match="order is 3"):
        law.moment(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Erlang(0), "shape is 0"),
        (lambda: Erlang(2.0), "shape is 2.0"),
        (lambda: Erlang(True), "shape is True"),
        (lambda: Erlang(10**400), "shape is 1000"),
        (lambda: Gamma(0.0), "shape is 0.0"),
        (lambda: Gamma("2"), "shape is '2'"),
        (lambda: Gamma.from_scv(0), "scv is 0.*Deterministic"),
        (lambda: MixedErlang(1.1), "scv is 1.1.*Hyperexponential"),
        (lambda: Hyperexponential(0.9), "scv is 0.9.*MixedErlang"),
        (lambda: Hyperexponential(math.inf), "scv is inf"),
        (lambda: Coxian(-1.0), "scv is -1.0"),
        (lambda: Lognormal(math.nan), "scv is nan"),
        (lambda: Lognormal(None), "scv is None"),
        (lambda: Weibull(0.0), "shape is 0.0"),
        (lambda: Weibull.from_scv(math.inf), "scv is inf"),
        (lambda: Pareto(1.0), "tail is 1.0.*mean is infinite"),
        (lambda: Pareto(math.inf), "tail is inf"),
        (lambda: Uniform(1.5), "half_width is 1.5"),
        (lambda: Empirical([]), r"values has shape \(0,\)"),
        (lambda: Empirical([1.0, -2.0]), r"values\[1\] is -2.0"),
        (lambda: Empirical([1.0, math.nan]), r"values\[1\] is nan"),
        (lambda: Empirical([0.0, 0.0]), "values are all 0"),
        (lambda: Empirical(["1"]), "values is"),
        (lambda: InOrder(3.0), r"values has shape \(\)"),
        (lambda: Mixture([], []), r"laws is \[\]"),
        (lambda: Mixture(Exponential(), [1.0]), r"laws is Exponential\(\)"),
        (lambda: Mixture([Exponential], [1.0]), r"laws\[0\] is <class"),
        (lambda: Mixture([Exponential(), Erlang(2)], [0.5, 0.4]), "weights sum to 0.9"),
        (lambda: Mixture([Exponential()], [0.5, 0.5]), "weights has 2 entries"),
        (lambda: Mixture([Exponential(), Erlang(2)], [0, 1], [1, 0]), "means are 0 for all laws"),
        (lambda: queueing.fit(0.0, 1.0), "mean is 0.0"),
        (lambda: queueing.fit(1.0, -0.1), "scv is -0.1"),
        (lambda: queueing.fit(1.0, math.inf), "scv is inf.*Pareto"),
        (lambda: queueing.fit(1.0, 1e-15), "scv is 1e-15"),
        (lambda: queueing.fit(5e-324, 1.0), "mean is 5e-324"),
        (lambda: Erlang(10_000).phases(), "10000 phases"),
        (lambda: Exponential().moment(-1), "order is -1"),
        (lambda: Exponential().moment(1.5), "order is 1.5"),
        (lambda: Exponential().cdf([0.5, math.nan]), "x holds NaN"),
        (lambda: Exponential().cdf("a"), "x is 'a'"),
        (lambda: Exponential().quantile(1.5), "p is 1.5"),
        (lambda: Exponential().sample(0, 3), "generator is 0"),
        (lambda: Exponential().sample(np.random.default_rng(0), 2.5), "size is 2.5"),
        (lambda: Exponential().sample(np.random.default_rng(0), (2, -1)), "size is"),
        (lambda: Exponential().start(7), "generator is 7"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@by_law
def test_any_shape_of_samples(law):
    generator = np.random.default_rng(0)
    for shape in ((), 0, (3, 0), (2, 3), 1):
        draws = law.sample(generator, shape)
        assert draws.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert draws.dtype == np.float64
