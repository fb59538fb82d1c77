"""`long_run`: averages over time and over jobs, their errors, their warm-up and their accounts."""

import numba
import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import JSQ, Marginal, PowerOfD, Random, RateProportional, System

_FARM = System([1.0, 0.5, 0.5], 1.4, buffer=5)
_P0 = queueing.extreme_congestion(n=9, a=3.0, b=2.0)


def _z_values(run, exact, names):
    """Differences, errors and degrees of freedom, entry by entry."""
    for name in names:
        estimate, value = run.estimate(name), np.ravel(exact.mean(name))
        # Occupancy: the levels that both know.
        size = min(np.size(estimate.value), value.size)
        difference = np.ravel(estimate.value)[:size] - value[:size]
        yield name, difference, np.ravel(estimate.std_error)[:size], np.ravel(estimate.dof)[:size]


def _assert_exact(run, exact, names, false_fail=1e-6):
    count = sum(len(rest[0]) for _, *rest in _z_values(run, exact, names))
    for name, difference, error, dof in _z_values(run, exact, names):
        bound = stats.t.isf(0.5 * false_fail / count, dof) * error
        assert np.all(np.abs(difference) <= bound + 1e-12), name


_STATE = [
    "lengths", "lengths_ranked", "gaps", "total", "imbalance", "occupancy", "idle_servers",
    "prob_tie", "utilisation", "throughput",
]  # fmt: skip
_JOBS = ["prob_wait", "prob_loss", "wait", "response", "time_to_service", "messages_per_job"]


def test_every_observable_is_that_of_the_oracle():
    """Unlike servers with a buffer, event by event; false-fail rate 1e-6 over all entries.

    Detects 1 % of a mean. The oracle of a system with 3 % more arrivals is rejected.
    """
    policy = Marginal(PowerOfD(2), fraction=0.7, base=RateProportional())
    run = queueing.long_run(
        _FARM,
        policy,
        horizon=8e4,
        warmup=50.0,
        replicas=24,
        seed=41,
        observe={"square": lambda q: q[0] * q[2]},
        progress=False,
    )
    observe = {"square": lambda q: q[0] * q[2]}
    exact = queueing.exact_stationary(_FARM, policy, max_length=5, observe=observe)
    _assert_exact(run, exact, [*_STATE, *_JOBS, "square"])
    assert np.all(run.estimate("lengths").std_error < 0.003 * exact.mean("lengths"))
    more = System(_FARM.service_rates, 1.03 * _FARM.arrival_rate, buffer=5)
    wrong = queueing.exact_stationary(more, policy, max_length=5)
    with pytest.raises(AssertionError):
        _assert_exact(run, wrong, ["lengths"])


def test_leaps_see_job_averages_through_the_states_that_arrivals_find():
    """PASTA: waits of servers of one rate from the states; false-fail rate 1e-6."""
    system = System([1.0, 1.0, 1.0], 2.1)
    policy = Marginal(PowerOfD(2), fraction=0.2)
    run = queueing.long_run(
        system, policy, horizon=1e4, warmup=100.0, replicas=24, seed=42, engine="leap", num_levels=8
    )
    exact = queueing.exact_stationary(system, policy, max_length=40)
    _assert_exact(run, exact, [*_STATE, *_JOBS])
    with pytest.raises(ValueError, match="leaps over arrivals uncounted"):
        run.estimate("num_arrivals")
    unlike = System([1.0, 0.8, 1.2], 2.1)
    other = queueing.long_run(unlike, policy, horizon=5e3, seed=42, engine="leap")
    with pytest.raises(ValueError, match="unequal service rates"):
        other.estimate("wait")
    exact = queueing.exact_stationary(unlike, policy, max_length=25)
    many = queueing.long_run(
        unlike, policy, horizon=1e4, warmup=100.0, replicas=24, seed=43, engine="leap", num_levels=8
    )
    _assert_exact(many, exact, [*_STATE, "prob_wait"])


def test_time_averages_and_event_averages_have_two_names():
    """C3: M/M/1 at load 1/2: 1 over time, 3/2 over the states that events leave behind."""
    run = queueing.long_run(
        System([1.0], 0.5), Random(), horizon=5e4, warmup=50.0, replicas=24, seed=44
    )
    for name, exact in (("total", 1.0), ("total_at_events", 1.5), ("prob_wait", 0.5)):
        estimate = run.estimate(name)
        assert abs(estimate.value - exact) < stats.t.isf(1e-7, estimate.dof) * estimate.std_error
        assert estimate.std_error < 0.01


@pytest.mark.parametrize("subject", ["farm", "paused"])
def test_jobs_are_conserved_exactly(subject):
    """C9: arrivals = departures + in system + lost, in every replica, warm-up included."""
    system, policy = (_FARM, JSQ()) if subject == "farm" else (_P0.with_pauses(), None)
    initial = "empty" if subject == "farm" else "stationary"
    for warmup in ("mser5", 0.0, 10.0):
        run = queueing.long_run(
            system, policy, horizon=1e3, warmup=warmup, initial=initial, replicas=4, seed=45
        )
        flow = {
            name: run.values(name)
            for name in (
                "num_arrivals",
                "num_departures",
                "num_lost",
                "initial_total",
                "final_total",
            )
        }
        inside = flow["final_total"] - flow["initial_total"]
        np.testing.assert_array_equal(
            flow["num_arrivals"], flow["num_departures"] + inside + flow["num_lost"]
        )
        assert np.all(flow["num_lost"] > 0)
        assert flow["num_arrivals"].dtype == np.int64


def test_arrivals_come_at_their_rate_over_a_long_clock():
    """C4: 1e7 events to t = 2e6: the count of arrivals tells the clock's error, 6 sigma.

    The count is Poisson with mean 5e6, so an error of 3e-3 of the clock would show; that there is
    no running sum of times is why there is none at 1e-6.
    """
    system = System([2.5], 2.5 * 0.999)
    run = queueing.long_run(
        system, Random(), horizon=2e6, warmup=0.0, seed=46, throw=False, progress=False
    )
    expected = system.arrival_rate * 2e6
    assert abs(run.values("num_arrivals")[0] - expected) < 6.0 * np.sqrt(expected)
    assert run.attrs["horizon"] == 2e6


def test_a_replica_is_the_same_in_any_batch():
    """C5, C6."""
    settings = {"horizon": 50.0, "warmup": 0.0, "seed": 47, "progress": False}
    for subject, policy in ((_FARM, JSQ()), (_P0, None), (_P0.with_pauses(), None)):
        whole = queueing.long_run(subject, policy, replicas=6, **settings)
        chunked = queueing.long_run(subject, policy, replicas=6, chunk=4, num_threads=2, **settings)
        part = queueing.long_run(subject, policy, replicas=range(2, 5), **settings)
        for name in ("lengths_ranked", "occupancy", "final_total"):
            np.testing.assert_array_equal(chunked.values(name), whole.values(name))
            np.testing.assert_array_equal(part.values(name), whole.values(name)[2:5])
        assert len(np.unique(whole.values("total"))) == 6


def test_compiled_observables_agree_with_plain_ones():
    @numba.njit
    def compiled(ranked):
        return ranked[0] * ranked[1]

    @numba.njit
    def vector(ranked):
        return ranked[:2] * 1.0

    observe = {"plain": lambda q: q[0] * q[1], "compiled": compiled, "vector": vector}
    run = queueing.long_run(
        _FARM, JSQ(), horizon=2e3, warmup=0.0, replicas=3, seed=48, observe=observe
    )
    np.testing.assert_allclose(run.values("compiled"), run.values("plain"), rtol=1e-12)
    assert run.values("vector").shape == (3, 2)
    assert run.variables["vector"].dims == ("replica", "vector_0")
    # Sampled means of ranks beside the exact integrals of the same run.
    error = run.values("vector") - run.values("lengths_ranked")[:, :2]
    assert np.all(np.abs(error) < 0.1)


def test_the_warm_up_is_cut_by_its_rule():
    """Far from stationarity "mser5" cuts, at most half, and what is left is unbiased."""
    system = System([1.0, 1.0], 1.6)
    far = {"initial": [400, 400], "replicas": 8, "seed": 49, "horizon": 8e3}
    run = queueing.long_run(system, JSQ(), **far)
    cuts = run.values("warmup_cut")
    assert np.all((cuts >= 0.25 * 8e3) & (cuts <= 0.5 * 8e3))
    exact = queueing.exact_stationary(system, JSQ(), max_length=80).mean("total")
    estimate = run.estimate("total")
    assert abs(estimate.value - exact) < stats.t.isf(1e-7, estimate.dof) * estimate.std_error
    uncut = queueing.long_run(system, JSQ(), warmup=0.0, **far).estimate("total")
    assert uncut.value > exact + 20.0
    fixed = queueing.long_run(system, JSQ(), warmup=3e3, **far)
    assert np.all(fixed.values("warmup_cut") == 3e3)


def test_many_replicas_make_errors_by_themselves():
    run = queueing.long_run(_FARM, JSQ(), horizon=50.0, warmup=5.0, replicas=25, seed=50)
    assert run.attrs["num_groups"] == 1
    rows = run.values("total")
    estimate = run.estimate("total")
    assert estimate.dof == 24
    assert estimate.std_error == pytest.approx(rows.std(ddof=1) / 5.0)
    single = queueing.long_run(_FARM, JSQ(), horizon=500.0, warmup=5.0, seed=50)
    assert single.estimate("total").dof == 19
    assert single.estimate("wait").dof == 19


def test_results_are_stored_and_read_again(tmp_path):
    run = queueing.long_run(
        _P0, horizon=300.0, replicas=3, seed=51, initial="stationary", engine="leap"
    )
    loaded = queueing.LongRun.load(run.save(tmp_path / "run.nc"))
    for name in run.names:
        first, second = run.estimate(name), loaded.estimate(name)
        np.testing.assert_array_equal(first.value, second.value)
        np.testing.assert_array_equal(first.std_error, second.std_error)
    with pytest.raises(ValueError, match="uncounted"):
        loaded.estimate("num_arrivals")
    dataset = run.to_xarray()
    assert dataset["tied_block_drift"].dims == ("replica", "bound")
    assert dataset["bound"].values[0] == 0
    assert dataset["scaled_gaps"].dims == ("replica", "gap")
    assert "product-exponential" in dataset.attrs["initial"]


def test_an_interrupted_run_keeps_what_is_finished():
    """Ctrl-C between chunks: the replicas so far, as one result."""
    calls = []

    def interrupt_at_last(ranked):
        calls.append(0)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return ranked[0]

    with pytest.raises(queueing.RunInterrupted) as caught:
        queueing.simulate(
            _FARM, JSQ(), horizon=1.0, replicas=6, chunk=1, num_threads=1, seed=52,
            observe={"lowest": interrupt_at_last}, progress=False,
        )  # fmt: skip
    result = caught.value.result
    whole = queueing.simulate(_FARM, JSQ(), horizon=1.0, replicas=3, seed=52)
    np.testing.assert_array_equal(result.lengths, whole.lengths)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": 0.0}, "horizon is 0.0"),
        ({"horizon": -1.0}, "horizon is -1.0"),
        ({"horizon": np.inf}, "horizon is inf"),
        ({"horizon": "long"}, "horizon is 'long'"),
        ({"warmup": "mser"}, "warmup is 'mser'"),
        ({"warmup": -1.0}, "warmup is -1.0"),
        ({"warmup": 10.0}, "warmup is 10.0"),
        ({"warmup": None}, "warmup is None"),
        ({"engine": "calender"}, "engine is 'calender'"),
        ({"engine": "leap"}, "buffer is 5"),
        ({"num_ranks": 9}, "num_ranks is 9"),
        ({"observe": {"wait": len}}, "observe has 'wait'"),
        ({"observe": {"mine": len}, "store": "x"}, "observe function"),
        ({"store": 5}, "store must be .* got 5"),
        ({"throw": None}, "throw is None"),
        ({"initial": "stationary"}, "give a regime"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        queueing.long_run(_FARM, JSQ(), **{"horizon": 10.0, "seed": 1, **settings})


@pytest.mark.parametrize(
    ("subject", "policy", "message"),
    [
        (System([1.0, 1.0], 2.0), JSQ(), "the load is 1"),
        (System([2.0, 0.5], 2.0), Random(), "server 1 receives at least 1"),
        (System([1.0, 1.0], 1.6), queueing.RankBased([0.2, 0.8]), "ranks 2 and above"),
        (queueing.extreme_congestion(n=9, a=1.0, b=2.0), None, "the load is"),
        (queueing.heavy_traffic(3, 25, -1.0, 1.0), None, "the load is"),
        (queueing.PausedSystem([1.0, 3.0], [2.0, 2.0]), None, "rho_2"),
    ],
)
def test_queues_that_grow_for_ever_have_no_averages(subject, policy, message):
    """Refused unless the caller wants the averages of this horizon, and then said in the result."""
    with pytest.raises(queueing.UnstableError, match=message):
        queueing.long_run(subject, policy, horizon=10.0, seed=1)
    run = queueing.long_run(
        subject, policy, horizon=10.0, warmup=0.0, seed=1, throw=False, progress=False
    )
    assert run.attrs["result"].startswith("unstable")
    assert np.isfinite(run.values("total")).all()


def test_leaps_that_are_hardly_seen_are_refused():
    with pytest.raises(ValueError, match="special arrivals find, of which about"):
        queueing.long_run(_P0, horizon=1.0, seed=1, engine="leap")


@pytest.mark.parametrize(("n", "horizon"), [(100, 100.0), (1000, 1.0), (16, 0.5)])
def test_auto_takes_events_where_windows_are_short_for_leaps(n, horizon):
    regime = queueing.extreme_congestion(n=n, a=2.0, b=1.0)
    settings = {"horizon": horizon, "initial": "stationary", "seed": 1, "progress": False}
    run = queueing.long_run(regime, **settings)
    assert run.attrs["engine"] == "markov"
    assert np.isfinite(run.estimate("lengths_ranked").value).all()
    with pytest.raises(ValueError, match="raise horizon, or use engine='markov'"):
        queueing.long_run(regime, engine="leap", **settings)


def test_auto_leaps_where_windows_are_long_or_events_too_many():
    small = queueing.extreme_congestion(n=100, a=2.0, b=1.0)
    assert queueing.long_run(small, horizon=2e4, seed=1, progress=False).attrs["engine"] == "leap"
    large = queueing.extreme_congestion(n=100_000, a=2.0, b=1.0)
    with pytest.raises(ValueError, match="raise horizon"):
        queueing.long_run(large, horizon=1.0, seed=1, progress=False)
