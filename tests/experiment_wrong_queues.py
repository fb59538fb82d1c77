"""What is wrong on purpose, for the experiments on extreme congestion: shared by their tests."""

from functools import cache, cached_property
from math import sqrt

import numpy as np

import atlas
import queueing
from experiments import quickstart
from experiments._diffusion_limit_runs import (
    Comparison,
    Ranks,
    Simulated,
    diffusion_ranks,
    product_start,
    queue_ranks,
)
from experiments._frame import Claim, judge
from queueing._regime import ExtremeCongestion

A, B = 2.0, 1.0
SETTINGS = quickstart.Settings(
    sizes=(64, 900), times=(0.25, 0.5), num_particles=16, step=0.0125, replicas=7000,
    largest_replicas=7000, diffusion_replicas=20_000,
)  # fmt: skip


class PushedSecond(ExtremeCongestion):
    """The stream b sqrt(n) goes to the second shortest queue."""

    @cached_property
    def streams(self) -> queueing.RankStreams:
        to_ranks = np.zeros(self.n)
        to_ranks[1] = self.b * sqrt(self.n)
        return queueing.RankStreams(self.n - self.a / sqrt(self.n), to_ranks, float(self.n))

    @cached_property
    def policy(self) -> queueing.Marginal:
        second = np.zeros(self.n)
        second[1] = 1.0
        return queueing.Marginal(queueing.RankBased(second), rate=self.b * sqrt(self.n))


REGIMES = {
    "sound": lambda n: queueing.extreme_congestion(n, A, B),
    "a is 5 % larger": lambda n: queueing.extreme_congestion(n, 1.05 * A, B),
    "b pushes the second rank": lambda n: PushedSecond(n, A, B),
}
WRONG = [name for name in REGIMES if name != "sound"]


@cache
def queues(name: str) -> dict[int, Ranks]:
    """The queues of one regime at all sizes, from its own stationary start."""
    times, num_ranks, regime = SETTINGS.times, SETTINGS.num_ranks, REGIMES[name]
    return {
        n: queue_ranks(regime(n), "stationary", times, SETTINGS.replicas, 10 + i, num_ranks)
        for i, n in enumerate(SETTINGS.sizes)
    }


@cache
def compared(name: str, scheme: type[atlas.AbstractScheme] = atlas.Splitting) -> Comparison:
    """The queues of one regime beside the diffusion by one scheme."""
    start = product_start(A, B)
    diffusion = diffusion_ranks(SETTINGS, start, scheme, 3)
    return Comparison(start, SETTINGS.times, queues(name), diffusion)


def simulated(name: str) -> Simulated:
    """For an experiment's `run`."""
    return Simulated(REGIMES[name])


def failed(claims: list[Claim]) -> list[str]:
    """What the claims that fail are about."""
    return [verdict.claim.quantity for verdict in judge(claims) if not verdict.holds]
