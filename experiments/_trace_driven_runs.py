"""Traces as files, and their replay: arrivals in order against independent ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import queueing
from queueing import JSQ, ArrivalProcess, Lognormal, MarkovModulated, System, Trace

from ._frame import spawn_seed

# Bursts of about 20 jobs at 4 times the mean rate, then about 5 jobs at a quarter of it.
BURSTY = MarkovModulated([4.0, 0.25], [[-0.2, 0.2], [0.05, -0.05]])
SERVICE = Lognormal(1.5)
_WARM_UP = 0.1

TraceMaker = Callable[..., tuple[list[Trace], int]]


@dataclass(frozen=True)
class Replays:
    """All traces at one slack.

    Arguments:
        r: the slack.
        trace: (trace,) r times the mean queue of a server, arrivals in order.
        surrogate: (trace,) the same with independent interarrival times of the trace.
        scv: (trace,) of the interarrival times.
    """

    r: float
    trace: np.ndarray
    surrogate: np.ndarray
    scv: np.ndarray


def formula(arrival_scv, service_scv: float):
    """m for servers of rate 1: half the sum of both scv."""
    return 0.5 * (arrival_scv + service_scv)


def make_traces(
    count: int, jobs: int, *, seed: int, arrivals: ArrivalProcess = BURSTY
) -> tuple[list[Trace], int]:
    """Traces that were written as CSV and read back.

    Returns:
        The traces as read, and how many of their numbers differ from those that were written.
    """
    traces, unequal = [], 0
    with TemporaryDirectory() as folder:
        for index in range(count):
            generator = np.random.default_rng(spawn_seed(seed, 0, index))
            gaps = np.empty(jobs)
            arrivals.start(generator).fill(gaps)
            written = Trace(gaps, SERVICE.sample(generator, jobs))
            read = queueing.from_trace(written.save(Path(folder) / f"trace_{index}.csv"))
            unequal += int(np.count_nonzero(read.interarrivals != written.interarrivals))
            unequal += int(np.count_nonzero(read.services != written.services))
            traces.append(read)
    return traces, unequal


def replay(traces: list[Trace], num_servers: int, r: float, *, seed: int, place: int) -> Replays:
    """Replay every trace and its surrogate at arrival rate K - r, JSQ, servers of rate 1."""
    in_order, independent = (
        np.array(
            [
                _scaled_mean(
                    trace,
                    arrivals(trace),
                    num_servers,
                    r,
                    spawn_seed(seed, which, place, index),
                )
                for index, trace in enumerate(traces)
            ]
        )
        for which, arrivals in ((1, Trace.arrivals), (2, Trace.renewal_surrogate))
    )
    scv = np.array([trace.interarrival_scv for trace in traces])
    return Replays(r, in_order, independent, scv)


def _scaled_mean(
    trace: Trace, arrivals: ArrivalProcess, num_servers: int, r: float, seed: int
) -> float:
    """r times the time average of a server's length over the trace, its beginning left out."""
    rate = num_servers - r
    system = System(np.ones(num_servers), rate, service=trace.service(), arrivals=arrivals)
    # The last arrival comes at the end of the trace; then queues would run empty.
    horizon = 0.999 * trace.interarrivals.size / rate
    run = queueing.long_run(
        system, JSQ(), horizon=horizon, warmup=_WARM_UP * horizon, seed=seed, num_threads=1
    )
    return r * float(run.estimate("total").value) / num_servers
