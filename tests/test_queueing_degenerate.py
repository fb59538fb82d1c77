"""C10: rates that are 0, one server, one choice: no hang, no NaN, no negative queue."""

import numpy as np
import pytest

import queueing
from queueing import (
    JSQ,
    Marginal,
    PowerOfD,
    Random,
    RankBased,
    RateProportional,
    System,
)
from tests.policy_examples import policy_examples


def _policies(size):
    probs = np.full(size, 1.0 / size)
    return [
        Random(),
        RateProportional(),
        JSQ(),
        PowerOfD(1),
        PowerOfD(size),
        RankBased(probs),
        Marginal(JSQ(), rate=0.0),
        Marginal(JSQ(), fraction=0.5),
        Marginal(JSQ(), fraction=1.0),
        Marginal(PowerOfD(size), fraction=0.0, base=JSQ()),
    ]


_SYSTEMS = {
    "no arrivals": System([1.0, 2.0], 0.0),
    "one rate 0": System([1.0, 0.0], 0.3),
    "one server": System([1.0], 0.5),
    "no services": System([0.0, 0.0], 0.0),
    "tiny rates": System([1e-300, 1e-300], 1e-301),
    "huge rates": System([1e12, 1e12], 1e12),
    "buffer of one": System([1.0, 1.0], 3.0, buffer=1),
    "far apart": System([1e6, 1e-6], 0.5),
}


def _registered(size):
    return list(policy_examples(size).values())


by_policies = pytest.mark.parametrize(
    "policies", [_policies, pytest.param(_registered, marks=pytest.mark.slow)]
)


def _can_leap(system, policy):
    return system.buffer is None and policy.law(system) is not None


@by_policies
@pytest.mark.parametrize("name", _SYSTEMS)
def test_snapshots_of_degenerate_systems(name, policies):
    system = _SYSTEMS[name]
    for policy in policies(system.num_servers):
        if isinstance(policy, RateProportional) and not system.service_rates.any():
            continue
        if isinstance(policy, Marginal) and policy.rate == 0.0:
            assert policy.messages_per_job(system) == 0.0
        for engine in ("markov", "leap") if _can_leap(system, policy) else ("markov",):
            duration = 1e-7 if name == "huge rates" else 3.0
            out = queueing.simulate(
                system, policy, times=[0.0, duration], replicas=2, seed=1, engine=engine,
                initial=np.ones(system.num_servers), progress=False,
            )  # fmt: skip
            assert out.lengths.min() >= 0
            assert out.lengths.max() < 10**6
            if system.arrival_rate == 0.0:
                assert np.all(out.lengths[1] <= out.lengths[0])
            if system.buffer is not None:
                assert out.lengths.max() <= system.buffer


@pytest.mark.parametrize("name", ["no arrivals", "one rate 0", "one server", "buffer of one"])
@by_policies
def test_averages_of_degenerate_systems_are_finite(name, policies):
    system = _SYSTEMS[name]
    for policy in policies(system.num_servers):
        run = queueing.long_run(
            system, policy, horizon=30.0, seed=2, throw=False, engine="markov", progress=False
        )
        for variable in run.names:
            if variable in ("wait", "response", "time_to_service") and name == "one rate 0":
                # A job behind a server that never works waits for ever.
                assert run.estimate(variable).value >= 0.0
                continue
            assert np.isfinite(run.estimate(variable).value).all(), variable
        if system.arrival_rate == 0.0:
            assert run.estimate("total").value == 0.0
            with pytest.raises(ValueError, match="arrival_rate is 0"):
                run.estimate("wait")


def test_a_system_that_nothing_moves_stays_as_it_is():
    still = System([0.0, 0.0], 0.0)
    for engine in ("markov", "leap", "auto"):
        out = queueing.simulate(still, JSQ(), horizon=1e9, initial=[3, 5], seed=3, engine=engine)
        assert out.lengths.tolist() == [[[3, 5]]]
    paused = queueing.PausedSystem([0.0, 0.0], [0.0, 0.0])
    out = queueing.simulate(paused, horizon=1e9, initial=[3, 5], seed=3)
    assert out.lengths.tolist() == [[[3, 5]]]


def test_regimes_without_a_marginal_stream_and_of_one_server():
    """b = 0 and n = 1: no stationary law is asked for, so they run."""
    for subject in (
        queueing.extreme_congestion(n=5, a=2.0, b=0.0),
        queueing.extreme_congestion(n=1, a=0.5, b=0.2),
        queueing.heavy_traffic(num_servers=1, n=25, slack=1.0, b=1.0),
        queueing.heavy_traffic(num_servers=3, n=25, slack=1.0, b=0.0),
    ):
        for engine in ("markov", "leap", "auto"):
            out = queueing.simulate(subject, horizon=1.0, seed=4, engine=engine)
            assert out.lengths.min() >= 0
        paused = queueing.simulate(subject.with_pauses(), horizon=1.0, seed=4)
        assert np.all(np.diff(paused.lengths[0, 0]) >= 0)


def test_instant_services_leave_arrivals_uniform():
    """C8: all empty, services a million times faster than 1e5 arrivals under JSQ: counts uniform.

    Chi-square with 7 degrees of freedom below its 1e-6 quantile; one server with .13 instead of
    .125 would be seen.
    """
    size, horizon = 8, 100.0
    system = System(np.full(size, 1e4), 1e3)
    run = queueing.long_run(system, JSQ(), horizon=horizon, warmup=0.0, replicas=1, seed=5)
    counts = run.values("throughput")[0] * horizon
    expected = counts.sum() / size
    assert ((counts - expected) ** 2 / expected).sum() < 40.5
    assert abs(counts.sum() - 1e5) < 6.0 * np.sqrt(1e5)


def test_long_queues_do_not_wrap():
    """64-bit lengths: far above 2^31, up and down."""
    start = [2**40, 2**40 + 7]
    policy = Marginal(JSQ(), fraction=0.5)
    out = queueing.simulate(
        System([5.0, 5.0], 4.0), policy, horizon=100.0, initial=start, seed=6, engine="leap"
    )
    change = out.lengths[0, 0] - np.array(start)
    assert np.all(np.abs(change + 300.0) < 300.0)


def test_queues_beyond_the_memory_of_the_event_loop_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="engine='leap'"):
        queueing.simulate(
            System([1.0, 1.0], 1.0), JSQ(), horizon=1.0, initial=[2**45, 0], engine="markov"
        )
