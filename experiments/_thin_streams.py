"""Long runs of K servers in heavy traffic, of which a thin stream is routed by rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Protocol

import numba
import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._exact_controls import identity_controls, regressed_mean
from ._frame import spawn_seed
from ._rank_rules import RankRule, gap_rates

# Scaled lengths at which the tails of the gaps are looked at.
POINTS = (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class ThinStream:
    """K servers of rate n, K n - slack sqrt(n) jobs, b sqrt(n) of them by a rule, see [P1].

    Arguments:
        rule: of the thin stream; with b = None it routes every job.
    """

    num_servers: int
    n: int
    slack: float
    b: float | None
    rule: RankRule

    @property
    def arrivals(self) -> float:
        """All jobs per unit of time."""
        return self.num_servers * self.n - self.slack * sqrt(self.n)

    @property
    def system(self) -> queueing.System:
        """The servers."""
        return queueing.System(np.full(self.num_servers, float(self.n)), self.arrivals)

    @property
    def policy(self) -> queueing.Policy:
        """The rule for the thin stream, the rest at random."""
        if self.b is None:
            return self.rule.policy
        return queueing.Marginal(self.rule.policy, rate=self.b * sqrt(self.n))

    @property
    def streams(self) -> queueing.RankStreams:
        """The same as rates by rank, from the probabilities of the theory."""
        by_rank = self.arrivals if self.b is None else self.b * sqrt(self.n)
        uniform = max((self.arrivals - by_rank) / self.num_servers, 0.0)
        return queueing.RankStreams(uniform, by_rank * self.rule.probs, float(self.n))

    @property
    def rates(self) -> np.ndarray:
        """(K,) rates of the limit's gaps."""
        assert self.b is not None
        return gap_rates(self.rule.probs, self.slack, self.b)

    def start(self, replicas: int, seed: int) -> str | np.ndarray:
        """Ranked lengths (replica, K) in the law of the limit, or "empty" where there is none."""
        if self.b is None:
            return "empty"
        law = atlas.ProductExponential(self.rates / sqrt(self.n))
        return np.floor(np.cumsum(law.sample(seed, replicas), axis=1)).astype(np.int64)


@dataclass(frozen=True)
class LongAverages:
    """Time averages of one system, lengths in units of sqrt(n).

    Arguments:
        stream: the system.
        gaps: mean gaps, (gap,).
        total, spread: of all lengths, and max - min.
        tails: P((gap_k + U)/sqrt(n) > x) at `POINTS`, U uniform on [0, 1) to take off the lattice;
            (gap + 1, point), the last row for all gaps together, each with its own U.
        idle: mean number of idle servers, whose exact value is slack/sqrt(n).
        messages: queues asked per job.
    """

    stream: ThinStream
    gaps: Estimate
    total: Estimate
    spread: Estimate
    tails: Estimate
    idle: Estimate
    messages: float


def long_averages(
    stream: ThinStream, *, horizon: float, warmup: float, replicas: int, seed: int
) -> LongAverages:
    """Average over time, with the exact identities as controls.

    Where all jobs are routed by rank replicas start empty, else in the law of the limit.

    Arguments:
        stream: the system.
        horizon: time that each replica is averaged over.
        warmup: time before that.
        replicas: how many; the controls take K + 2 of them.
        seed: of all.

    Returns:
        LongAverages; cost 2 K n events, 15 ns each, per unit of time and replica.
    """
    root = sqrt(stream.n)
    run = queueing.long_run(
        stream.system,
        stream.policy,
        horizon=warmup + horizon,
        warmup=warmup,
        initial=stream.start(replicas, spawn_seed(seed, 0)),
        replicas=replicas,
        seed=spawn_seed(seed, 1),
        engine="markov",
        num_levels=1,
        observe={"observed": _observed(stream.n)},
    )
    observed = run.values("observed")
    controls = identity_controls(run, stream.streams, observed[:, -1, 0])
    ranked = run.values("lengths_ranked") / root

    def mean(samples: np.ndarray) -> Estimate:
        return regressed_mean(samples, controls)

    return LongAverages(
        stream=stream,
        gaps=mean(np.diff(ranked, axis=1, prepend=0.0)),
        total=mean(ranked.sum(axis=1)),
        spread=mean(ranked[:, -1] - ranked[:, 0]),
        tails=mean(observed[:, :-1]),
        idle=Estimate.from_samples(run.values("idle_servers")),
        messages=float(run.estimate("messages_per_job").value),
    )


class RunSettings(Protocol):
    """What the settings of an experiment say of its long runs."""

    @property
    def num_servers(self) -> int: ...
    @property
    def slack(self) -> float: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def horizon(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def replicas(self) -> int: ...


def averages_by_size(
    settings: RunSettings, b: float | None, rule: RankRule, seed: int
) -> list[LongAverages]:
    """`long_averages` of one rule at each of the sizes."""
    return [
        long_averages(
            ThinStream(settings.num_servers, n, settings.slack, b, rule),
            horizon=settings.horizon,
            warmup=settings.warmup,
            replicas=settings.replicas,
            seed=spawn_seed(seed, i),
        )
        for i, n in enumerate(settings.sizes)
    ]


@cache
def _observed(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """Given lengths, P(gap + U > x sqrt(n)), and in a last row S I; compiled once for each n.

    One function, since calling it costs more than what it does.
    """
    heights = np.array(POINTS) * sqrt(n)

    @numba.njit
    def observed(ranked):
        count = ranked.size
        values = np.ones((count + 2, heights.size))
        below = total = idle = 0
        for k in range(count):
            gap = ranked[k] - below
            below = ranked[k]
            total += below
            idle += below == 0
            for j in range(heights.size):
                values[k, j] = min(max(gap + 1 - heights[j], 0.0), 1.0)
                values[count, j] *= values[k, j]
        values[count + 1, 0] = total * idle
        return values

    return observed
