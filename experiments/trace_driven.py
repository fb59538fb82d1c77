"""A farm driven by its own bursty trace, against a renewal stream of equal mean and variability.

Bursty arrivals (a Markov-modulated stream) and lognormal services are written as CSV, one file for
each replica, and read back as a user's files would be. Each trace is replayed, and so is its
surrogate: independent interarrival times drawn from the trace, of the same mean and scv c_e^2. The
heavy-traffic formula with c_e^2 holds for the surrogate. The trace's queues are several times as
long: in the limit lim Var N / E N takes the place of c_e^2. Away from the limit bursts that are
short beside the farm's idle times count for less, so that the formula overstates the queues: by how
much is in the table and the figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ._frame import Claim, Experiment, Outcome
from ._slack_limit import Limit, fit_lines, limit_of_lines
from ._trace_driven_figure import draw
from ._trace_driven_runs import (
    BURSTY,
    SERVICE,
    Replays,
    TraceMaker,
    formula,
    make_traces,
    replay,
)


@dataclass(frozen=True)
class Settings:
    num_servers: int = 4
    """Servers K, of rate 1."""
    slacks: tuple[float, ...] = (0.25, 0.4, 0.6, 1.0, 1.6)
    """Slacks r of the arrival rate K - r, ascending, at least three."""
    jobs: int = 400_000
    """Jobs of each trace."""
    traces: int = 48
    """How many traces are written and read."""

    def __post_init__(self) -> None:
        if len(self.slacks) < 3 or list(self.slacks) != sorted(set(self.slacks)):
            raise ValueError(f"slacks are {self.slacks}: at least three, ascending")
        if not 0 < self.slacks[0] < self.slacks[-1] < self.num_servers:
            raise ValueError(f"slacks are {self.slacks}: above 0 and below num_servers")
        if self.traces < 20 or self.jobs < 1000:
            raise ValueError("give at least 20 traces of at least 1000 jobs, for an error")


@dataclass(frozen=True)
class Runs:
    """All that was simulated.

    Arguments:
        settings: as given.
        replays: one for each slack, ascending.
        unequal: values of the files that came back other than they were written.
    """

    settings: Settings
    replays: list[Replays]
    unequal: int

    def limit(self, ratio: Callable[[Replays], np.ndarray]) -> Limit:
        """The limit of the mean over traces of a number, as r falls to 0.

        Each trace is replayed at every r, so that errors come from what lines make of it.
        """
        slacks = np.array([each.r for each in self.replays])
        samples = np.array([ratio(each) for each in self.replays])
        root = samples.shape[1] ** 0.5
        lines = fit_lines(slacks, samples.std(axis=1, ddof=1) / root)
        error = float((lines[0].weights @ samples).std(ddof=1) / root)
        return limit_of_lines(lines, samples.mean(axis=1), error)


def simulate(settings: Settings, *, seed: int, make: TraceMaker = make_traces) -> Runs:
    """Write, read and replay; `make` gives the traces as read, and what they should be."""
    traces, unequal = make(settings.traces, settings.jobs, seed=seed)
    replays = [
        replay(traces, settings.num_servers, r, seed=seed, place=place)
        for place, r in enumerate(settings.slacks)
    ]
    return Runs(settings, replays, unequal)


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    least = runs.replays[0]
    factor = float(least.trace.mean() / least.surrogate.mean())
    notes = [
        f"At r = {least.r:g} the traces' queues are {factor:.3g} times those of the surrogates, "
        f"with the same scv {least.scv.mean():.3g} of one interarrival time.",
    ]
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), notes)


def rows(runs: Runs) -> Iterator[dict[str, float]]:
    for each in runs.replays:
        count = each.trace.size
        yield {
            "r": each.r,
            "trace": float(each.trace.mean()),
            "trace_error": float(each.trace.std(ddof=1) / count**0.5),
            "surrogate": float(each.surrogate.mean()),
            "surrogate_error": float(each.surrogate.std(ddof=1) / count**0.5),
            "formula_scv": float(formula(each.scv, SERVICE.scv).mean()),
            "formula_limit": formula(BURSTY.asymptotic_scv, SERVICE.scv),
        }


def all_claims(runs: Runs) -> Iterator[Claim]:
    dof = runs.settings.traces - 1
    yield Claim(
        "P3.1",
        "A trace comes back from its file as it was written.",
        "values that differ, of all",
        runs.unequal,
        0.0,
        0.0,
    )
    surrogate = runs.limit(lambda each: each.surrogate / formula(each.scv, SERVICE.scv))
    yield Claim(
        "P3.1",
        "The renewal surrogate of a trace follows m = (c_e^2 + c_s^2) / 2.",
        "surrogates, r -> 0: r E Z / m",
        surrogate.value,
        surrogate.std_error,
        1.0,
        surrogate.bias_bound,
        dof,
    )
    bursty = formula(BURSTY.asymptotic_scv, SERVICE.scv)
    trace = runs.limit(lambda each: each.trace / bursty)
    yield Claim(
        "P3.1",
        "A bursty trace follows the formula with lim Var N / E N in place of c_e^2.",
        "traces, r -> 0: r E Z / m",
        trace.value,
        trace.std_error,
        1.0,
        trace.bias_bound,
        dof,
    )


EXPERIMENT: Experiment[Settings] = Experiment(
    "P3", Settings(), Settings(slacks=(0.6, 0.8, 1.2, 1.6, 2.0), jobs=20_000, traces=20), run
)
