"""What old information is worth: refresh period and delay of a bulletin board against the wait.

Queue lengths that are shown as they were a time d ago do to the queues what a travel time d does:
Poisson arrivals that come d later are Poisson again. A board that is refreshed now and then sends
all jobs to one station until the next refresh, so that the shorter queue is good news only while
it is young.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._remote_waits import Waits, measure, shortfall
from ._stale_information_figure import draw


@dataclass(frozen=True)
class Settings:
    num_stations: int = 4
    """Stations, each of rate 1."""
    load: float = 0.9
    """Load."""
    period: tuple[float, ...] = (0.02, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
    """Ages and refresh periods, in mean services, ascending; the first is nearly the present."""
    chi: tuple[float, ...] = (0.0, 0.1, 0.3, 1.0)
    """Fractions that go to the queue that is shown as shortest, ascending from 0 to 1."""
    jobs: float = 5e6
    """Jobs of each run, all replicas together."""
    replicas: int = 32
    """Replicas of each run."""

    def __post_init__(self) -> None:
        if self.num_stations < 2 or not 0 < self.load < 1:
            raise ValueError("give at least 2 num_stations and a load between 0 and 1")
        if len(self.period) < 3 or list(self.period) != sorted(self.period):
            raise ValueError(f"period is {self.period}: give at least 3, ascending")
        if len(self.chi) < 3 or (self.chi[0], self.chi[-1]) != (0.0, 1.0):
            raise ValueError(f"chi is {self.chi}: give at least 3, from 0 to 1")
        if self.replicas < 8:
            raise ValueError(f"replicas is {self.replicas}: give at least 8, for an error")


@dataclass(frozen=True)
class Runs:
    """Waits by chi: over the refresh period, over the age, with the present, and with travel."""

    settings: Settings
    refreshed: dict[float, list[Waits]]
    delayed: dict[float, list[Waits]]
    present: dict[float, Waits]
    travel: dict[float, list[Waits]]


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    waits = [float(each.mean_wait.value) for each in runs.refreshed[1.0]]
    alone = _alone(settings)
    worse = [p for p, wait in zip(settings.period, waits, strict=True) if wait > alone]
    notes = [
        "JSQ by a board that is refreshed is worse than no information from a period of "
        f"{worse[0]:g} mean services on."
        if worse
        else "JSQ stays better than no information."
    ]
    return Outcome(list(claims(runs)), list(rows(runs)), draw(runs), notes)


def simulate(settings: Settings, *, seed: int) -> Runs:
    def stations(chi: float, travel: float, information, index: int) -> Waits:
        regime = queueing.remote(
            np.ones(settings.num_stations),
            settings.load,
            travel,
            chi,
            information=information,
        )
        seed_of_kind = spawn_seed(seed, index)
        return measure(regime, jobs=settings.jobs, replicas=settings.replicas, seed=seed_of_kind)

    # Travel and age are to be compared, so they have noise of their own.
    return Runs(
        settings,
        refreshed={
            chi: [stations(chi, 0.0, queueing.Refreshed(p), 0) for p in settings.period]
            for chi in settings.chi
        },
        delayed={
            chi: [stations(chi, 0.0, queueing.Delayed(p), 1) for p in settings.period]
            for chi in settings.chi[1:]
        },
        present={chi: stations(chi, 0.0, None, 0) for chi in settings.chi},
        travel={
            chi: [stations(chi, p, None, 2) for p in settings.period[1::2]]
            for chi in settings.chi[1:]
        },
    )


def _alone(settings: Settings) -> float:
    return settings.load / (1 - settings.load)


def claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    alone = runs.refreshed[0.0][-1].mean_wait
    yield Claim(
        "P4.1",
        "Without looking, what the board shows does not matter: M/M/1 queues.",
        f"chi=0, period {settings.period[-1]:g}: mean wait",
        float(alone.value),
        float(alone.std_error),
        _alone(settings),
        dof=float(alone.dof),
    )
    for chi, travel in runs.travel.items():
        for period, there, here in zip(
            settings.period[1::2], travel, runs.delayed[chi][1::2], strict=True
        ):
            yield Claim(
                "P4.1",
                "Information of age d and travel of time d give queues of one law.",
                f"chi={chi:g}, d={period:g}: mean wait with old information - with travel",
                float(here.mean_wait.value - there.mean_wait.value),
                float(np.hypot(here.mean_wait.std_error, there.mean_wait.std_error)),
                0.0,
                dof=float(here.mean_wait.dof),
            )
    yield from limit_claims(runs)


def limit_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    youngest, oldest = settings.period[0], settings.period[-1]
    # In so short a time a job comes with probability Lambda p, and can change at most the wait of
    # the jobs that look until the next refresh by about one service.
    allowed = settings.load * settings.num_stations * youngest
    for chi in settings.chi[1:]:
        fresh = Estimate.from_samples(runs.refreshed[chi][0].wait - runs.present[chi].wait)
        yield Claim(
            "P4.1",
            "A board that is refreshed all the time shows the present.",
            f"chi={chi:g}, period {youngest:g}: mean wait - that with present lengths",
            float(fresh.value),
            float(fresh.std_error),
            0.0,
            allowed,
            float(fresh.dof),
        )
    for name, old in (("period", runs.refreshed[1.0][-1]), ("age", runs.delayed[1.0][-1])):
        value, error, dof = shortfall(
            Estimate.from_samples(old.wait - _alone(settings)),
        )
        yield Claim(
            "P4.1",
            "JSQ by old information is worse than no information.",
            f"{name} {oldest:g}: min(0, mean wait of JSQ - that without information)",
            value,
            error,
            0.0,
            dof=dof,
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: every run with its error."""
    settings = runs.settings
    for kind, periods, table in (
        ("refreshed", settings.period, runs.refreshed),
        ("age", settings.period, runs.delayed),
        ("travel", settings.period[1::2], runs.travel),
    ):
        for chi, waits in table.items():
            for period, each in zip(periods, waits, strict=True):
                yield _row(kind, chi, period, each.mean_wait)
    for chi, each in runs.present.items():
        yield _row("present", chi, 0.0, each.mean_wait)


def _row(kind: str, chi: float, period: float, wait: Estimate) -> dict[str, object]:
    return {
        "information": kind,
        "chi": chi,
        "time": period,
        "wait": float(wait.value),
        "std_error": float(wait.std_error),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P4",
    Settings(),
    Settings(period=(0.02, 2.0, 10.0, 50.0), chi=(0.0, 0.3, 1.0), jobs=5e5, replicas=16),
    run,
)
