"""Arrival processes of mean rate 1: their streams, their laws and refusals."""

import math
import pickle

import numpy as np
import pytest
from scipy.linalg import expm

import queueing
from queueing import (
    ARRIVALS,
    Erlang,
    Exponential,
    Lognormal,
    MarkovModulated,
    Poisson,
    Renewal,
    TimeVarying,
    TraceArrivals,
)
from queueing._arrivals import index_of_dispersion, resolve_arrivals
from tests.distribution_cases import PROCESSES, sine_rate

by_process = pytest.mark.parametrize(
    "process", PROCESSES, ids=lambda process: type(process).__name__
)
BURSTY = MarkovModulated([5.0, 0.5], [[-0.2, 0.2], [0.05, -0.05]])


def interarrivals(process, count, seed=0):
    times = np.empty(count)
    process.start(np.random.default_rng(seed)).fill(times)
    return times


def rejects_exponential(times):
    """Whether Massart's bound rejects Exp(1) for independent times, at a false-fail rate of 1e-6;
    with 4000 times it detects a distance of .06."""
    ordered = np.sort(times)
    steps = np.arange(times.size + 1) / times.size
    cdf = -np.expm1(-ordered)
    distance = max(np.abs(steps[1:] - cdf).max(), np.abs(steps[:-1] - cdf).max())
    return distance > math.sqrt(math.log(2.0e6) / (2.0 * times.size))


def test_every_registered_process_is_tried():
    assert {type(process) for process in PROCESSES} == set(ARRIVALS.values())
    assert all(getattr(queueing, name) is kind for name, kind in ARRIVALS.items())


@by_process
def test_a_stream_does_not_depend_on_the_blocks_it_is_read_in(process):
    whole = interarrivals(process, 5000, seed=3)
    for blocks in ((1, 4999), (7, 100, 2048, 0, 2845)):
        stream = process.start(np.random.default_rng(3))
        parts = [np.empty(size) for size in blocks]
        for part in parts:
            stream.fill(part)
        assert np.array_equal(np.concatenate(parts), whole)


@by_process
def test_streams_of_one_process_do_not_share_anything(process):
    """C5, C7: a stream is its generator's alone, whatever other streams are read meanwhile."""
    expected = interarrivals(process, 3000, seed=1)
    first, second = (process.start(np.random.default_rng(seed)) for seed in (1, 2))
    parts = np.empty((6, 500))
    for part in parts:
        second.fill(np.empty(333))
        first.fill(part)
    assert np.array_equal(parts.ravel(), expected)
    is_fixed = isinstance(process, TraceArrivals)
    assert np.array_equal(interarrivals(process, 3000, seed=2), expected) == is_fixed or (
        is_fixed and process.random_start
    )


@by_process
def test_the_mean_rate_is_one(process):
    """Oracle: mean interarrival 1; 5.5 standard errors from the asymptotic scv, false-fail below
    1e-6; detects 8 % or less.  A trace that ends has just its own times."""
    times = interarrivals(process, 100_000, seed=5)
    times = times[np.isfinite(times)]
    error = 5.5 * math.sqrt(max(process.asymptotic_scv, 1e-3) / times.size)
    if times.size < 100_000:
        assert times.size == 5
        error = 1e-12
    assert abs(times.mean() - 1.0) < error < 0.08
    assert times.min() >= 0.0


@by_process
def test_processes_are_frozen_values(process):
    again = pickle.loads(pickle.dumps(process))
    assert again == process and hash(again) == hash(process)
    assert sum(process == other for other in PROCESSES) == 1


def test_what_arrivals_may_be():
    assert resolve_arrivals(None) == Poisson()
    assert resolve_arrivals(Erlang(2)) == Renewal(Erlang(2))
    assert resolve_arrivals(BURSTY) is BURSTY
    for wrong in (Poisson, "poisson", 3.0, Exponential):
        with pytest.raises(ValueError, match=r"arrivals is .*Poisson, Renewal, MarkovModulated"):
            resolve_arrivals(wrong)


def test_poisson_is_the_exponential_renewal_process():
    assert np.array_equal(interarrivals(Poisson(), 10), interarrivals(Renewal(Exponential()), 10))
    assert Poisson().asymptotic_scv == 1.0
    assert Renewal(Lognormal(2.5)).asymptotic_scv == 2.5


def first_two_times(process, replicas):
    pairs = np.empty((replicas, 2))
    for replica, pair in enumerate(pairs):
        process.start(np.random.default_rng(replica)).fill(pair)
    return pairs


def test_modulated_arrivals_start_from_the_stationary_law():
    """Oracle: P(T_1 > t) = pi exp((Q - R) t) 1 and, given the arrival, the second time's law
    from pi R (R - Q)^-1 R; mapped by them both times are uniform.  Massart's bound, false-fail
    1e-6; the exponential law and the other time's law are rejected."""
    replicas = 3000
    chain, rates = np.array(BURSTY.generator), np.diag(BURSTY.rates)
    killed = chain - rates
    start = np.array(BURSTY.state_probs)
    after_one = start @ np.linalg.solve(-killed, rates)

    def tail(law, times):
        grid = np.linspace(0.0, times.max(), 2000)
        one_step = expm(killed * (grid[1] - grid[0]))
        vectors, vector = [], np.ones(2)
        for _ in grid:
            vectors.append(law @ vector)
            vector = one_step @ vector
        return np.interp(times, grid, vectors)

    pairs = first_two_times(BURSTY, replicas)
    for column, law in enumerate((start, after_one)):
        assert not rejects_exponential(-np.log(tail(law, pairs[:, column])))
        assert rejects_exponential(pairs[:, column])
    assert rejects_exponential(-np.log(tail(after_one, pairs[:, 0])))


def test_counts_of_modulated_arrivals_have_their_dispersion():
    """Oracle: E N(t) = t and Var N(t)/t in closed form; errors from 1500 replicas, 5.5 standard
    errors (false-fail below 1e-6), detects 25 %: a Poisson process is rejected."""
    horizon, replicas = 20.0, 1500
    counts = np.empty(replicas)
    times = np.empty(400)
    for replica in range(replicas):
        BURSTY.start(np.random.default_rng(replica)).fill(times)
        clock = np.cumsum(times)
        assert clock[-1] > horizon
        counts[replica] = np.searchsorted(clock, horizon)
    index = BURSTY.index_of_dispersion(horizon)
    squares = np.square(counts - horizon) / horizon
    assert abs(counts.mean() - horizon) < 5.5 * math.sqrt(index * horizon / replicas)
    error = 5.5 * squares.std() / math.sqrt(replicas)
    assert abs(squares.mean() - index) < error
    assert abs(squares.mean() - 1.0) > error


def test_the_dispersion_of_modulated_arrivals():
    """Oracle: two states, 1 + 2 c (1 - (1 - exp(-s t))/(s t))/s, c the variance of the rate and
    s the sum of the rates of change; and quadrature of the covariance of the rate."""
    process = MarkovModulated([3.0, 1.0], [[-0.5, 0.5], [1.5, -1.5]])
    assert process.mean_rate == pytest.approx(2.5)
    assert process.state_probs == pytest.approx((0.75, 0.25))
    change = 2.0 / 2.5
    variance = 0.75 * 0.2**2 + 0.25 * 0.6**2
    assert process.asymptotic_scv == pytest.approx(1.0 + 2.0 * variance / change)
    for time in (1e-6, 0.3, 4.0, 1e4):
        rest = 1.0 + math.expm1(-change * time) / (change * time)
        expected = 1.0 + 2.0 * variance / change * rest
        assert process.index_of_dispersion(time) == pytest.approx(expected, abs=1e-8)
    assert MarkovModulated([4.0], [[0]]).asymptotic_scv == 1.0
    assert MarkovModulated([4.0, 4.0], [[-1, 1], [2, -2]]).asymptotic_scv == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("process", "cumulative"),
    [
        (
            TimeVarying(sine_rate, period=2.0, bound=6.0),
            lambda t: 3.0 * (t + (1.0 - np.cos(np.pi * t)) / np.pi),
        ),
        (
            TimeVarying.from_levels([1.0, 0.0, 5.0], period=6.0),
            lambda t: (
                np.interp(t % 6.0, [0.0, 2.0, 4.0, 6.0], [0.0, 2.0, 2.0, 12.0]) + 12.0 * (t // 6.0)
            ),
        ),
    ],
    ids=["function", "levels"],
)
def test_thinning_gives_the_rate_that_was_asked_for(process, cumulative):
    """Oracle: in the operational time, the integral of the rate, arrivals are Poisson; Massart's
    bound, false-fail 1e-6.  On the plain clock, at the mean rate, they are rejected."""
    times = interarrivals(process, 20_000)
    clock = np.cumsum(times) / process.mean_rate
    assert not rejects_exponential(np.diff(cumulative(clock), prepend=0.0))
    assert rejects_exponential(times)


def test_a_varying_rate_is_normalised_by_its_period():
    assert TimeVarying(sine_rate, period=2.0, bound=6.0).mean_rate == pytest.approx(3.0, rel=1e-9)
    assert TimeVarying.from_levels([1, 0, 5], period=6).mean_rate == 2.0
    constant = TimeVarying(lambda times: 4.0, period=1.0, bound=8.0)
    assert constant.mean_rate == 4.0
    assert not rejects_exponential(interarrivals(constant, 20_000))


def test_a_trace_is_played_as_it_is():
    process = TraceArrivals([1.0, 0.0, 2.0])
    assert process.mean_rate == 1.0
    assert interarrivals(process, 5).tolist() == [1.0, 0.0, 2.0, math.inf, math.inf]
    again = TraceArrivals([2.0, 0.0, 4.0], repeat=True)
    assert again.mean_rate == 0.5
    assert interarrivals(again, 7).tolist() == [1.0, 0.0, 2.0, 1.0, 0.0, 2.0, 1.0]
    starts = TraceArrivals([1.0, 0.0, 2.0], repeat=True, random_start=True)
    firsts = [tuple(interarrivals(starts, 3, seed)) for seed in range(60)]
    assert set(firsts) == {(1.0, 0.0, 2.0), (0.0, 2.0, 1.0), (2.0, 1.0, 0.0)}


def test_dispersion_of_a_trace():
    """Oracle: by hand; then a renewal sequence and a bursty one, 5.5 times sqrt(4 k/(3 m)) of
    relative error (false-fail below 1e-6), which tells the two apart."""
    assert index_of_dispersion(np.array([1.0, 3.0]), 1) == 0.25
    assert index_of_dispersion(np.array([1.0, 3.0, 1.0, 3.0]), 2) == 0.0
    together, count = 200, 100_000
    error = 5.5 * math.sqrt(4.0 * together / (3.0 * count))
    renewal = interarrivals(Renewal(Lognormal(2.0)), count)
    assert index_of_dispersion(renewal, together) == pytest.approx(2.0, rel=error)
    bursty = TraceArrivals(interarrivals(BURSTY, count))
    assert index_of_dispersion(bursty.interarrivals, together) > 4.0
    assert bursty.asymptotic_scv == pytest.approx(BURSTY.asymptotic_scv, rel=2.0 * error)


def outside(times):
    return 1.0 - 2.0 * (times > 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Renewal(Exponential), "interarrival is <class"),
        (lambda: Renewal(Poisson()), r"interarrival is Poisson\(\)"),
        (lambda: Poisson().start(3), "generator is 3"),
        (lambda: MarkovModulated([1, -1], [[-1, 1], [1, -1]]), r"rates\[1\] is -1"),
        (lambda: MarkovModulated([0, 0], [[-1, 1], [1, -1]]), r"rates is \[0, 0\]"),
        (lambda: MarkovModulated([], []), "rates has shape"),
        (lambda: MarkovModulated([1, 2], [[-1, 1]]), r"generator is .*\(2, 2\)"),
        (lambda: MarkovModulated([1, 2], [[-1, 1], [1, -2]]), r"generator\[1\] sums to -1.0"),
        (lambda: MarkovModulated([1, 2], [[1, -1], [1, -1]]), "generator is .*off the diagonal"),
        (lambda: MarkovModulated([1, 2], [[-1, 1], [math.nan, 0]]), "generator is"),
        (lambda: MarkovModulated([1, 2], [[-1, 1], [0, 0]]), "generator is .*never reached"),
        (lambda: MarkovModulated([1, 2], [[0, 0], [0, 0]]), "generator is .*never reached"),
        (lambda: BURSTY.index_of_dispersion(0.0), "time is 0.0"),
        (lambda: TimeVarying(3.0, 1.0, 1.0), "rate is 3.0.*from_levels"),
        (lambda: TimeVarying(sine_rate, 0.0, 6.0), "period is 0.0"),
        (lambda: TimeVarying(sine_rate, 2.0, math.inf), "bound is inf"),
        (lambda: TimeVarying(sine_rate, 2.0, 5.0), r"rate is 5.0\d+ at time .*bound = 5.0"),
        (lambda: TimeVarying(outside, 1.0, 1.0), "rate is -1.0 at time 0.5"),
        (lambda: TimeVarying(lambda t: t * math.nan, 1.0, 1.0), "rate is nan at time"),
        (lambda: TimeVarying(lambda t: 0.0 * t, 1.0, 1.0), "0 at all times"),
        (lambda: TimeVarying(lambda t: t[:3], 1.0, 1.0), "rate returns"),
        (lambda: TimeVarying.from_levels([0.0], 1.0), "levels is"),
        (lambda: TimeVarying.from_levels([1.0], -1.0), "period is -1.0"),
        (lambda: TraceArrivals([]), "interarrivals has shape"),
        (lambda: TraceArrivals([0.0]), "interarrivals are all 0"),
        (lambda: TraceArrivals([1.0, -1.0]), r"interarrivals\[1\] is -1.0"),
        (lambda: TraceArrivals([1.0], repeat=1), "repeat is 1"),
        (lambda: TraceArrivals([1.0], random_start=True), "random_start is True without repeat"),
        (lambda: index_of_dispersion(np.ones(3), 4), "together is 4"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
