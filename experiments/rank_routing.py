"""Thin streams routed by rank: gap laws in heavy traffic for five rules, and the spread.

K servers of rate n, K n - v sqrt(n) jobs per unit of time, b sqrt(n) of them by a rule. Long runs
at n/16, n/4 and n are extrapolated in 1/sqrt(n), the order of what parts them from the limit;
exact identities of the chain serve as control variates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._large_n import check_sizes, large_n_limit
from ._rank_routing_figure import draw
from ._rank_rules import RankRule, gap_rates, rank_rules, shortest
from ._thin_streams import POINTS, LongAverages, averages_by_size

_JOINT_POINT = POINTS.index(0.25)


@dataclass(frozen=True)
class Settings:
    num_servers: int = 4
    """Number K of servers, at least 3."""
    slack: float = 1.0
    """Slack v > 0: K n - v sqrt(n) jobs arrive per unit of time."""
    b: float = 1.0
    """Strength of the thin stream; all five rules need a stationary law."""
    sizes: tuple[int, ...] = (16, 64, 256)
    """Rates n of a server: three, each four times the former."""
    horizon: float = 3000.0
    """Time that each replica is averaged over."""
    warmup: float = 50.0
    """Time before that, from the law of the limit; the highest queue forgets in about 30."""
    replicas: int = 128
    """Replicas of each system."""

    def __post_init__(self) -> None:
        check_sizes("sizes", self.sizes)
        if self.num_servers < 3:
            raise ValueError(f"num_servers is {self.num_servers}: the rules need three ranks")
        if self.replicas < self.num_servers + 16:
            raise ValueError(
                f"replicas is {self.replicas}: give at least num_servers + 16, since the controls "
                "take some of them"
            )
        for rule in rank_rules(self.num_servers):
            gap_rates(rule.probs, self.slack, self.b)


@dataclass(frozen=True)
class RuleRuns:
    """One rule at the three sizes."""

    rule: RankRule
    sizes: list[LongAverages]

    @property
    def rates(self) -> np.ndarray:
        """(K,) rates of the limit's gaps."""
        return self.sizes[-1].stream.rates


@dataclass(frozen=True)
class Runs:
    """The five rules with a thin stream, and every job to the shortest."""

    settings: Settings
    rules: list[RuleRuns]
    every_job: list[LongAverages]


def simulate(
    settings: Settings,
    *,
    seed: int,
    rules: Callable[[int], Sequence[RankRule]] = rank_rules,
) -> Runs:
    """Run everything; the tests pass rules whose policy is not what they say."""
    size = settings.num_servers
    found = [
        RuleRuns(rule, averages_by_size(settings, settings.b, rule, spawn_seed(seed, i)))
        for i, rule in enumerate(rules(size))
    ]
    return Runs(
        settings, found, averages_by_size(settings, None, shortest(size), spawn_seed(seed, 99))
    )


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def all_claims(runs: Runs) -> Iterator[Claim]:
    for each in runs.rules:
        yield from gap_claims(runs.settings, each)
        yield from tail_claims(runs.settings, each)
    yield from spread_claims(runs)


def limit_claim(statement: str, quantity: str, values: Sequence, theory: float) -> Claim:
    """The large-n limit of one number against theory."""
    limit, bound = large_n_limit(values)
    return Claim(
        "P1.1",
        statement,
        quantity,
        float(limit.value),
        float(limit.std_error),
        theory,
        float(bound),
        float(limit.dof),
    )


def gap_claims(settings: Settings, each: RuleRuns) -> Iterator[Claim]:
    for k, rate in enumerate(each.rates):
        yield limit_claim(
            "The lowest gap is Exp(v) under every rule."
            if k == 0
            else "The gaps over sqrt(n) tend to the exponentials of the constrained Atlas model.",
            f"{each.rule.name}: E gap {k + 1} / sqrt(n)",
            [run.gaps[k] for run in each.sizes],
            1 / rate,
        )


def tail_claims(settings: Settings, each: RuleRuns) -> Iterator[Claim]:
    # Each tail where it is nearest to 1/2, which tells most of the law beside the mean.
    for k, rate in enumerate(each.rates):
        point = int(np.argmin(np.abs(np.exp(-rate * np.array(POINTS)) - 0.5)))
        yield limit_claim(
            "The law of each gap is exponential.",
            f"{each.rule.name}: P(gap {k + 1} > {POINTS[point]:g} sqrt(n))",
            [run.tails[k, point] for run in each.sizes],
            float(np.exp(-rate * POINTS[point])),
        )
    yield limit_claim(
        "The gaps are independent.",
        f"{each.rule.name}: P(all gaps > {POINTS[_JOINT_POINT]:g} sqrt(n))",
        [run.tails[-1, _JOINT_POINT] for run in each.sizes],
        float(np.exp(-each.rates.sum() * POINTS[_JOINT_POINT])),
    )


def spread_claims(runs: Runs) -> Iterator[Claim]:
    for each in runs.rules:
        yield limit_claim(
            "The spread stays of order sqrt(n): there is no state-space collapse.",
            f"{each.rule.name}: E(max - min) / sqrt(n)",
            [run.spread for run in each.sizes],
            float(np.sum(1 / each.rates[1:])),
        )
    yield limit_claim(
        "With every job to the shortest queue the spread is of smaller order.",
        "every job to the shortest: E(max - min) / sqrt(n)",
        [run.spread for run in runs.every_job],
        0.0,
    )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: which rule and n, what, with its error and the limit."""
    for each in runs.rules:
        limits = 1 / each.rates
        for run in each.sizes:
            for k in range(limits.size):
                yield _row(each.rule.name, run, f"mean gap {k + 1}", run.gaps[k], limits[k])
                for j, point in enumerate(POINTS):
                    tail = float(np.exp(-each.rates[k] * point))
                    yield _row(
                        each.rule.name, run, f"P(gap {k + 1} > {point:g})", run.tails[k, j], tail
                    )
            yield _row(each.rule.name, run, "spread", run.spread, float(limits[1:].sum()))
    for run in runs.every_job:
        yield _row("every job to the shortest", run, "spread", run.spread, 0.0)


def _row(rule: str, run: LongAverages, quantity: str, value, limit: float) -> dict[str, object]:
    return {
        "rule": rule,
        "n": run.stream.n,
        "quantity": quantity,
        "value": float(value.value),
        "std_error": float(value.std_error),
        "limit": float(limit),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(sizes=(4, 16, 64), horizon=150.0, warmup=30.0, replicas=64),
    run,
)
