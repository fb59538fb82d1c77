"""Total workload with a thin stream against join-the-shortest-queue, and the messages it takes.

K servers of rate n, K n - v sqrt(n) jobs per unit of time, b sqrt(n) of them to the shortest of
all, or of two drawn at random. Long runs at n/16, n/4 and n are extrapolated in 1/sqrt(n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._large_n import check_sizes, large_n_limit
from ._rank_rules import RankRule, choices, shortest
from ._thin_streams import LongAverages, averages_by_size
from ._workload_factor_figure import draw

RuleFactory = Callable[[int], tuple[RankRule, ...]]


@dataclass(frozen=True)
class Settings:
    num_servers: int = 5
    """Number K of servers, at least 3."""
    slack: float = 1.0
    """Slack v > 0: K n - v sqrt(n) jobs arrive per unit of time."""
    b: tuple[float, ...] = (1.0, 4.0, 20.0)
    """Strengths of the thin stream, ascending; b sqrt(n) jobs at most all at the smallest n."""
    sizes: tuple[int, ...] = (25, 100, 400)
    """Rates n of a server: three, each four times the former."""
    horizon: float = 400.0
    """Time that each replica is averaged over."""
    warmup: float = 50.0
    """Time before that, from the law of the limit (all jobs to the shortest: from empty)."""
    replicas: int = 128
    """Replicas of each system."""

    def __post_init__(self) -> None:
        check_sizes("sizes", self.sizes)
        if self.num_servers < 3:
            raise ValueError(f"num_servers is {self.num_servers}: two choices need three ranks")
        if not self.slack > 0:
            raise ValueError(f"slack is {self.slack}: a stationary law needs slack > 0")
        all_jobs = self.num_servers * self.sizes[0] ** 0.5 - self.slack
        if not self.b or not all(0 < b <= all_jobs for b in self.b):
            raise ValueError(
                f"b are {self.b}: give strengths in (0, {all_jobs:g}], all jobs at the smallest n"
            )
        if self.replicas < self.num_servers + 16:
            raise ValueError(
                f"replicas is {self.replicas}: give at least num_servers + 16, since the controls "
                "take some of them"
            )


@dataclass(frozen=True)
class Point:
    """One rule and b at the three sizes."""

    rule: RankRule
    b: float
    sizes: list[LongAverages]

    @property
    def total(self) -> float:
        """Mean total over sqrt(n) in the limit: sum_k (K-k+1)/lambda_k."""
        return float(np.sum(np.arange(self.rule.probs.size, 0, -1) / self.sizes[0].stream.rates))

    @property
    def limit(self) -> tuple[Estimate, float]:
        """The same as measured and extrapolated, and what that leaves."""
        limit, bound = large_n_limit([run.total for run in self.sizes])
        return limit, float(bound)


@dataclass(frozen=True)
class Runs:
    """Thin streams, and every job to the shortest at the three sizes."""

    settings: Settings
    points: list[Point]
    every_job: list[LongAverages]


def both_rules(num_servers: int) -> tuple[RankRule, ...]:
    """The shortest of all, and of two."""
    return shortest(num_servers), choices(num_servers, 2)


def simulate(settings: Settings, *, seed: int, rules: RuleFactory = both_rules) -> Runs:
    """Run everything; the tests pass rules whose policy is not what they say."""
    points = [
        Point(rule, b, averages_by_size(settings, b, rule, spawn_seed(seed, i, j)))
        for i, rule in enumerate(rules(settings.num_servers))
        for j, b in enumerate(settings.b)
    ]
    full = averages_by_size(settings, None, shortest(settings.num_servers), spawn_seed(seed, 99))
    return Runs(settings, points, full)


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), [_note(runs)])


def _note(runs: Runs) -> str:
    settings, cheapest = runs.settings, runs.points[-1]
    n = settings.sizes[-1]
    return (
        f"n={n}: thin streams ask {settings.b[0] / n**0.5:.2g} to "
        f"{cheapest.sizes[-1].messages:.2g} queues per job, every job to the shortest "
        f"{settings.num_servers}; all at random has {settings.num_servers} times its workload."
    )


def all_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    reference, reference_bound = large_n_limit([run.total for run in runs.every_job])
    pooled = settings.num_servers / settings.slack
    yield _claim(
        "With every job to the shortest the total is that of one pooled server, K/v.",
        "every job to the shortest: E total / sqrt(n)",
        reference,
        pooled,
        float(reference_bound),
    )
    for point in runs.points:
        limit, bound = point.limit
        yield _claim(
            "The total is K/v + K(K-1)/(v+b); with other rules the sum of the gaps' means.",
            f"{point.rule.name}, b={point.b:g}: E total / sqrt(n)",
            limit,
            point.total,
            bound,
        )
        ratio = float(limit.value / reference.value)
        relative = np.hypot(limit.std_error / limit.value, reference.std_error / reference.value)
        yield _claim(
            "The workload grows by a constant factor, as near to one as wanted: 1 + (K-1)v/(v+b).",
            f"{point.rule.name}, b={point.b:g}: total / total with every job to the shortest",
            Estimate(ratio, ratio * relative, limit.dof),
            point.total / pooled,
            ratio * float(bound / limit.value + reference_bound / reference.value),
        )
    for point in runs.points:
        yield _message_claim(point)


def _message_claim(point: Point) -> Claim:
    scaled = [Estimate(run.messages * run.stream.n**0.5, 0.0, np.inf) for run in point.sizes]
    limit, bound = large_n_limit(scaled)
    per_job = point.rule.policy.messages_per_job(point.sizes[0].stream.system)
    return _claim(
        "Messages per job fall like 1/sqrt(n): the thin stream's b/(K sqrt(n)) of the jobs ask.",
        f"{point.rule.name}, b={point.b:g}: sqrt(n) messages per job",
        limit,
        per_job * point.b / point.rule.probs.size,
        float(bound),
    )


def _claim(statement: str, quantity: str, estimate: Estimate, theory: float, bound: float) -> Claim:
    value, error = float(estimate.value), float(estimate.std_error)
    return Claim("P1.3", statement, quantity, value, error, theory, bound, float(estimate.dof))


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Each rule, b and n: total and messages; the limit of the total beside it."""
    for point in runs.points:
        for run in point.sizes:
            yield _row(point.rule.name, point.b, run, point.total)
    for run in runs.every_job:
        limit = runs.settings.num_servers / runs.settings.slack
        yield _row("every job to the shortest", None, run, limit)


def _row(rule: str, b: float | None, run: LongAverages, limit: float) -> dict[str, object]:
    return {
        "rule": rule,
        "b": "" if b is None else b,
        "n": run.stream.n,
        "total_over_sqrt_n": float(run.total.value),
        "std_error": float(run.total.std_error),
        "limit": limit,
        "messages_per_job": run.messages,
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(b=(1.0, 4.0), sizes=(4, 16, 64), horizon=100.0, warmup=30.0, replicas=64),
    run,
)
