"""General arrivals and services, JSQ or two choices: every scaled queue is one exponential.

Limits in the slack r are extrapolated by lines from several r, and what they may be off is bounded
by lines from larger r. Tails are held to exponential laws of the measured means. With 2.5 moments
the law is compared at the least r only, since corrections fall like r^0.5, and means are shown
without a claim: the lengths have no variance. Below two moments there is no such limit, and r times
the median grows: shown, not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import queueing
from atlas.ensemble import Estimate
from queueing import JSQ, Policy, PowerOfD

from ._below_two_moments import HeavyRun, run_heavy
from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._general_distributions_figure import draw
from ._general_runs import PAIRS, POINTS, Pair, RegimeFactory, Stations, run_stations
from ._slack_limit import Limit, at_the_least, extrapolate

POLICIES: dict[str, Policy] = {"JSQ": JSQ(), "two choices": PowerOfD(2)}
# Slacks, the largest, that lines to the limit leave out. Two choices keep queues less close, and
# what that changes fades at smaller slacks only.
_LEFT_OUT = {"JSQ": 1, "two choices": 2}


@dataclass(frozen=True)
class Settings:
    service_rates: tuple[float, ...] = (1.0, 1.5, 0.5)
    """Rates of the stations."""
    slacks: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.4)
    """Slacks r of the arrival rate, ascending, at least four."""
    events: float = 2e8
    """Arrivals and departures at each slack, all replicas together."""
    replicas: int = 64
    """Independent replicas at each slack."""
    num_pairs: int = len(PAIRS)
    """How many of the six pairs of laws are tried, from the first on."""

    def __post_init__(self) -> None:
        if len(self.slacks) < 4 or list(self.slacks) != sorted(set(self.slacks)):
            raise ValueError(f"slacks are {self.slacks}: at least four, ascending")
        if self.slacks[0] <= 0 or self.slacks[-1] >= sum(self.service_rates):
            raise ValueError(f"slacks are {self.slacks}: above 0 and below the sum of the rates")
        if self.replicas < 20:
            raise ValueError(f"replicas is {self.replicas}: give at least 20, for an error")
        if not 1 <= self.num_pairs <= len(PAIRS):
            raise ValueError(f"num_pairs is {self.num_pairs}: give 1 to {len(PAIRS)}")


@dataclass(frozen=True)
class Series:
    """One pair of laws under one policy, at every slack, ascending."""

    pair: Pair
    policy: str
    runs: list[Stations]

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.pair.name}, {self.policy}"

    def limit(self, quantity: Callable[[Stations], Estimate]) -> Limit:
        """The limit of a number as r falls to 0."""
        return extrapolate(*self._points(quantity), left_out=_LEFT_OUT[self.policy])

    def rough_limit(self, quantity: Callable[[Stations], Estimate]) -> Limit:
        """The number at the least r, where corrections fall like a lower power of r only."""
        return at_the_least(*self._points(quantity), self.pair.power)

    def _points(
        self, quantity: Callable[[Stations], Estimate]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        estimates = [quantity(run) for run in self.runs]
        values, errors = (
            np.array([float(np.squeeze(getattr(each, name))) for each in estimates])
            for name in ("value", "std_error")
        )
        return np.array([run.r for run in self.runs]), values, errors


@dataclass(frozen=True)
class Runs:
    """All that was simulated: every pair under every policy, and one law below two moments."""

    settings: Settings
    series: list[Series]
    heavy: list[HeavyRun]


def simulate(
    settings: Settings,
    *,
    seed: int,
    regime: RegimeFactory = queueing.routing,
    policies: dict[str, Policy] = POLICIES,
) -> Runs:
    """Run everything; `regime` makes the systems that are simulated."""
    series = [
        Series(
            pair,
            name,
            [
                run_stations(
                    pair,
                    settings.service_rates,
                    policy,
                    r,
                    events=settings.events,
                    replicas=settings.replicas,
                    seed=spawn_seed(seed, i, j, k),
                    regime=regime,
                )
                for k, r in enumerate(settings.slacks)
            ],
        )
        for i, pair in enumerate(PAIRS[: settings.num_pairs])
        for j, (name, policy) in enumerate(policies.items())
    ]
    heavy = [
        run_heavy(
            settings.service_rates,
            r,
            events=settings.events / 4,
            replicas=settings.replicas,
            seed=spawn_seed(seed, len(PAIRS), k),
        )
        for k, r in enumerate(settings.slacks[1:])
    ]
    return Runs(settings, series, heavy)


def run(settings: Settings, *, seed: int, regime: RegimeFactory = queueing.routing) -> Outcome:
    runs = simulate(settings, seed=seed, regime=regime)
    least, largest = runs.heavy[0], runs.heavy[-1]
    notes = [
        "Below two moments (services Pareto 1.5), no claim: r median(Z), quartiles over replicas, "
        f"is {_listed(largest.quartiles)} at r = {largest.r:g} and {_listed(least.quartiles)} at "
        f"r = {least.r:g}.",
        "With Pareto 2.5 services r E Z_j is in the table, without a claim: lengths then have no "
        "variance, so that standard errors of their means say little.",
    ]
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), notes)


def _listed(quartiles: np.ndarray) -> str:
    return ", ".join(f"{each:.3g}" for each in quartiles)


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    for series in runs.series:
        for each in series.runs:
            tails = each.tails(POINTS)
            yield {
                "pair": series.pair.name,
                "policy": series.policy,
                "r": each.r,
                "m": each.limit_mean,
                "r_mean_over_m": float(each.overall.value),
                "r_mean_over_m_error": float(each.overall.std_error),
                "imbalance": float(each.mean_imbalance.value),
                "imbalance_error": float(each.mean_imbalance.std_error),
                **{f"tail_{x:g}": float(tails.value[i]) for i, x in enumerate(POINTS)},
                **{f"tail_{x:g}_error": float(tails.std_error[i]) for i, x in enumerate(POINTS)},
            }


def all_claims(runs: Runs) -> Iterator[Claim]:
    for series in runs.series:
        yield from law_claims(series)
        if series.pair.power == 1.0:
            yield mean_claim(series)
        yield from collapse_claims(series)


def _claim_id(series: Series) -> str:
    if series.pair.power < 1.0:
        return "P3.3"
    return "P3.1" if series.policy == "JSQ" else "P3.2"


def law_claims(series: Series) -> Iterator[Claim]:
    """The law of a queue, in units of the measured mean where there are moments enough."""
    least = series.runs[0]
    for index, x in enumerate(POINTS):
        point = POINTS[index : index + 1]
        quantity, theory = f"P(r (Z + U) > {x:g} m)", float(np.exp(-x))
        if series.pair.power == 1.0:
            limit = series.limit(lambda run, point=point: run.tails_over_exponential(point))
            where, theory = "r -> 0", 1.0
            quantity += " over that of an exponential law with the measured mean"
        else:
            limit = series.rough_limit(lambda run, point=point: run.tails(point))
            where = f"r={least.r:g}"
        yield Claim(
            _claim_id(series),
            "r times the queue at every station tends to the same exponential law, of mean m.",
            f"{series.label}, {where}: {quantity}",
            limit.value,
            limit.std_error,
            theory,
            limit.bias_bound,
            len(least.idle) - 1,
        )


def mean_claim(series: Series) -> Claim:
    limit = series.limit(lambda each: each.overall)
    return Claim(
        _claim_id(series),
        "The mean of that law is m = sum_j mu_j (c_e^2 + c_j^2) / (2 J).",
        f"{series.label}, r -> 0: r E Z / m, mean over stations",
        limit.value,
        limit.std_error,
        1.0,
        limit.bias_bound,
        len(series.runs[0].idle) - 1,
    )


def collapse_claims(series: Series) -> Iterator[Claim]:
    dof = len(series.runs[0].idle) - 1
    spread = series.limit(lambda each: each.spread)
    yield Claim(
        "P3.4",
        "The queues of all stations become one in the limit.",
        f"{series.label}, r -> 0: r (largest - smallest E Z_j) / m",
        spread.value,
        spread.std_error,
        0.0,
        spread.bias_bound,
        dof,
    )
    least, next_least, third = (each.mean_imbalance for each in series.runs[:3])
    ratio = float(least.value / next_least.value)
    relative = np.hypot(least.std_error / least.value, next_least.std_error / next_least.value)
    yield Claim(
        "P3.4",
        "The largest difference of queues stays bounded as r falls.",
        f"{series.label}: E(max - min) at r={series.runs[0].r:g} over that at "
        f"r={series.runs[1].r:g}",
        ratio,
        ratio * float(relative),
        1.0,
        abs(float(next_least.value / third.value) - 1.0),
        dof,
    )


EXPERIMENT: Experiment[Settings] = Experiment(
    "P3",
    Settings(),
    Settings(slacks=(0.04, 0.08, 0.16, 0.3, 0.5), events=3e6, replicas=20, num_pairs=2),
    run,
)
