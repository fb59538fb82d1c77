"""General services in the marginal regime: the gaps of the limit have variance 1 + c_s^2.

Servers of rate n, a random stream and a small one to the shortest queue: the limit is that of
exponential services, its variance 2 replaced by c_a^2 + c_s^2, c_a^2 = 1 for Poisson streams that
are split at random. Limits are extrapolated in 1/sqrt(n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import queueing

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._general_service_figure import draw
from ._general_service_runs import LAWS, POINTS, SizedRun, run_size
from ._slack_limit import Limit, extrapolate


@dataclass(frozen=True)
class Settings:
    num_servers: int = 3
    """Servers K."""
    slack: float = 1.0
    """Slack v of the arrivals, in units of sqrt(n)."""
    b: float = 1.0
    """Strength of the stream to the shortest queue, in units of sqrt(n)."""
    sizes: tuple[int, ...] = (49, 100, 225, 484, 1024)
    """Rates n of each server, ascending, at least five."""
    events: float = 1e8
    """Arrivals and departures of each run, all replicas together."""
    replicas: int = 32
    """Independent replicas of each run."""
    num_laws: int = len(LAWS)
    """How many of the laws of a service time are tried, from the first on."""

    def __post_init__(self) -> None:
        if not (self.num_servers >= 2 and self.slack > 0 and self.b >= 0):
            raise ValueError("give at least two servers, slack > 0 and b >= 0: see heavy_traffic")
        if len(self.sizes) < 5 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"sizes are {self.sizes}: at least five, ascending")
        if self.replicas < 20:
            raise ValueError(f"replicas is {self.replicas}: give at least 20, for an error")
        if not 1 <= self.num_laws <= len(LAWS):
            raise ValueError(f"num_laws is {self.num_laws}: give 1 to {len(LAWS)}")


@dataclass(frozen=True)
class Series:
    """One law of a service time at every size, the largest first."""

    name: str
    runs: list[SizedRun]

    def limit(self, quantity: Callable[[SizedRun], tuple[float, float]]) -> Limit:
        """The limit of a number, given with its error, as n grows."""
        points = np.array([quantity(run) for run in self.runs])
        small = np.array([run.n**-0.5 for run in self.runs])
        return extrapolate(small, points[:, 0], points[:, 1])


@dataclass(frozen=True)
class Runs:
    """All that was simulated."""

    settings: Settings
    series: list[Series]


def simulate(
    settings: Settings, *, seed: int, regime: Callable[..., Any] = queueing.heavy_traffic
) -> Runs:
    """Run everything; `regime` makes the systems that are simulated."""
    series = [
        Series(
            name,
            [
                run_size(
                    settings.num_servers,
                    n,
                    settings.slack,
                    settings.b,
                    law,
                    events=settings.events,
                    replicas=settings.replicas,
                    seed=spawn_seed(seed, i, j),
                    regime=regime,
                )
                for j, n in enumerate(reversed(settings.sizes))
            ],
        )
        for i, (name, law) in enumerate(list(LAWS.items())[: settings.num_laws])
    ]
    return Runs(settings, series)


def run(
    settings: Settings, *, seed: int, regime: Callable[..., Any] = queueing.heavy_traffic
) -> Outcome:
    runs = simulate(settings, seed=seed, regime=regime)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    for series in runs.series:
        for each in series.runs:
            for gap in range(each.theory.size):
                yield {
                    "service": series.name,
                    "n": each.n,
                    "gap": gap + 1,
                    "mean": float(each.means.value[gap]),
                    "std_error": float(each.means.std_error[gap]),
                    "limit": float(each.theory[gap]),
                }


def all_claims(runs: Runs) -> Iterator[Claim]:
    for series in runs.series:
        yield from gap_claims(series)
        yield joint_claim(series)


def gap_claims(series: Series) -> Iterator[Claim]:
    first = series.runs[0]
    for gap in range(first.theory.size):
        limit = series.limit(
            lambda run, gap=gap: (
                float(run.means.value[gap] / run.theory[gap]),
                float(run.means.std_error[gap] / run.theory[gap]),
            )
        )
        yield _claim(
            series,
            "Gaps over sqrt(n) have the means of the limit with variance c_a^2 + c_s^2.",
            f"E gap_{gap + 1} over its limit",
            limit,
            1.0,
        )
        for index, x in enumerate(POINTS):
            limit = series.limit(
                lambda run, gap=gap, index=index: (
                    float(run.tails.value[gap, index]),
                    float(run.tails.std_error[gap, index]),
                )
            )
            yield _claim(
                series,
                "Each gap is exponential in the limit.",
                f"P(gap_{gap + 1} > {x:g} of its limit mean)",
                limit,
                float(np.exp(-x)),
            )


def joint_claim(series: Series) -> Claim:
    limit = series.limit(lambda run: (float(run.joint.value), float(run.joint.std_error)))
    return _claim(
        series,
        "Gaps are independent in the limit.",
        "P(gap_1 and gap_2 above their limit means)",
        limit,
        float(np.exp(-2.0)),
    )


def _claim(series: Series, statement: str, quantity: str, limit: Limit, theory: float) -> Claim:
    return Claim(
        "P1.5",
        statement,
        f"{series.name}, n -> inf: {quantity}",
        limit.value,
        limit.std_error,
        theory,
        limit.bias_bound,
        series.runs[0].replicas - 1,
    )


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(sizes=(25, 49, 100, 196, 400), events=4e6, replicas=20, num_laws=1),
    run,
)
