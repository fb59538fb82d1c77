"""Travel times, origins and old information in the calendar engine."""

import numpy as np
import pytest
from scipy import stats

import queueing
from queueing import (
    JSQ,
    POLICIES,
    Delayed,
    Deterministic,
    Erlang,
    Exponential,
    Hyperexponential,
    Marginal,
    Nearest,
    PowerOfD,
    RankBased,
    RateProportional,
    Refreshed,
    System,
    TraceArrivals,
    Uniform,
)
from queueing._engine import ENGINES
from queueing._sampling_plan import SamplingPlan
from queueing._subject import resolve_subject

_FALSE_FAIL = 1e-6
_ORIGINS = {"travel_times": [[1.0, 4.0], [3.0, 0.5]], "origin_probs": [0.25, 0.75]}


def long_run(system, policy, horizon, replicas=16, seed=1, **options):
    return queueing.long_run(
        system, policy, horizon=horizon, warmup=horizon / 20.0, replicas=replicas, seed=seed,
        num_threads=1, progress=False, **options,
    )  # fmt: skip


def assert_close(run, name, exact, relative):
    estimate = run.estimate(name)
    bound = stats.t.isf(0.5 * _FALSE_FAIL, estimate.dof) * estimate.std_error
    assert np.all(np.abs(estimate.value - exact) <= bound), (name, estimate, exact)
    assert np.all(bound <= relative * np.abs(exact)), (name, bound)


def assert_conserved(run):
    """Exactly, in every replica: what came is lost, gone, there or on its way."""
    travelling = run.values("num_travelling") if "num_travelling" in run.names else 0
    inside = run.values("initial_total") + run.values("num_arrivals") - run.values("num_lost")
    gone = run.values("num_departures") + run.values("final_total") + travelling
    np.testing.assert_array_equal(inside, gone)


def assert_little(run, rate, relative=0.02):
    """Jobs at the stations and on their way are rate times the time that each spends there; both
    sides are of one run, so that only its ends differ."""
    spent = run.estimate("time_to_service").value - run.estimate("wait").value
    assert run.estimate("travelling").value == pytest.approx(rate * spent, rel=relative)
    total = rate * run.estimate("response").value
    assert run.estimate("total").value == pytest.approx(total, rel=3.0 * relative)


def test_no_time_to_travel_is_no_travel():
    """With travel times 0 the paths are those of the system without travel, number by number, and
    the identities of marginal JSQ hold: idle servers and P(tie) exactly, false-fail rate 1e-6."""
    policy = Marginal(JSQ(), fraction=0.4)
    plain = System([1.0, 1.0], 1.5)
    at_hand = System([1.0, 1.0], 1.5, travel_times=0.0)
    runs = [long_run(system, policy, 2000.0, engine="calendar") for system in (plain, at_hand)]
    for name in ("lengths", "wait", "prob_wait", "prob_tie", "occupancy"):
        np.testing.assert_array_equal(runs[0].values(name), runs[1].values(name))
    assert_close(runs[1], "idle_servers", 0.5, 0.2)
    # P(tie) = (mu - lambda) / (mu + lambda + beta), lambda = .45, beta = .6.
    assert_close(runs[1], "prob_tie", 0.55 / 2.05, 0.15)
    assert runs[1].estimate("travelling").value == pytest.approx(0.0, abs=1e-12)


def test_without_a_look_at_the_queues_travel_changes_nothing_there():
    """chi = 0: independent M/M/1 queues, each with its own law, whatever the travel times; mean
    wait rho/(mu (1 - rho)), time to service longer by the travel time.  False-fail rate 1e-6,
    detects 25 %."""
    regime = queueing.remote([1.0, 3.0], 0.6, [7.0, 2.0], 0.0)
    run = long_run(regime, None, 4000.0)
    assert run.attrs["engine"] == "calendar"
    assert_close(run, "lengths", np.array([1.5, 1.5]), 0.3)
    wait = 0.25 * 1.5 + 0.75 * 0.5
    assert_close(run, "wait", wait, 0.25)
    travel = 0.25 * 7.0 + 0.75 * 2.0
    assert_close(run, "time_to_service", wait + travel, 0.15)
    assert_close(run, "travelling", 2.4 * travel, 0.05)
    assert_conserved(run)
    assert_little(run, 2.4)


@pytest.mark.slow
def test_every_job_takes_the_way_from_its_origin():
    """Nearest: two M/D/1 queues fed by their origins, .25 and .75, at the shorter of the times.

    Oracle: Pollaczek-Khinchine; false-fail rate 1e-6, detects 10 %. Jobs that take the mean of the
    origins' ways would travel 1.8 rather than .625 time units.
    """
    system = System([0.5, 1.2], 1.2, service=Deterministic(), **_ORIGINS)
    run = long_run(system, Nearest(), 4000.0, seed=2)
    loads = np.array([0.3 / 0.5, 0.9 / 1.2])
    exact = loads + loads**2 / (2.0 * (1.0 - loads))
    assert_close(run, "lengths", exact, 0.3)
    assert_close(run, "utilisation", loads, 0.1)
    travel = run.estimate("time_to_service").value - run.estimate("wait").value
    assert travel == pytest.approx(0.25 * 1.0 + 0.75 * 0.5, rel=0.01)
    assert_conserved(run)
    assert_little(run, 1.2)


def test_random_times_to_travel_and_old_news_are_accounted_for():
    """Heap, board and buffer together: conservation exactly, travel times of their mean (6 sigma)
    and losses at the station."""
    system = System(
        [1.0, 1.0], 2.5, service=Erlang(2), buffer=3, travel_law=Erlang(2),
        information=Refreshed(0.7), count_travelling=True, travel_times=3.0,
    )  # fmt: skip
    run = long_run(system, JSQ(), 1000.0, seed=3)
    assert_conserved(run)
    assert np.all(run.values("num_lost") > 0)
    flying = run.estimate("travelling")
    assert abs(flying.value - 7.5) < 6.0 * flying.std_error < 1.0
    loss, throughput = run.estimate("prob_loss").value, run.estimate("throughput").value.sum()
    assert throughput == pytest.approx(2.5 * (1.0 - loss), rel=0.02)
    assert run.quantile("time_to_service", [0.5]).value[0] > run.quantile("wait", [0.5]).value[0]


def lengths_by_old_news(information, counts, way, horizon):
    """Mean lengths of two servers that never finish, by hand: at 1, 2, ... two jobs set out to the
    one that is shown shorter.  From a start of (1, 0) an odd total is shown, so never a tie."""
    start, reports = np.array([1.0, 0.0]), []
    mean = start.copy()
    for now in range(1, int(horizon) + 1):
        seen = start.copy()
        for due, server in reports:
            seen[server] += 2.0 * (due <= now)
        server = int(np.argmin(seen))
        noted = now if counts else now + way
        if isinstance(information, Refreshed):
            noted = information.period * (np.floor(noted / information.period) + 1.0)
        else:
            noted += information.delay
        reports.append((noted, server))
        mean[server] += 2.0 * (horizon - now - way) / horizon
    return mean


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("news", [Refreshed(2.5), Refreshed(0.7), Delayed(1.98), Delayed(1.02)])
def test_old_news_are_as_old_as_they_say(news, counts):
    """Exact but for ways that differ by 1e-8: news that come one refresh later, a period after
    what they tell, or 5 % too late or too early send other jobs astray."""
    arrivals = TraceArrivals([1.0, 0.0] * 10)
    system = System(
        [1e-9, 1e-9], arrivals.mean_rate, Deterministic(), arrivals=arrivals, information=news,
        travel_times=0.01, travel_law=Uniform(1e-6), count_travelling=counts,
    )  # fmt: skip
    run = queueing.long_run(
        system, JSQ(), horizon=9.5, warmup=0.0, initial=[1, 0], seed=1, throw=False, progress=False
    )
    exact = lengths_by_old_news(news, counts, 0.01, 9.5)
    np.testing.assert_allclose(run.estimate("lengths").value, exact, rtol=1e-6)


def test_the_board_shows_what_is_there_and_on_its_way():
    """Exactly, by server, with news of no age: jobs that found no room are taken off it again."""
    system = System(
        [1.0, 1.0], 2.5, Erlang(2), buffer=3, travel_law=Erlang(2), travel_times=3.0,
        information=Delayed(0.0), count_travelling=True,
    )  # fmt: skip
    plan = SamplingPlan(2, True, 1, None, {})
    start = ENGINES["calendar"].prepare(resolve_subject(system, JSQ()), plan)
    run = start(np.array([2, 0]), np.random.SeedSequence(1))
    for _ in range(5):
        run.average(50.0)
        heap = run._state.heap
        flying = np.bincount(heap.tags[: heap.size[0]], minlength=2)
        assert flying.sum() == run.flow()["travelling"]
        np.testing.assert_array_equal(run._state.shown.lengths, run.lengths() + flying)
    assert run.flow()["lost"] > 50


@pytest.mark.slow
def test_news_without_age_are_the_present():
    """Delayed(0) and very frequent refreshes give the paths, number by number, of the present."""
    options = {"service": Hyperexponential(3.0), "travel_times": [0.3, 1.1]}
    for counts in (False, True):
        present = System([1.0, 1.0], 1.6, count_travelling=counts, **options)
        runs = [
            long_run(system, PowerOfD(2), 500.0)
            for system in (
                present,
                System([1, 1], 1.6, count_travelling=counts, information=Delayed(0.0), **options),
                System(
                    [1, 1], 1.6, count_travelling=counts, information=Refreshed(1e-9), **options
                ),
            )
        ]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.values("lengths"), runs[0].values("lengths"))
            np.testing.assert_array_equal(run.values("wait"), runs[0].values("wait"))
        old = System([1, 1], 1.6, count_travelling=counts, information=Delayed(1.0), **options)
        assert np.any(long_run(old, PowerOfD(2), 500.0).values("wait") != runs[0].values("wait"))


@pytest.mark.slow
def test_counting_those_on_their_way_beats_old_news():
    """JSQ with a long way: lengths that count travellers balance, those that do not oscillate."""
    waits = [
        long_run(System([1, 1], 1.8, travel_times=20.0, count_travelling=counts), JSQ(), 2e4)
        .estimate("wait")
        .value
        for counts in (True, False)
    ]
    assert 2.0 * waits[0] < waits[1]


@pytest.mark.slow
def test_a_delayed_look_is_a_way_to_travel():
    """M/M servers: that all jobs take d to arrive, or that the policy sees lengths of d ago and
    jobs arrive at once, are the same system up to a shift of time: equal mean waits, 6 sigma."""
    policy = Marginal(JSQ(), fraction=0.3)
    travel = long_run(System([1, 1], 1.8, travel_times=5.0), policy, 4e4, replicas=32)
    delayed = long_run(System([1, 1], 1.8, information=Delayed(5.0)), policy, 4e4, replicas=32)
    one, other = travel.estimate("wait"), delayed.estimate("wait")
    error = np.hypot(one.std_error, other.std_error)
    assert abs(one.value - other.value) < 6.0 * error < 0.12 * one.value


def _policies():
    given = {
        "Marginal": Marginal(JSQ(), fraction=0.3, base=Nearest()),
        "PowerOfD": PowerOfD(2),
        "RankBased": RankBased([0.5, 0.3, 0.2]),
    }
    return {name: given[name] if name in given else kind() for name, kind in POLICIES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_conserves_jobs(name):
    """Exactly, under general laws, with and without travel, origins, buffers and old news."""
    times = [[1.0, 2.0, 3.0], [2.5, 0.5, 1.0]]
    laws = (
        Exponential(),
        Deterministic(),
        Hyperexponential(4.0),
        (Erlang(2), Erlang(3), Erlang(2)),
    )
    for law in laws:
        for extra in (
            {},
            {"buffer": 3},
            {"travel_times": times},
            {"travel_times": times, "travel_law": Exponential(), "count_travelling": True},
            {"travel_times": times, "information": Refreshed(1.0), "buffer": 2},
        ):
            system = System([1.0, 1.0, 1.0], 2.4, law, arrivals=Erlang(2), **extra)
            run = queueing.long_run(
                system, _policies()[name], horizon=60.0, warmup=0.0, replicas=2, seed=4,
                engine="calendar", throw=False, progress=False,
            )  # fmt: skip
            assert_conserved(run)
            assert np.all(run.values("num_departures") > 50)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delay", "chi", "wait"),
    [(0.0, 0.0, 18.99), (0.0, 0.1, 12.31), (0.0, 1.0, 9.43), (20.0, 0.0, 19.02),
     (20.0, 0.05, 14.71), (20.0, 0.15, 13.17), (20.0, 1.0, 23.52)],
)  # fmt: skip
def test_remote_queues_wait_as_tabulated(delay, chi, wait):
    """Oracle: simulations with errors .05 to .12; false-fail rate 1e-6, detects 10 %."""
    regime = queueing.remote([1.0, 1.0], 0.95, delay, chi)
    estimate = long_run(regime, None, 2e5, replicas=40, seed=5).estimate("wait")
    bound = 5.0 * np.hypot(estimate.std_error, 0.12)
    assert abs(estimate.value - wait) < bound < 0.1 * wait


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"travel_times": -1.0}, "travel_times is -1.0"),
        ({"travel_times": np.inf}, "travel_times is inf"),
        ({"travel_times": np.nan}, "travel_times is nan"),
        ({"travel_times": True}, "travel_times is True"),
        ({"travel_times": "far"}, "travel_times is 'far'"),
        ({"travel_times": []}, "travel_times has shape"),
        ({"travel_times": [1.0, 2.0, 3.0]}, r"travel_times has shape \(3,\)"),
        ({"travel_times": [[1.0, 2.0], [3.0, -4.0]]}, r"travel_times\[1, 1\] is -4.0"),
        ({"travel_times": [[1.0], [1.0, 2.0]]}, "travel_times"),
        ({"origin_probs": [1.0]}, "without travel_times"),
        ({"travel_times": 1.0, "origin_probs": [0.5, 0.5]}, "origin_probs has 2 entries"),
        ({"travel_times": 1.0, "origin_probs": [0.5]}, "origin_probs sums to 0.5"),
        ({"travel_times": 1.0, "origin_probs": [np.nan]}, "origin_probs"),
        ({"travel_law": Erlang(2)}, "without travel_times"),
        ({"travel_times": 1.0, "travel_law": Erlang}, "not the class"),
        ({"count_travelling": True}, "nobody is on the way"),
        ({"travel_times": 1.0, "count_travelling": 1}, "count_travelling is 1"),
        ({"information": 3.0}, "information is 3.0"),
        ({"information": Refreshed}, "an instance"),
        ({"service": [Erlang(2)]}, "1 laws for 2 servers"),
        ({"service": [Erlang(2), "slow"]}, r"service\[1\] is 'slow'"),
        ({"service": []}, "0 laws for 2 servers"),
        ({"arrivals": "poisson"}, "arrivals is 'poisson'"),
    ],
)
def test_bad_systems_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        System([1.0, 1.0], 1.0, **arguments)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Refreshed, 0.0), (Refreshed, -1.0), (Refreshed, np.nan), (Refreshed, True), (Delayed, -1.0),
     (Delayed, np.inf), (Delayed, "1"), (Delayed, None)],
)  # fmt: skip
def test_bad_ages_of_news_are_refused(kind, value):
    with pytest.raises(ValueError, match=r"(period|delay) is"):
        kind(value)


def test_other_engines_refuse_what_they_cannot_simulate():
    for extra, name in (
        ({"travel_times": 1.0}, "travel_times"),
        ({"information": Delayed(1.0)}, "information"),
        ({"arrivals": Erlang(2)}, "arrivals"),
        ({"service": [Exponential(), Erlang(2)]}, "service"),
    ):
        system = System([1.0, 1.0], 1.0, **extra)
        for engine in ("markov", "leap"):
            with pytest.raises(ValueError, match=name):
                queueing.simulate(system, JSQ(), horizon=1.0, engine=engine)
        with pytest.raises(ValueError, match=name):
            queueing.exact_stationary(system, JSQ(), max_length=3)


def test_the_nearest_station_without_travel_is_any():
    system = System([1.0, 2.0], 1.0)
    np.testing.assert_array_equal(Nearest().routing_probabilities(np.zeros(2), system), [0.5, 0.5])
    far = System([1.0, 2.0], 1.0, **_ORIGINS)
    np.testing.assert_allclose(Nearest().routing_probabilities(np.zeros(2), far), [0.25, 0.75])
    assert Nearest().sees_origins(far) and not Nearest().sees_origins(system)
    assert Marginal(JSQ(), fraction=0.1, base=Nearest()).sees_origins(far)
    assert not RateProportional().sees_origins(far)
