"""Exact identities and tabulated values on long runs of every engine."""

import numba
import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import JSQ, Marginal, PowerOfD, RankBased, System
from queueing._subject import resolve_subject

# Two-sided, over all the z values of one test.
_FALSE_FAIL = 1e-6


def _assert_close(estimate, exact, relative):
    """Every entry within Student bounds of `exact`, and errors small enough to mean something."""
    value, error = np.atleast_1d(estimate.value), np.atleast_1d(estimate.std_error)
    bound = stats.t.isf(0.5 * _FALSE_FAIL / value.size, np.atleast_1d(estimate.dof))
    assert np.all(np.abs(value - exact) <= bound * error), (value, exact, error)
    assert np.all(bound * error <= relative), (bound * error, relative)


def _runs():
    heavy = queueing.heavy_traffic(num_servers=4, n=25, slack=2.0, b=3.0)
    ranks = queueing.heavy_traffic(4, 25, 2.0, 3.0, rank_probs=[0.4, 0.3, 0.2, 0.1])
    plain = System(np.ones(5), 4.0)
    return {
        "MJSQ": (heavy, None, 1600.0),
        "ranks": (ranks, None, 1600.0),
        "P0": (queueing.extreme_congestion(n=9, a=3.0, b=2.0), None, 1600.0),
        "two choices": (plain, PowerOfD(2), 1.2e4),
        "JSQ": (plain, JSQ(), 1.2e4),
        "mixed": (plain, Marginal(RankBased([0.6, 0.4, 0, 0, 0]), fraction=0.2), 1.2e4),
    }


@pytest.mark.parametrize("engine", ["markov", "leap"])
@pytest.mark.parametrize("name", ["MJSQ", "ranks", "P0", "mixed"])
def test_the_identities_hold_on_every_long_run(name, engine):
    """Busy, second moment and tied block for every k; false-fail rate 1e-6 each.

    Detects .1 idle servers and a drift of .1 mu per server; the same test rejects the identity of a
    system whose every rank receives .02 mu more.
    """
    subject, policy, horizon = _runs()[name]
    _check_identities(subject, policy, horizon, engine)


@pytest.mark.parametrize("name", ["two choices", "JSQ"])
def test_the_identities_hold_where_every_job_looks(name):
    """As above, for policies that route all jobs by rank."""
    _check_identities(*_runs()[name], "markov")


def _check_identities(subject, policy, horizon, engine):
    run = queueing.long_run(
        subject,
        policy,
        horizon=horizon,
        warmup=horizon / 10.0,
        replicas=24,
        seed=31,
        engine=engine,
        progress=False,
    )
    streams = resolve_subject(subject, policy).streams
    scale = streams.service_rate
    # E[idle] as its identity gives it, and the mean of every tied-block drift.
    busy = queueing.busy_identity(streams, idle_servers=0.0)
    _assert_close(run.estimate("idle_servers"), busy.right / scale, 0.1)
    _assert_close(run.estimate("tied_block_drift"), 0.0, 0.1 * scale * streams.num_servers)
    ranked = run.values("lengths_ranked")
    residuals = np.array(
        [queueing.second_moment_identity(streams, lengths_ranked=row).residual for row in ranked]
    )
    error = residuals.std(ddof=1) / np.sqrt(residuals.size)
    bound = stats.t.isf(0.5 * _FALSE_FAIL, residuals.size - 1)
    assert abs(residuals.mean()) <= bound * error
    wrong = queueing.RankStreams(
        streams.uniform_rate, streams.rank_rates + 0.02 * scale, streams.service_rate
    )
    idle = run.estimate("idle_servers")
    shifted = queueing.busy_identity(wrong, idle_servers=0.0).right / scale
    assert abs(idle.value - shifted) > 5.0 * idle.std_error


def test_two_servers_tie_as_often_as_their_identity_says():
    """P(tie) of two servers in closed form; false-fail rate 1e-6, detects .01."""
    system = System([1.0, 1.0], 1.5)
    policy = Marginal(RankBased([0.7, 0.3]), fraction=0.4)
    streams = resolve_subject(system, policy).streams
    for engine, horizon in (("markov", 5e4), ("leap", 2e4)):
        run = queueing.long_run(
            system, policy, horizon=horizon, warmup=100.0, replicas=8, seed=32, engine=engine
        )
        exact = queueing.two_server_tie_identity(streams, prob_tie=0.0).right
        _assert_close(run.estimate("prob_tie"), exact, 0.02)


_PAUSED = {
    8: [1.95802, 1.09732, 1.34703, 24.7335, 9.79759],
    16: [3.11506, 1.63936, 1.78673, 97.3323, 29.0984],
}


@pytest.mark.parametrize("n", [8, 16])
def test_the_paused_system_has_its_geometric_law(n):
    """Means of the table, and the joint law of the two lowest gaps; false-fail rate 1e-6 each."""
    regime = queueing.extreme_congestion(n=n, a=2.0, b=1.0).with_pauses()
    run = queueing.long_run(
        regime,
        horizon=n * 500.0,
        warmup=0.0,
        initial="stationary",
        replicas=24,
        seed=33,
        observe={"joint": _empty_and_tied},
        progress=False,
    )
    assert run.attrs["engine"] == "pauses"
    law = regime.stationary_gaps()
    gaps = run.estimate("gaps")
    _assert_close(gaps, law.mean, 0.6 * law.mean)
    lowest, second, third, imbalance, mean_queue = _PAUSED[n]
    np.testing.assert_allclose(law.mean[:3], [lowest, second, third], rtol=1e-5)
    _assert_close(run.estimate("imbalance"), imbalance, 0.6 * imbalance)
    _assert_close(run.estimate("total"), n * mean_queue, 0.6 * n * mean_queue)
    empty, tied = 1.0 - law.ratios[:2]
    _assert_close(run.estimate("joint"), [empty, empty * tied, tied], 0.04)
    assert np.all(run.values("num_arrivals") - run.values("num_lost") > 0)


_ORIGINAL = {
    8: {"lowest": (2.476, 0.003), "second": (1.6467, 0.0007), "third": (1.8287, 0.0007),
        "imbalance": (28.19, 0.03), "mean_queue": (12.058, 0.008), "empty": (0.2771, 0.0002),
        "tie": (0.2519, 0.0001)},
    16: {"lowest": (3.702, 0.013), "second": (2.202, 0.003), "third": (2.272, 0.003),
         "imbalance": (104.8, 0.4), "mean_queue": (33.42, 0.06), "empty": (0.2062, 0.0005),
         "tie": (0.1975, 0.0002)},
}  # fmt: skip


@pytest.mark.parametrize(("n", "engine"), [(8, "markov"), (8, "leap"), (16, "leap")])
def test_the_original_chain_has_its_tabulated_means(n, engine):
    """Oracle: a simulation of 2e9 events with its errors; false-fail rate 1e-6 over 7 values.

    The means of the paused system, which has the same limit, are rejected.
    """
    regime = queueing.extreme_congestion(n=n, a=2.0, b=1.0)
    run = queueing.long_run(
        regime,
        horizon=3e3,
        warmup=300.0,
        initial="stationary",
        replicas=24,
        seed=34,
        engine=engine,
        observe={"empty": _is_empty},
        progress=False,
    )
    gaps, total, tie = (run.estimate(name) for name in ("gaps", "total", "prob_tie"))
    found = {
        "lowest": (gaps.value[0], gaps.std_error[0]),
        "second": (gaps.value[1], gaps.std_error[1]),
        "third": (gaps.value[2], gaps.std_error[2]),
        "imbalance": (run.estimate("imbalance").value, run.estimate("imbalance").std_error),
        "mean_queue": (total.value / n, total.std_error / n),
        "empty": (run.estimate("empty").value, run.estimate("empty").std_error),
        "tie": (tie.value, tie.std_error),
    }
    bound = stats.t.isf(0.5 * _FALSE_FAIL / 7, 23)
    for name, (value, error) in found.items():
        exact, exact_error = _ORIGINAL[n][name]
        assert abs(value - exact) <= bound * np.hypot(error, exact_error), (name, value, exact)
    paused = regime.with_pauses().stationary_gaps().mean[1]
    assert abs(gaps.value[1] - paused) > bound * gaps.std_error[1]
    mean_queue = regime.mean_queue(gaps.value[0])
    assert abs(total.value / n - mean_queue) <= bound * total.std_error / n


@numba.njit
def _is_empty(ranked):
    return ranked[0] == 0


@numba.njit
def _empty_and_tied(ranked):
    empty, tied = ranked[0] == 0, ranked[1] == ranked[0]
    return np.array([empty, empty and tied, tied])


@pytest.mark.slow
def test_a_start_from_the_paused_law_is_rejected_by_its_idle_servers():
    """n = 100: idle servers (a-b)/sqrt(n) = .1 from the product law, .118 from the paused law.

    Both starts last much longer than the run; false-fail rate 1e-6 (Student, 639 replicas), detects
    .012.
    """
    regime = queueing.extreme_congestion(n=100, a=2.0, b=1.0)
    starts = {"product": "stationary", "paused": regime.with_pauses().stationary_gaps()}
    errors = {}
    for name, initial in starts.items():
        run = queueing.long_run(
            regime, horizon=520.0, warmup=20.0, initial=initial, replicas=640, seed=35,
            num_ranks=1, progress=False,
        )  # fmt: skip
        idle = run.estimate("idle_servers")
        errors[name] = (idle.value - regime.idle_servers) / idle.std_error
    bound = stats.t.isf(0.5 * _FALSE_FAIL, 639)
    assert abs(errors["product"]) < bound
    assert errors["paused"] > bound
