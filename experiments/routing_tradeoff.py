"""What a few messages buy: marginal JSQ between random routing and full JSQ at equal load.

At small n long runs forget their start, and mean queue and mean wait are held to exact identities
for each b. At large n the wait of premium jobs, those that are sent to the shortest queue, is held
to full JSQ at equal load; what parts it from the limit is bounded by the same at n/4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import queueing
from atlas.ensemble import Estimate

from ._congestion_laws import harmonic
from ._frame import Claim, Experiment, Outcome
from ._full_jsq import scaled_limit
from ._rank_snapshots import RegimeFactory, finite_size
from ._routing_tradeoff_figure import draw
from ._routing_tradeoff_runs import (
    Point,
    Premium,
    Runs,
    random_imbalance,
    random_mean_queue,
    simulate,
)


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Slack of the random stream."""
    b: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5, 1.75)
    """Strengths of the stream to the shortest queue, below a, ascending."""
    slack: float = 1.0
    """a - b, hence the load, of the Pareto picture."""
    front_b: tuple[float, ...] = (0.5, 2.0, 4.0)
    """Strengths of the stream in the Pareto picture, ascending."""
    small_n: int = 16
    """Servers of the long runs."""
    relaxations: float = 40.0
    """Length of each long run, in relaxation times 4 n^2/a^2."""
    small_replicas: int = 128
    """Replicas of each long run."""
    premium_b: tuple[float, ...] = (1.25, 1.75)
    """Strengths of the stream at which the wait of premium jobs is held to full JSQ."""
    n: int = 1600
    """Servers of these systems; the same with n/4 bounds what parts them from the limit."""
    horizon: float = 3.0
    """Time from the product law to the last look at these."""
    replicas: int = 2**16
    """Replicas of these."""
    jsq_n: tuple[int, int, int] = (16, 64, 256)
    """Sizes of full JSQ, each four times the former."""
    jsq_events: float = 1e8
    """Events of each run of full JSQ, all replicas together."""

    def __post_init__(self) -> None:
        if not all(0 < b < self.a for b in (*self.b, *self.premium_b)):
            raise ValueError(
                f"b {self.b}, premium_b {self.premium_b}: all between 0 and a = {self.a}"
            )
        if not self.slack > 0 or not all(b > 0 for b in self.front_b):
            raise ValueError(f"slack {self.slack}, front_b {self.front_b}: give positive ones")
        if any(large != 4 * small for small, large in pairwise(self.jsq_n)):
            raise ValueError(f"jsq_n are {self.jsq_n}: three sizes, each four times the former")
        if min(self.replicas, self.small_replicas) < 20:
            raise ValueError("replicas and small_replicas: give at least 20, for an error")


def run(
    settings: Settings, *, seed: int, regime: RegimeFactory = queueing.extreme_congestion
) -> Outcome:
    runs = simulate(settings, seed=seed, regime=regime)
    cheap = runs.sweep[len(runs.sweep) // 2]
    saved = float(cheap.marginal.mean_queue.mean()) / random_mean_queue(
        settings.small_n, cheap.slack
    )
    notes = [
        f"n={settings.small_n}, a={settings.a:g}, b={cheap.marginal.b:g}: {cheap.messages:.2g} "
        f"messages per job leave {saved:.0%} of the mean queue under random routing; full JSQ asks "
        f"{settings.small_n}.",
    ]
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), notes)


def all_claims(runs: Runs) -> Iterator[Claim]:
    for point in [*runs.sweep, *runs.front]:
        yield from identity_claims(point)
    for premium in runs.premium:
        yield from premium_claims(runs.settings, premium)
    yield from message_claims(runs)


def identity_claims(point: Point) -> Iterator[Claim]:
    """Mean queue and mean wait: exact for each b."""
    system = point.marginal
    n, label = system.n, f"n={system.n}, a={system.a:g}, b={system.b:g}"
    queue = Estimate.from_samples(system.identity)
    yield Claim(
        "P0.10",
        "The mean queue is exactly n^{3/2}/a - 1 + (b/a)(1 + E Q_(1)).",
        f"{label}: E mean queue - (b/a)(1 + E Q_(1))",
        float(queue.value),
        float(queue.std_error),
        system.exact_identity,
        0.0,
        float(queue.dof),
    )
    # Little's law makes of it the mean wait, here as the jobs found it.
    jobs_per_queue = n * n / (n * n - point.slack * n**0.5)
    share = jobs_per_queue * system.b / system.a * (1 + system.shortest)
    wait = Estimate.from_samples(system.wait - share)
    yield Claim(
        "P0.10",
        "The mean wait of all jobs is that of the identity, by Little's law.",
        f"{label}: n E wait - (b/a)(1 + E Q_(1)) n^2/Lambda",
        float(wait.value),
        float(wait.std_error),
        jobs_per_queue * system.exact_identity - 1,
        0.0,
        float(wait.dof),
    )


def premium_claims(settings: Settings, premium: Premium) -> Iterator[Claim]:
    means, quarters = (each.scaled_rank_means() for each in (premium.large, premium.coarse))
    large, bias = means[0], float(finite_size(means, quarters)[0])
    jsq, jsq_bias = scaled_limit(premium.jsq)
    label = f"n={settings.n}, a={settings.a:g}, b={premium.b:g}"
    limit = 1 / (settings.a - premium.b)
    statement = "Premium jobs wait a time of order 1/sqrt(n), as under full JSQ at equal load."
    yield Claim(
        "P0.11",
        statement,
        f"{label}: sqrt(n) E wait of a premium job",
        float(large.value),
        float(large.std_error),
        limit,
        bias,
    )
    yield Claim(
        "P0.11",
        statement,
        f"full JSQ at the same load (a-b={settings.a - premium.b:g}), extrapolated: sqrt(n) E wait",
        float(jsq.value),
        float(jsq.std_error),
        limit,
        jsq_bias,
        float(jsq.dof),
    )
    ratio, quarter = (
        Estimate.from_samples(each.imbalance * settings.a * each.n**-1.5 / harmonic(each.n - 1))
        for each in (premium.large, premium.coarse)
    )
    yield Claim(
        "P0.9",
        "Imbalance is that of the random stream, about n^{3/2} log n / a, whatever b.",
        f"{label}: E(max - min) / ((n^{{3/2}}/a) H_{{n-1}}), as started",
        float(ratio.value),
        float(ratio.std_error),
        1.0,
        float(finite_size(ratio, quarter)),
    )


def message_claims(runs: Runs) -> Iterator[Claim]:
    for point in runs.sweep:
        system = point.marginal
        theory = system.b * system.n**-0.5
        yield Claim(
            "P0.11",
            "Marginal JSQ asks b/sqrt(n) queues per job, full JSQ all n.",
            f"n={system.n}, a={system.a:g}, b={system.b:g}: messages per job",
            point.messages,
            0.0,
            theory,
            # b sqrt(n) of Lambda = n^2 - (a-b) sqrt(n) jobs ask n queues each.
            theory / (system.n**1.5 / point.slack - 1) * (1 + 1e-9),
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: which b, which routing, what, with its error (0: closed form)."""
    for point in [*runs.sweep, *runs.front]:
        system, jsq = point.marginal, point.jsq
        n, slack = system.n, point.slack
        measured = (
            ("mean queue", system.mean_queue),
            ("imbalance", system.imbalance),
            ("n E wait, all jobs", system.wait),
            ("n E wait, premium jobs", system.shortest),
        )
        for quantity, samples in measured:
            estimate = Estimate.from_samples(samples)
            yield _row(system, "marginal JSQ", quantity, estimate.value, estimate.std_error)
        yield _row(system, "marginal JSQ", "messages per job", point.messages, 0)
        mean = random_mean_queue(n, slack)
        yield _row(system, "random", "mean queue", mean, 0)
        yield _row(system, "random", "imbalance", random_imbalance(n, slack), 0)
        yield _row(system, "random", "n E wait, all jobs", mean, 0)
        yield _row(system, "random", "messages per job", 0, 0)
        for quantity, estimate, factor in (
            ("mean queue", jsq.total, 1 / n),
            ("imbalance", jsq.imbalance, 1),
            ("n E wait, all jobs", jsq.wait, n),
        ):
            value, error = estimate.value * factor, estimate.std_error * factor
            yield _row(system, "full JSQ", quantity, value, error)
        yield _row(system, "full JSQ", "messages per job", n, 0)


def _row(system, routing, quantity, value, error) -> dict[str, object]:
    return {
        "n": system.n,
        "a": system.a,
        "b": system.b,
        "routing": routing,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P0",
    Settings(),
    Settings(
        b=(0.5, 1.0, 1.5),
        front_b=(0.5, 4.0),
        relaxations=3,
        small_replicas=64,
        premium_b=(1.0,),
        n=256,
        replicas=2**11,
        jsq_events=5e6,
    ),
    run,
)
