"""Simultaneous events, exact clocks and exact accounts of the calendar engine."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import queueing
from queueing import JSQ, Deterministic, Distribution, Random, RateProportional, System
from queueing._distribution import BlockStream


class _Cycle(BlockStream):
    def __init__(self, values):
        super().__init__()
        self._values = np.array(values)

    def _next_block(self):
        return self._values


@dataclass(frozen=True)
class InTurn(Distribution):
    """The given times of mean 1, again and again, in their order."""

    values: tuple[float, ...]

    @property
    def scv(self):
        return float(np.var(self.values))

    def sample(self, generator, size):
        return generator.choice(self.values, size)

    def start(self, generator):
        return _Cycle(self.values)


def brute_force(interarrivals, services, horizon, buffer, departures_first=True):
    """One server, event by event with a list of jobs: (area, waits, lost, left, inside)."""
    arrivals = np.cumsum(np.resize(interarrivals, int(horizon) * len(interarrivals)))
    arrivals, inside, area, now = deque(arrivals), deque(), 0.0, 0.0
    waits, lost, left, number = [], 0, 0, 0
    while True:
        departure = inside[0] if inside else np.inf
        is_departure = departure <= arrivals[0] if departures_first else departure < arrivals[0]
        event = departure if is_departure else arrivals[0]
        if event > horizon:
            return area + len(inside) * (horizon - now), waits, lost, left, len(inside)
        area += len(inside) * (event - now)
        now = event
        if is_departure:
            inside.popleft()
            left += 1
            continue
        arrivals.popleft()
        if len(inside) == buffer:
            lost += 1
            continue
        begin = inside[-1] if inside else now
        waits.append(begin - now)
        inside.append(begin + services[number % len(services)])
        number += 1


_INTERARRIVALS, _SERVICES = (1.0, 0.0, 2.0, 1.0), (2.0, 1.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize("buffer", [2, 3])
def test_simultaneous_events_come_in_the_documented_order(buffer):
    """C9: whole times, many at once, in a small buffer: every account is exactly that of a list of
    jobs in which departures come before arrivals; the other order loses other jobs.  There are more
    jobs than the engine draws at a time."""
    horizon = 10_000
    run = queueing.long_run(
        System([1.0], 1.0, InTurn(_SERVICES), buffer=buffer, arrivals=InTurn(_INTERARRIVALS)),
        Random(), horizon=horizon, warmup=0.0, seed=1, num_levels=3, progress=False, throw=False,
    )  # fmt: skip
    area, waits, lost, left, inside = brute_force(_INTERARRIVALS, _SERVICES, horizon, buffer)
    assert run.estimate("total").value * horizon == pytest.approx(area, rel=1e-13)
    assert run.estimate("wait").value == pytest.approx(np.mean(waits), rel=1e-13)
    found = [int(run.values(name)[0]) for name in ("num_lost", "num_departures", "final_total")]
    assert found == [lost, left, inside]
    swapped = brute_force(_INTERARRIVALS, _SERVICES, horizon, buffer, departures_first=False)
    assert swapped[2] != lost and abs(np.mean(swapped[1]) - np.mean(waits)) > 0.01


def test_two_servers_finish_as_a_job_arrives():
    """C9: deterministic arrivals and services of 1, T = 24, two jobs at the start: no job is lost,
    and every arrival finds both servers idle at the moment at which they finish."""
    system = System([1.0, 1.0], 1.0, service=Deterministic(), arrivals=Deterministic())
    out = queueing.simulate(
        system, JSQ(), times=[0.0, 0.5, 1.0, 1.5, 24.0], initial=[1, 1], replicas=8, seed=2
    )
    assert np.all(out.values("total").T == [2, 2, 1, 1, 1])
    run = queueing.long_run(system, JSQ(), horizon=24.0, warmup=0.0, seed=2, throw=False)
    assert int(run.values("num_arrivals")[0]) == 24
    assert run.estimate("prob_wait").value == 0.0
    assert run.estimate("total").value == pytest.approx(23.0 / 24.0, rel=1e-12)


def test_the_clock_neither_freezes_nor_drifts():
    """C4: 1.2e6 deterministic events to t = 4e9 are all counted and no wait appears; times that
    are no binary fractions (rate 1/10) are as exact."""
    for rate, horizon in ((2.0**-13, 4e9), (0.1, 4e6)):
        system = System([rate], rate, service=Deterministic(), arrivals=Deterministic())
        run = queueing.long_run(
            system, Random(), horizon=horizon, warmup=0.0, seed=1, throw=False, progress=False
        )
        expected = horizon * rate
        assert abs(int(run.values("num_arrivals")[0]) - expected) <= 1
        assert run.estimate("wait").value <= 1e-12 * horizon
        assert run.estimate("total").value == pytest.approx(1.0 - 1.0 / expected, rel=1e-9)


def test_a_replica_is_the_same_in_any_batch_at_any_save_times_and_threads():
    """C5, C6: replicas differ, and neither batches, threads nor times of saving change them."""
    system = System([1.0, 2.0], 2.0, service=queueing.Erlang(3), arrivals=queueing.Erlang(2))

    def lengths(times, replicas, threads=1):
        out = queueing.simulate(
            system, JSQ(), times=times, replicas=replicas, seed=3, num_threads=threads
        )
        return out.lengths[-1]

    whole = lengths([4e4], 4)
    np.testing.assert_array_equal(whole[2:], lengths([4e4], range(2, 4)))
    np.testing.assert_array_equal(whole, lengths([0.1, 7.0, 3e4, 4e4, 4e4], 4, threads=2))
    assert len(np.unique(lengths([50.0], 32), axis=0)) > 4
    runs = [
        queueing.long_run(
            system, JSQ(), horizon=500.0, replicas=4, seed=3, num_threads=threads, chunk=chunk
        )
        for threads, chunk in ((1, None), (2, 3))
    ]
    for name in ("total", "wait", "prob_wait", "occupancy"):
        np.testing.assert_array_equal(runs[0].values(name), runs[1].values(name))


def test_time_and_event_averages_have_different_names():
    """C3: M/M/1 at load 1/2, 1.0 over time and 1.5 over the states that events leave; 6 sigma."""
    run = queueing.long_run(
        System([1.0], 0.5), Random(), horizon=2e4, replicas=8, seed=4, engine="calendar"
    )
    time, events = run.estimate("total"), run.estimate("total_at_events")
    assert abs(time.value - 1.0) < 6.0 * time.std_error < 0.2
    assert abs(events.value - 1.5) < 6.0 * events.std_error < 0.2


_DEGENERATE = {
    "no arrivals": System([1.0, 2.0], 0.0),
    "one rate 0": System([1.0, 0.0], 0.3, service=Deterministic()),
    "no services": System([0.0, 0.0], 0.0),
    "tiny rates": System([1e-300, 1e-300], 1e-301),
    "huge rates": System([1e12, 1e12], 1e12),
    "buffer of one": System([1.0, 1.0], 3.0, buffer=1, service=queueing.Erlang(2)),
    "far apart": System([1e6, 1e-6], 0.5),
}


@pytest.mark.parametrize("name", _DEGENERATE)
def test_degenerate_systems_run(name):
    """C10: no hang, no NaN, no negative queue; jobs are conserved."""
    system = _DEGENERATE[name]
    policies = [JSQ(), Random()]
    policies += [RateProportional()] if system.service_rates.any() else []
    horizon = 1e-7 if name == "huge rates" else 30.0
    for policy in policies:
        out = queueing.simulate(
            system, policy, times=[0.0, horizon / 2, horizon], initial=[1, 1], seed=1,
            engine="calendar", progress=False,
        )  # fmt: skip
        assert out.lengths.min() >= 0
        assert system.buffer is None or out.lengths.max() <= system.buffer
        run = queueing.long_run(
            system, policy, horizon=horizon, initial=[1, 1], seed=1, engine="calendar",
            throw=False, progress=False,
        )  # fmt: skip
        counts = {n: int(run.values(n)[0]) for n in run.names if run.values(n).dtype.kind == "i"}
        came = counts["initial_total"] + counts["num_arrivals"] - counts["num_lost"]
        assert came == counts["num_departures"] + counts["final_total"]
        for variable in ("total", "lengths", "utilisation", "occupancy", "idle_servers"):
            value = run.estimate(variable).value
            assert np.isfinite(value).all() and np.all(value >= -1e-12), variable
        if name == "one rate 0":
            assert run.estimate("utilisation").value[1] == 1.0


def test_queues_beyond_memory_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="shorter queues"):
        queueing.simulate(
            System([1.0], 0.5, service=Deterministic()), Random(), horizon=1.0, initial=[2**45]
        )
