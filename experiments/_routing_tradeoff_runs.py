"""The simulations of `routing_tradeoff`, and what needs no simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._frame import spawn_seed
from ._full_jsq import FullJSQ, full_jsq
from ._rank_snapshots import RegimeFactory, Snapshots, snapshots
from ._small_system import SmallSystem, small_system

if TYPE_CHECKING:
    from .routing_tradeoff import Settings


@dataclass(frozen=True)
class Point:
    """Marginal JSQ at small n and one b, with full JSQ at equal load beside it.

    Arguments:
        marginal: the long run.
        jsq: full JSQ, same n and load.
        messages: messages per job of marginal JSQ.
    """

    marginal: SmallSystem
    jsq: FullJSQ
    messages: float

    @property
    def slack(self) -> float:
        """a - b, which is the load."""
        return self.marginal.a - self.marginal.b


@dataclass(frozen=True)
class Premium:
    """Marginal JSQ at n and n/4, with full JSQ at three sizes, all at one load."""

    b: float
    coarse: Snapshots
    large: Snapshots
    jsq: Sequence[FullJSQ]


@dataclass(frozen=True)
class Runs:
    """All that was simulated.

    Arguments:
        sweep: one a, several b.
        front: one load, several b, a = b + slack.
        premium: the large systems, some of the b of the sweep.
    """

    settings: Settings
    sweep: list[Point]
    front: list[Point]
    premium: list[Premium]


def simulate(settings: Settings, *, seed: int, regime: RegimeFactory) -> Runs:
    """Run everything; `regime` makes the system of n, a and b that is simulated."""
    sweep = [(settings.a, b) for b in settings.b]
    front = [(settings.slack + b, b) for b in settings.front_b]
    points = [
        _point(settings, regime, a, b, spawn_seed(seed, 0, i))
        for i, (a, b) in enumerate([*sweep, *front])
    ]
    premium = [
        _premium(settings, regime, b, spawn_seed(seed, 1, i))
        for i, b in enumerate(settings.premium_b)
    ]
    return Runs(settings, points[: len(sweep)], points[len(sweep) :], premium)


def _point(settings: Settings, regime: RegimeFactory, a: float, b: float, seed: int) -> Point:
    n = settings.small_n
    system = regime(n, a, b)
    marginal = small_system(
        system,
        n,
        a,
        b,
        relaxations=settings.relaxations,
        replicas=settings.small_replicas,
        seed=spawn_seed(seed, 0),
    )
    jsq = _jsq(settings, n, a - b, spawn_seed(seed, 1))
    return Point(marginal, jsq, system.policy.messages_per_job(system.system))


def _premium(settings: Settings, regime: RegimeFactory, b: float, seed: int) -> Premium:
    coarse, large = (
        snapshots(
            regime(n, settings.a, b),
            horizon=settings.horizon,
            replicas=settings.replicas,
            seed=spawn_seed(seed, i),
            num_ranks=1,
        )
        for i, n in enumerate((settings.n // 4, settings.n))
    )
    sizes = [
        _jsq(settings, n, settings.a - b, spawn_seed(seed, 2, i))
        for i, n in enumerate(settings.jsq_n)
    ]
    return Premium(b, coarse, large, sizes)


def _jsq(settings: Settings, n: int, slack: float, seed: int) -> FullJSQ:
    return full_jsq(n, slack, events=settings.jsq_events, replicas=32, seed=seed)


def random_mean_queue(n: int, slack: float) -> float:
    """Mean queue under random routing, n^{3/2}/slack - 1: independent M/M/1 queues."""
    return n**1.5 / slack - 1


def random_imbalance(n: int, slack: float) -> float:
    """E(max - min) of n independent geometric lengths, P(Q >= m) = (1 - slack n^{-3/2})^m.

    E max = sum over m >= 1 of 1 - (1 - P(Q >= m))^n, and E min = sum of P(Q >= m)^n.
    """
    ratio = 1 - slack * n**-1.5
    tails = ratio ** np.arange(1, int(60 / (1 - ratio)))
    return float(np.sum(-np.expm1(n * np.log1p(-tails)) - tails**n))


def identity_mean_queue(n: int, a: float, b: float, shortest: float) -> float:
    """n^{3/2}/a - 1 + (b/a)(1 + E Q_(1))."""
    return n**1.5 / a - 1 + b / a * (1 + shortest)
