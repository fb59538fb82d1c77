"""Lowest queues, imbalance, mean queue and bulk of marginal JSQ, against limits and identities.

What is exact at finite n is tried at small n, where a long run forgets its start. Limits are tried
at large n, and what parts them from finite n is bounded by the same measurement at n/4: the
differences fall like 1/sqrt(n) or faster. Of the bulk at large n only that it stays where the
product law puts it is seen, since it relaxes in 4 n^2/a^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._congestion_laws import (
    bulk_profile,
    gumbel_cdf,
    harmonic,
    rank_cdf,
    rank_mean,
)
from ._frame import Claim, Experiment, Outcome, distance_error, spawn_seed
from ._full_jsq import FullJSQ, full_jsq, scaled_limit
from ._lowest_queues_figure import draw
from ._rank_snapshots import SHARES, RegimeFactory, Snapshots, finite_size, snapshots
from ._small_system import SmallSystem, small_system


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Slack of the random stream; density of the particles in the limit."""
    b: float = 1.0
    """Strength of the stream to the shortest queue, below a."""
    n: int = 2500
    """Servers of the large system; the same with n/4 bounds what parts it from the limit."""
    num_ranks: int = 5
    """How many of the lowest ranks are looked at."""
    horizon: float = 3.0
    """Time from the product law to the last look at the large systems."""
    replicas: int = 3 * 2**16
    """Independent replicas of the large systems."""
    small_n: tuple[int, ...] = (4, 8, 16)
    """Small sizes, each twice the former, at which the exact identities are tried."""
    relaxations: float = 100.0
    """Length of the long runs at the largest of small_n, in relaxation times 4 n^2/a^2; a run at
    half the size, where means fluctuate more, is eight times as many long, at half the cost."""
    small_replicas: int = 128
    """Replicas of each long run at small n."""
    jsq_n: tuple[int, ...] = (64, 256, 1024)
    """Sizes of full JSQ, each four times the former."""
    jsq_events: float = 8e8
    """Events of each run of full JSQ, all replicas together."""

    def __post_init__(self) -> None:
        if not 0 < self.b < self.a:
            raise ValueError(f"b = {self.b}, a = {self.a}: a stationary law needs 0 < b < a")
        if self.n < 16 or self.num_ranks > self.n // 4:
            raise ValueError(f"n is {self.n}: at least 16, and four times num_ranks")
        _check_ratio("small_n", self.small_n, 2)
        _check_ratio("jsq_n", self.jsq_n, 4)
        if min(self.replicas, self.small_replicas) < 20:
            raise ValueError("replicas and small_replicas: give at least 20, for an error")


def _check_ratio(name: str, sizes: Sequence[int], ratio: int) -> None:
    steps = [large == ratio * small for small, large in pairwise(sizes)]
    if len(sizes) != 3 or not all(steps):
        raise ValueError(f"{name} are {sizes}: three sizes, each {ratio} times the former")


@dataclass(frozen=True)
class Runs:
    """All that was simulated.

    Arguments:
        coarse, large: snapshots at n/4 and n.
        small: long runs, ascending in n.
        jsq: full JSQ at equal load, ascending in n.
        jitter: uniform on [0, 1), shape (replica, 1), which takes off the lattice.
    """

    settings: Settings
    coarse: Snapshots
    large: Snapshots
    small: list[SmallSystem]
    jsq: list[FullJSQ]
    jitter: np.ndarray = field(repr=False)

    def scaled_ranks(self, which: Snapshots) -> np.ndarray:
        """(Q_(k) + U)/sqrt(n) at the end, shape (replica, rank)."""
        return (which.end + self.jitter) / which.n**0.5


def simulate(settings: Settings, *, seed: int, regime: RegimeFactory) -> Runs:
    """Run everything; `regime` makes the system of n, a and b that is simulated."""
    a, b = settings.a, settings.b
    coarse, large = (
        snapshots(
            regime(n, a, b),
            horizon=settings.horizon,
            replicas=settings.replicas,
            seed=spawn_seed(seed, 0, i),
            num_ranks=settings.num_ranks,
        )
        for i, n in enumerate((settings.n // 4, settings.n))
    )
    small = [
        small_system(
            regime(n, a, b),
            n,
            a,
            b,
            relaxations=settings.relaxations * (settings.small_n[-1] / n) ** 3,
            replicas=settings.small_replicas,
            seed=spawn_seed(seed, 1, i),
        )
        for i, n in enumerate(settings.small_n)
    ]
    jsq = [
        full_jsq(n, a - b, events=settings.jsq_events, replicas=32, seed=spawn_seed(seed, 2, i))
        for i, n in enumerate(settings.jsq_n)
    ]
    generator = np.random.default_rng(spawn_seed(seed, 3))
    return Runs(settings, coarse, large, small, jsq, generator.random((settings.replicas, 1)))


def run(
    settings: Settings, *, seed: int, regime: RegimeFactory = queueing.extreme_congestion
) -> Outcome:
    runs = simulate(settings, seed=seed, regime=regime)
    claims = list(all_claims(runs))
    rows = [
        {
            "quantity": claim.quantity,
            "value": claim.estimate,
            "std_error": claim.std_error,
            "theory": claim.theory,
            "bias_bound": claim.bias_bound,
        }
        for claim in claims
    ]
    notes = [
        f"At n = {settings.n} the bulk relaxes in {4 * (settings.n / settings.a) ** 2:g} units of "
        f"time and is seen for {settings.horizon:g}: imbalance and bulk stay as they start.",
    ]
    return Outcome(claims, rows, draw(runs), notes)


def all_claims(runs: Runs) -> Iterator[Claim]:
    yield from rank_claims(runs)
    yield from law_claims(runs)
    yield from delay_claims(runs)
    yield from imbalance_claims(runs)
    yield from identity_claims(runs)
    yield from bulk_claims(runs)


def rank_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    large, coarse = runs.large.scaled_rank_means(), runs.coarse.scaled_rank_means()
    bias = finite_size(large, coarse)
    for k in range(settings.num_ranks):
        yield Claim(
            "P0.8",
            "The lowest queues are of order sqrt(n), with the law Exp(a-b) + Gamma(k-1, a).",
            f"n={settings.n}: E Q_({k + 1}) / sqrt(n)",
            float(large.value[k]),
            float(large.std_error[k]),
            rank_mean(k + 1, settings.a, settings.b),
            float(bias[k]),
        )


def law_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    large, coarse = runs.scaled_ranks(runs.large), runs.scaled_ranks(runs.coarse)
    for k in sorted({0, settings.num_ranks // 2, settings.num_ranks - 1}):
        yield Claim(
            "P0.8",
            "The lowest queues are of order sqrt(n), with the law Exp(a-b) + Gamma(k-1, a).",
            f"n={settings.n}: sup |F - law| of (Q_({k + 1}) + U) / sqrt(n)",
            distance_to(large[:, k], lambda x, k=k: rank_cdf(x, k + 1, settings.a, settings.b)),
            distance_error(settings.replicas),
            0.0,
            distance_between(large[:, k], coarse[:, k]),
        )


def distance_to(sample: np.ndarray, cdf) -> float:
    """sup |F_n - F|."""
    ascending, count = np.sort(sample), sample.size
    exact, steps = cdf(ascending), np.arange(1, count + 1) / count
    return float(max(np.max(steps - exact), np.max(exact - steps) + 1 / count))


def distance_between(first: np.ndarray, second: np.ndarray) -> float:
    """sup |F_1 - F_2| of two samples."""
    grid = np.concatenate([first, second])
    laws = [
        np.searchsorted(np.sort(each), grid, side="right") / each.size for each in (first, second)
    ]
    return float(np.max(np.abs(laws[0] - laws[1])))


def delay_claims(runs: Runs) -> Iterator[Claim]:
    """Premium jobs, who find Q_(1) before them, against full JSQ at equal load."""
    settings = runs.settings
    large, coarse = runs.large.scaled_rank_means(), runs.coarse.scaled_rank_means()
    premium, premium_bias = large[0], float(finite_size(large, coarse)[0])
    jsq, jsq_bias = scaled_limit(runs.jsq)
    yield Claim(
        "P0.8",
        "Under full JSQ every queue has the law Exp(a-b), at scale sqrt(n).",
        f"full JSQ, n={settings.jsq_n[1]} and {settings.jsq_n[2]} extrapolated: sqrt(n) E wait",
        float(jsq.value),
        float(jsq.std_error),
        1 / (settings.a - settings.b),
        jsq_bias,
        float(jsq.dof),
    )
    yield premium_claim(f"n={settings.n}", premium, premium_bias, jsq, jsq_bias)


def premium_claim(
    label: str, premium: Estimate, premium_bias: float, jsq: Estimate, jsq_bias: float
) -> Claim:
    """Waits in units of 1/sqrt(n), one over the other."""
    ratio = float(premium.value / jsq.value)
    relative = np.hypot(premium.std_error / premium.value, jsq.std_error / jsq.value)
    return Claim(
        "P0.11",
        "Jobs of the small stream wait as under full JSQ, at equal load.",
        f"{label}: sqrt(n) E wait of a premium job / the same under full JSQ",
        ratio,
        ratio * float(relative),
        1.0,
        ratio * (premium_bias / float(premium.value) + jsq_bias / float(jsq.value)),
    )


def imbalance_claims(runs: Runs) -> Iterator[Claim]:
    settings, large, coarse = runs.settings, runs.large, runs.coarse
    statement = "max - min is about n^{3/2} log n / a, and its fluctuation is Gumbel's."
    ratios = [Estimate.from_samples(each.imbalance_ratio()) for each in runs.small]
    # Gaps differ from the product law by order 1, their sum from n^{3/2} by a share n^{-3/2}.
    gain = 1 / (2**1.5 - 1)
    first, second = (
        float(ratios[i + 1].value + gain * (ratios[i + 1].value - ratios[i].value)) for i in (0, 1)
    )
    error = float(np.hypot((1 + gain) * ratios[2].std_error, gain * ratios[1].std_error))
    yield Claim(
        "P0.9",
        statement,
        f"n={settings.small_n[1]} and {settings.small_n[2]} extrapolated: E(max - min) / "
        "((n^{3/2}/a) H_{n-1})",
        second,
        error,
        1.0,
        abs(second - first) * gain,
        settings.small_replicas - 1,
    )
    ratio, quarter = (
        Estimate.from_samples(which.a * which.n**-1.5 * which.imbalance / harmonic(which.n - 1))
        for which in (large, coarse)
    )
    yield Claim(
        "P0.9",
        statement,
        f"n={large.n}: E(max - min) / ((n^{{3/2}}/a) H_{{n-1}}), as started",
        float(ratio.value),
        float(ratio.std_error),
        1.0,
        float(finite_size(ratio, quarter)),
    )
    yield Claim(
        "P0.9",
        statement,
        f"n={large.n}: sup |F - Gumbel| of a n^{{-3/2}} (max - min) - log n, as started",
        distance_to(large.scaled_imbalance(), gumbel_cdf),
        distance_error(settings.replicas),
        0.0,
        distance_between(large.scaled_imbalance(), coarse.scaled_imbalance()),
    )


def identity_claims(runs: Runs) -> Iterator[Claim]:
    for each in runs.small:
        for identifier, statement, name, samples, exact in (
            (
                "P0.10",
                "The mean queue is exactly n^{3/2}/a - 1 + (b/a)(1 + E Q_(1)).",
                "E mean queue - (b/a)(1 + E Q_(1))",
                each.identity,
                each.exact_identity,
            ),
            (
                "P0.10",
                "The mean number of idle servers is exactly (a-b)/sqrt(n).",
                "E idle servers",
                each.idle,
                (each.a - each.b) / each.n**0.5,
            ),
        ):
            estimate = Estimate.from_samples(samples)
            yield Claim(
                identifier,
                statement,
                f"n={each.n}: {name}",
                float(estimate.value),
                float(estimate.std_error),
                exact,
                0.0,
                float(estimate.dof),
            )


def bulk_claims(runs: Runs) -> Iterator[Claim]:
    large, coarse = (
        Estimate.from_samples(which.profile / which.n**1.5) for which in (runs.large, runs.coarse)
    )
    bias = finite_size(large, coarse)
    for i, share in enumerate(SHARES):
        yield Claim(
            "P0.8",
            "The bulk has the profile Q_(xn) / n^{3/2} -> -log(1-x)/a.",
            f"n={runs.large.n}: E Q_({share:g} n) / n^(3/2), as started",
            float(large.value[i]),
            float(large.std_error[i]),
            float(bulk_profile(np.array(share), runs.settings.a)),
            float(bias[i]),
        )


EXPERIMENT: Experiment[Settings] = Experiment(
    "P0",
    Settings(),
    Settings(
        n=256,
        replicas=2**12,
        relaxations=10,
        small_replicas=64,
        jsq_n=(4, 16, 64),
        jsq_events=1e7,
    ),
    run,
)
