"""Independent replicas of extreme congestion, seen some time after their start in the product law.

The lowest ranks relax in a time of order 1, the bulk only in 4 n^2/a^2: what is far from the floor
stays, over these times, where it was put, and what is seen there is that it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._congestion_laws import rounded_mean
from ._frame import controlled

# n, a, b -> a regime; `queueing.extreme_congestion`, or one that is wrong on purpose.
RegimeFactory = Callable[[int, float, float], Any]


# Standard errors that are added to a difference which was measured with independent errors.
_SURE = 3.0
# Shares of the ranks at which the bulk is looked at.
SHARES = (0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Snapshots:
    """What replicas look like at the end, and their lowest ranks at the start.

    Arguments:
        n, a, b: the system.
        start: lowest ranked lengths at time 0, shape (replica, rank).
        start_mean: their exact means, shape (rank,).
        middle, end: the same at half and at the end of the horizon.
        total, imbalance: at the end, shape (replica,).
        profile: lengths at `SHARES` of all ranks, at the end, shape (replica, share).
    """

    n: int
    a: float
    b: float
    start: np.ndarray
    start_mean: np.ndarray
    middle: np.ndarray
    end: np.ndarray
    total: np.ndarray
    imbalance: np.ndarray
    profile: np.ndarray

    def rank_means(self) -> Estimate:
        """Mean ranked lengths in jobs, shape (rank,), averaged over the two later times.

        The start, whose mean is known, is the control variate.
        """
        samples = (self.middle + self.end) / 2
        return Estimate.from_samples(controlled(samples, self.start, self.start_mean))

    def scaled_rank_means(self) -> Estimate:
        """The same over sqrt(n)."""
        means, scale = self.rank_means(), self.n**0.5
        return Estimate(means.value / scale, means.std_error / scale, means.dof)

    def scaled_imbalance(self) -> np.ndarray:
        """(a n^{-3/2}) (max - min) - log n, shape (replica,)."""
        return self.a * self.n**-1.5 * self.imbalance - np.log(self.n)


def finite_size(large: Estimate, coarse: Estimate) -> np.ndarray:
    """Bound on what parts the mean at n from its limit, from that at n/4.

    A difference c/sqrt(n) is as large at n as that between n/4 and n; faster ones are smaller. The
    two runs are independent, and the error of the larger one counts in the estimate as well: three
    standard errors of the difference are added, with those of the claim four of all that is random.

    Arguments:
        large, coarse: the same mean at n and at n/4.

    Returns:
        The bound, of their shape.
    """
    error = np.hypot(large.std_error, coarse.std_error)
    return np.abs(large.value - coarse.value) + _SURE * error


def profile_ranks(n: int) -> np.ndarray:
    """Which rank stands for each share x of all ranks: the one nearest to x n."""
    return np.clip(np.round(np.array(SHARES) * n).astype(int), 1, n)


def snapshots(
    regime: Any,
    *,
    horizon: float,
    replicas: int,
    seed: int,
    num_ranks: int,
) -> Snapshots:
    """Start in the product law at this n, and look at half of the horizon and at its end.

    Arguments:
        regime: the system, whose own product law it starts in.
        horizon: time of the last look.
        replicas: how many.
        seed: of all.
        num_ranks: how many of the lowest ranks are kept.

    Returns:
        Snapshots; cost 4 ns a queue and 3 us for every arrival to the shortest queue.
    """
    positions = profile_ranks(regime.n) - 1
    run = queueing.simulate(
        regime,
        times=[0.0, horizon / 2, horizon],
        initial="stationary",
        replicas=replicas,
        seed=seed,
        num_ranks=num_ranks,
        num_levels=1,
        observe={"profile": lambda ranked: ranked[positions]},
    )
    lengths = run.lengths_ranked.astype(float)
    return Snapshots(
        regime.n,
        regime.a,
        regime.b,
        lengths[0],
        rounded_mean(regime.stationary_start().rates)[:num_ranks],
        lengths[1],
        lengths[2],
        run.values("total")[-1].astype(float),
        run.values("imbalance")[-1].astype(float),
        run.values("profile")[-1],
    )
