"""Simulations of `overloaded`: more jobs than the servers can do, far above the floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numba
import numpy as np
from scipy.linalg import expm
from scipy.special import ndtr

import queueing
from atlas.ensemble import Estimate

from ._exact_controls import regressed_mean
from ._rank_rules import RankRule, overloaded_rates
from ._thin_streams import ThinStream

# Spreads, over sqrt(n), at which the law is looked at.
POINTS = (1.0, 2.0, 4.0, 6.0, 9.0, 12.0)
# All queues start here, over sqrt(n), high enough never to come near the floor.
START = 60.0


@dataclass(frozen=True)
class Overload:
    """Time averages of one overloaded system, lengths over sqrt(n).

    Arguments:
        stream: the system, slack < 0.
        gaps: mean gaps k = 2 ... K.
        spread: mean of max - min.
        tails: P((spread + U)/sqrt(n) > x) at `POINTS`, U uniform on [0, 1).
        growth: of the mean length, per unit of time.
    """

    stream: ThinStream
    gaps: Estimate
    spread: Estimate
    tails: Estimate
    growth: Estimate

    @property
    def rates(self) -> np.ndarray:
        """Rates of the limit's gaps k = 2 ... K."""
        assert self.stream.b is not None
        return overloaded_rates(self.stream.rule.probs, self.stream.b)


def overload(
    stream: ThinStream, *, horizon: float, warmup: float, replicas: int, seed: int
) -> Overload:
    """Average over time, from equal queues.

    In the mean the jobs above each rank grow at (K - k)/K of the overload; what a run is off that
    serves as a control variate, as in `_exact_controls`.

    Arguments:
        stream: the system.
        horizon: time that each replica is averaged over.
        warmup: time before that.
        replicas: how many.
        seed: of all.

    Returns:
        Overload; cost 2 K n events, 15 ns each, per unit of time and replica.
    """
    root, count = sqrt(stream.n), stream.num_servers
    run = queueing.long_run(
        stream.system,
        stream.policy,
        horizon=warmup + horizon,
        warmup=warmup,
        initial=np.full(count, round(START * root)),
        replicas=replicas,
        seed=seed,
        engine="markov",
        num_levels=1,
        observe={"tails": _tails(stream.n)},
        throw=False,
    )
    above = np.arange(count - 1, 0, -1) / count
    controls = run.values("tied_block_drift")[:, 1:] + stream.slack * root * above
    ranked = run.values("lengths_ranked") / root
    gained = run.values("final_total") - run.values("initial_total")
    return Overload(
        stream,
        regressed_mean(np.diff(ranked, axis=1), controls),
        regressed_mean(ranked[:, -1] - ranked[:, 0], controls),
        regressed_mean(run.values("tails"), controls),
        Estimate.from_samples(gained / (count * root * (warmup + horizon))),
    )


@cache
def _tails(n: int) -> Callable[[np.ndarray], np.ndarray]:
    """P(spread + U > x sqrt(n)) given the lengths; compiled once for each n."""
    heights = np.array(POINTS) * sqrt(n)

    @numba.njit
    def tails(ranked):
        spread = ranked[-1] - ranked[0]
        return np.minimum(np.maximum(spread + 1 - heights, 0.0), 1.0)

    return tails


def spread_tail(x: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """P(sum of independent Exp(rates) > x), by the exponential of a bidiagonal matrix.

    For rates b (K-k+1)/K this is that of the largest of K - 1 independent Exp(b/K).
    """
    generator = np.diag(-rates) + np.diag(rates[:-1], 1)
    flat = np.asarray(x, float).ravel()
    return np.array([expm(generator * each)[0].sum() for each in flat]).reshape(np.shape(x))


@dataclass(frozen=True)
class Growth:
    """Snapshots of one system over time, lengths over sqrt(n).

    Arguments:
        times: of the snapshots.
        ranked: lengths above the start, shape (time, replica, rank).
    """

    stream: ThinStream
    times: np.ndarray
    ranked: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        """(time, replica)."""
        return self.ranked[..., -1] - self.ranked[..., 0]


def growth(stream: ThinStream, *, times: tuple[float, ...], replicas: int, seed: int) -> Growth:
    """Follow replicas from equal queues."""
    start = round(START * sqrt(stream.n))
    run = queueing.simulate(
        stream.system,
        stream.policy,
        times=times,
        initial=np.full(stream.num_servers, start),
        replicas=replicas,
        seed=seed,
        engine="markov",
        num_levels=1,
    )
    ranked = (run.lengths_ranked - start) / sqrt(stream.n)
    return Growth(stream, np.array(times), ranked)


def free_range(count: int) -> float:
    """Mean range of `count` independent standard normals, by the integral of its tails."""
    x = np.linspace(-9, 9, 4001)
    return float(np.trapezoid(1 - ndtr(x) ** count - ndtr(-x) ** count, x))


def random_rule(num_servers: int) -> RankRule:
    """All at random, the rule without a thin stream."""
    return RankRule("all at random", queueing.Random(), np.full(num_servers, 1 / num_servers))
