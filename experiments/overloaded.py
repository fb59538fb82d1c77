"""Overloaded servers with a thin stream routed by rank: all queues grow, the spread does not.

K n - v sqrt(n) jobs with v < 0, b sqrt(n) of them by a rule. Far above the floor gap k >= 2 tends
to Exp(b sum_{i < k} (p_i - 1/K)), whatever v, and if all go to the shortest the spread has the law
of the largest of K - 1 independent Exp(b/K). Long runs at n/16, n/4 and n are extrapolated in
1/sqrt(n); snapshots over time stand beside those of random routing, whose spread grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from atlas.ensemble import Estimate

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._large_n import check_sizes, large_n_limit
from ._overloaded_figure import draw
from ._overloaded_runs import (
    POINTS,
    Growth,
    Overload,
    free_range,
    growth,
    overload,
    random_rule,
    spread_tail,
)
from ._rank_rules import RankRule, choices, shortest
from ._thin_streams import ThinStream


@dataclass(frozen=True)
class Settings:
    num_servers: int = 5
    """Number K of servers, at least 3."""
    slacks: tuple[float, ...] = (-1.0, -4.0)
    """Slacks v < 0: the overload is -v sqrt(n) jobs per unit of time."""
    b: float = 2.0
    """Strength b > 0 of the thin stream."""
    sizes: tuple[int, ...] = (16, 64, 256)
    """Rates n of a server: three, each four times the former."""
    horizon: float = 2000.0
    """Time that each replica of the long runs is averaged over."""
    warmup: float = 60.0
    """Time before that, from equal queues; the highest gap forgets in about 15."""
    replicas: int = 128
    """Replicas of the long runs."""
    times: tuple[float, ...] = (5.0, 10.0, 20.0, 40.0, 80.0)
    """Times of the snapshots, ascending, the last twice the last but one."""
    n: int = 64
    """Rate n of the servers that are followed over time."""
    paths: int = 2**14
    """Replicas of the snapshots."""

    def __post_init__(self) -> None:
        check_sizes("sizes", self.sizes)
        if self.num_servers < 3 or not self.b > 0:
            raise ValueError(
                f"num_servers is {self.num_servers}, b {self.b}: two choices need three ranks, and "
                "without a thin stream the spread grows"
            )
        if not self.slacks or not all(slack < 0 for slack in self.slacks):
            raise ValueError(f"slacks are {self.slacks}: overload means v < 0")
        if len(self.times) < 3 or any(a >= b for a, b in pairwise(self.times)):
            raise ValueError(f"times are {self.times}: give three or more, ascending")
        if min(self.replicas, self.paths) < self.num_servers + 16:
            raise ValueError(
                f"replicas is {self.replicas}, paths {self.paths}: give num_servers + 16 or more"
            )


@dataclass(frozen=True)
class Runs:
    """All that was simulated.

    Arguments:
        long: one list of three sizes for each system.
        followed: snapshots of the first system.
        random: snapshots without a thin stream.
    """

    settings: Settings
    long: list[list[Overload]]
    followed: Growth
    random: Growth


Rules = Callable[[int], tuple[RankRule, RankRule]]


def both_rules(num_servers: int) -> tuple[RankRule, RankRule]:
    """The shortest of all, and of two."""
    return shortest(num_servers), choices(num_servers, 2)


def simulate(settings: Settings, *, seed: int, rules: Rules = both_rules) -> Runs:
    """Run everything; the tests pass rules whose policy is not what they say."""
    count, b = settings.num_servers, settings.b
    to_shortest, thinned = rules(count)
    systems = [(slack, to_shortest) for slack in settings.slacks]
    systems.append((settings.slacks[0], thinned))
    long = [
        [
            overload(
                ThinStream(count, n, slack, b, rule),
                horizon=settings.horizon,
                warmup=settings.warmup,
                replicas=settings.replicas,
                seed=spawn_seed(seed, i, j),
            )
            for j, n in enumerate(settings.sizes)
        ]
        for i, (slack, rule) in enumerate(systems)
    ]
    followed, random = (
        growth(
            ThinStream(count, settings.n, settings.slacks[0], b, rule),
            times=settings.times,
            replicas=settings.paths,
            seed=spawn_seed(seed, 99, i),
        )
        for i, rule in enumerate((to_shortest, random_rule(count)))
    )
    return Runs(settings, long, followed, random)


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def all_claims(runs: Runs) -> Iterator[Claim]:
    for sizes in runs.long:
        yield from law_claims(sizes)
        yield growth_claim(sizes)
    yield from time_claims(runs)


def label_of(sizes: list[Overload]) -> str:
    """Which system, in a few words."""
    stream = sizes[0].stream
    return f"{stream.rule.name}, v={stream.slack:g}"


def law_claims(sizes: list[Overload]) -> Iterator[Claim]:
    label, rates = label_of(sizes), sizes[0].rates
    for k, rate in enumerate(rates):
        yield _limit_claim(
            "Gap k >= 2 tends to Exp(b sum_{i < k} (p_i - 1/K)), whatever v.",
            f"{label}: E gap {k + 2} / sqrt(n)",
            [run.gaps[k] for run in sizes],
            1 / float(rate),
        )
    statement = (
        "The spread is bounded and has the law of the sum of its gaps, if all go to the shortest "
        "that of the largest of K-1 exponentials."
    )
    yield _limit_claim(
        statement,
        f"{label}: E(max - min) / sqrt(n)",
        [run.spread for run in sizes],
        float(np.sum(1 / rates)),
    )
    for j, (point, tail) in enumerate(
        zip(POINTS, spread_tail(np.array(POINTS), rates), strict=True)
    ):
        if 0.05 < tail < 0.95:
            yield _limit_claim(
                statement,
                f"{label}: P(max - min > {point:g} sqrt(n))",
                [run.tails[j] for run in sizes],
                float(tail),
            )


def _limit_claim(statement: str, quantity: str, values, theory: float) -> Claim:
    limit, bound = large_n_limit(values)
    value, error = float(limit.value), float(limit.std_error)
    return Claim("P1.4", statement, quantity, value, error, theory, float(bound), float(limit.dof))


def growth_claim(sizes: list[Overload]) -> Claim:
    last = sizes[-1]
    return Claim(
        "P1.4",
        "All queues grow at the common rate -v sqrt(n)/K: the system is not stable.",
        f"{label_of(sizes)}, n={last.stream.n}: growth of the mean length / sqrt(n)",
        float(last.growth.value),
        float(last.growth.std_error),
        -last.stream.slack / last.stream.num_servers,
        0.0,
        float(last.growth.dof),
    )


def time_claims(runs: Runs) -> Iterator[Claim]:
    settings, followed, random = runs.settings, runs.followed, runs.random
    middle, end = followed.times[-2:]
    label = f"n={settings.n}, t={middle:g} and {end:g}"
    ratio = Estimate.from_ratio(followed.spread[-1], followed.spread[-2])
    yield _time_claim(
        "The spread stays bounded in time, while under random routing it grows like its root.",
        f"{label}: E(max - min), later over earlier",
        ratio,
        1.0,
    )
    ratio = Estimate.from_ratio(random.spread[-1], random.spread[-2])
    yield _time_claim(
        "The spread stays bounded in time, while under random routing it grows like its root.",
        f"{label}, all at random: E(max - min), later over earlier",
        ratio,
        float(np.sqrt(end / middle)),
    )
    # Each queue by itself: variance (arrivals + services) / n per unit of time.
    stream = random.stream
    variance = 2 - stream.slack / (stream.num_servers * stream.n**0.5)
    yield _time_claim(
        "Under random routing queues are independent.",
        f"n={settings.n}, t={end:g}, all at random: E(max - min) / sqrt(n)",
        Estimate.from_samples(random.spread[-1]),
        free_range(stream.num_servers) * float(np.sqrt(variance * end)),
    )
    gained = (followed.ranked[-1] - followed.ranked[-2]) / (end - middle)
    for name, rank in (("shortest", 0), ("longest", -1)):
        yield _time_claim(
            "All queues grow at the common rate -v sqrt(n)/K: the system is not stable.",
            f"{label}: growth of the {name} queue / sqrt(n)",
            Estimate.from_samples(gained[:, rank]),
            -settings.slacks[0] / settings.num_servers,
        )


def _time_claim(statement: str, quantity: str, estimate: Estimate, theory: float) -> Claim:
    value, error = float(estimate.value), float(estimate.std_error)
    return Claim("P1.4", statement, quantity, value, error, theory, 0.0, float(estimate.dof))


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long runs by n, then snapshots by time."""
    for sizes in runs.long:
        for run in sizes:
            label, spread = label_of(sizes), float(np.sum(1 / run.rates))
            yield _row(label, run.stream.n, "", "spread", run.spread, spread)
            for k, rate in enumerate(run.rates):
                yield _row(label, run.stream.n, "", f"gap {k + 2}", run.gaps[k], 1 / rate)
    for name, each in (("followed", runs.followed), ("all at random", runs.random)):
        for time, spread in zip(each.times, each.spread, strict=True):
            estimate = Estimate.from_samples(spread)
            yield _row(name, each.stream.n, time, "spread", estimate, np.nan)


def _row(system: str, n: int, time, quantity: str, value: Estimate, limit) -> dict[str, object]:
    return {
        "system": system,
        "n": n,
        "time": time,
        "quantity": quantity,
        "value": float(value.value),
        "std_error": float(value.std_error),
        "limit": float(limit),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(slacks=(-2.0,), sizes=(4, 16, 64), horizon=200.0, replicas=64, n=16, paths=2**11),
    run,
)
