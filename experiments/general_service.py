"""General services in the marginal regime: the gaps of the limit have variance 1 + c_s^2.

Servers of rate n, a random stream and a small one to the shortest queue: the limit is that of
exponential services, its variance 2 replaced by c_a^2 + c_s^2, c_a^2 = 1 for Poisson streams that
are split at random. The same error costs little at small n, so that lines in 1/sqrt(n) through
small sizes give limits; what they may be off is bounded by lines through still smaller ones. Tails
are held to exponential laws of the measured means, since the means are claims of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import queueing
from atlas.ensemble import Estimate
from queueing import Distribution

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
    sizes: tuple[int, ...] = (10, 40, 160, 640)
    """n (1 + c_s^2)/2 for the rates n of each server, ascending, at least four: less variable
    services make shorter queues, which need a larger n to be as far from single jobs."""
    horizon: float = 4500.0
    """Time that each replica is averaged over, over (1 + c_s^2)/2, to which the time that queues
    take to forget is proportional."""
    warmup: float = 50.0
    """Time before that, from the law of the limit, in the same units."""
    replicas: int = 128
    """Independent replicas of each run."""
    num_laws: int = len(LAWS)
    """How many of the laws of a service time are tried, from the first on."""

    def __post_init__(self) -> None:
        if not (self.num_servers >= 2 and self.slack > 0 and self.b >= 0):
            raise ValueError("give at least two servers, slack > 0 and b >= 0: see heavy_traffic")
        if len(self.sizes) < 4 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"sizes are {self.sizes}: at least four, ascending")
        if self.replicas < 20:
            raise ValueError(f"replicas is {self.replicas}: give at least 20, for an error")
        if not 1 <= self.num_laws <= len(LAWS):
            raise ValueError(f"num_laws is {self.num_laws}: give 1 to {len(LAWS)}")


@dataclass(frozen=True)
class Series:
    """One law of a service time at every size, the largest first; `half` is (1 + c_s^2)/2."""

    name: str
    half: float
    runs: list[SizedRun]

    @property
    def small(self) -> np.ndarray:
        """1/sqrt(n (1 + c_s^2)/2), ascending."""
        return np.array([(run.n * self.half) ** -0.5 for run in self.runs])

    def limit(self, quantity: Callable[[SizedRun], Estimate]) -> Limit:
        """The limit of a number as n grows."""
        estimates = [quantity(run) for run in self.runs]
        values, errors = (
            np.array([float(getattr(each, name)) for each in estimates])
            for name in ("value", "std_error")
        )
        return extrapolate(self.small, values, errors, left_out=2)

    def mean_limit(self, gap: int) -> Limit:
        """The limit of a mean gap over sqrt(n), in units of what it should be."""
        return self.limit(lambda run: run.means[gap])

    def tail_limit(self, gap: int, point: int) -> Limit:
        """The limit of a tail over that of an exponential law with the measured mean."""
        return self.limit(lambda run: run.tails[gap, point])


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
            half_variance(law),
            [
                _run_size(settings, law, size, seed=spawn_seed(seed, i, j), regime=regime)
                for j, size in enumerate(reversed(settings.sizes))
            ],
        )
        for i, (name, law) in enumerate(list(LAWS.items())[: settings.num_laws])
    ]
    return Runs(settings, series)


def half_variance(law: Distribution) -> float:
    """(1 + c_s^2)/2, 1 for exponential services."""
    return 0.5 * (1.0 + law.scv)


def _run_size(
    settings: Settings, law: Distribution, size: int, *, seed: int, regime: Callable[..., Any]
) -> SizedRun:
    half = half_variance(law)
    return run_size(
        settings.num_servers,
        round(size / half),
        settings.slack,
        settings.b,
        law,
        horizon=settings.horizon * half,
        warmup=settings.warmup * half,
        replicas=settings.replicas,
        seed=seed,
        regime=regime,
    )


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
                    "limit": float(each.theory[gap]),
                    "mean_over_limit": float(each.means.value[gap]),
                    "mean_over_limit_error": float(each.means.std_error[gap]),
                    **{
                        f"tail_{x:g}_over_exponential": float(each.tails.value[gap, k])
                        for k, x in enumerate(POINTS)
                    },
                    **{
                        f"tail_{x:g}_over_exponential_error": float(each.tails.std_error[gap, k])
                        for k, x in enumerate(POINTS)
                    },
                }


def all_claims(runs: Runs) -> Iterator[Claim]:
    for series in runs.series:
        for gap in range(runs.settings.num_servers):
            yield from gap_claims(series, gap)
        yield _claim(
            series,
            "Gaps are independent in the limit.",
            "P(gap_1 and gap_2 above their limit means) over the product",
            series.limit(lambda run: run.joint),
        )


def gap_claims(series: Series, gap: int) -> Iterator[Claim]:
    """The mean of a gap, and its law in units of the measured mean; gaps count from 0."""
    yield _claim(
        series,
        "Gaps over sqrt(n) have the means of the limit with variance c_a^2 + c_s^2.",
        f"E gap_{gap + 1} over its limit",
        series.mean_limit(gap),
    )
    for k, x in enumerate(POINTS):
        yield _claim(
            series,
            "Each gap is exponential in the limit.",
            f"P(gap_{gap + 1} > {x:g} of its limit mean) over that of an exponential law with the "
            "measured mean",
            series.tail_limit(gap, k),
        )


def _claim(series: Series, statement: str, quantity: str, limit: Limit) -> Claim:
    """A number that is 1 in the limit."""
    return Claim(
        "P1.5",
        statement,
        f"{series.name}, n -> inf: {quantity}",
        limit.value,
        limit.std_error,
        1.0,
        limit.bias_bound,
        float(series.runs[0].joint.dof),
    )


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(horizon=500.0, replicas=64, num_laws=1),
    run,
)
