"""Two servers with a thin stream to the shorter queue: stationary laws by linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

import queueing


class Reference(NamedTuple):
    """Exact means that an independent program found, rounded; lengths over sqrt(n)."""

    slack: float
    b: float
    n: int
    gap_1: float
    gap_2: float
    total: float
    prob_empty: float
    prob_tie: float


TABLE = (
    Reference(1, 0, 25, 0.852632, 1.894737, 3.6, 0.19, 0.052632),
    Reference(1, 0, 100, 0.925641, 1.948718, 3.8, 0.0975, 0.025641),
    Reference(1, 1, 25, 0.8728795, 0.9271205, 2.6728795, 0.1830025, 0.1),
    Reference(1, 1, 100, 0.9356604, 0.9643396, 2.8356604, 0.0954746, 0.05),
)
# Half a unit of the last digit of the rates without a thin stream, which have the fewest.
ROUNDING = 5e-7


@dataclass(frozen=True)
class TwoServers:
    """The exact law at one n.

    Arguments:
        n, rates: rate of each server; rates of the limit's two gaps.
        means: mean gaps, total over sqrt(n), P(shorter queue empty), P(tie), as in `Reference`.
        truncation: bound on the error of lengths over sqrt(n) and of probabilities.
        tails: P(gap_1 >= i, gap_2 >= j), shape (length, length).
    """

    n: int
    rates: np.ndarray
    means: np.ndarray
    truncation: float
    tails: np.ndarray

    @property
    def distance(self) -> float:
        """sup over x, y of |P(G_1 > x, G_2 > y) - exp(-rates (x, y))|, G_k = (gap_k + U_k)/sqrt(n).

        With the U_k uniform on [0, 1) both sides are smooth between lattice points; the supremum
        is taken over these and three points between each two.
        """
        half = _linear_between(_linear_between(self.tails).T).T
        axis = np.arange(half.shape[0]) / 4 / sqrt(self.n)
        limit = np.exp(-self.rates[0] * axis)[:, None] * np.exp(-self.rates[1] * axis)
        return float(np.abs(half - limit).max())


def _linear_between(tails: np.ndarray) -> np.ndarray:
    """Three points put between each two along the first axis."""
    shares = np.arange(4)[:, None] / 4
    between = tails[:-1, None] * (1 - shares) + tails[1:, None] * shares
    return between.reshape(-1, tails.shape[1])


def two_servers(n: int, slack: float, b: float, tail: float = 24.0) -> TwoServers:
    """Solve for the stationary law.

    Arguments:
        n, slack, b: the system, of the regime `heavy_traffic`.
        tail: lengths are cut where the limit has exp(-tail) left.

    Returns:
        TwoServers; cost some 10 us a state, about tail^2 n / (2 rate^2) of them.
    """
    regime = queueing.heavy_traffic(2, n, slack, b)
    rates = regime.gap_rates()
    # The longer queue is the sum of both gaps; the lowest rate decides its tail.
    longest = ceil(tail * sqrt(n) / rates.min())
    exact = queueing.exact_stationary(regime, max_length=longest, max_states=2_000_000)
    states, probabilities = exact.joint_ranked
    gaps = np.diff(states, axis=1, prepend=0)
    joint = np.zeros((longest + 1, longest + 1))
    np.add.at(joint, (gaps[:, 0], gaps[:, 1]), probabilities)
    tails = np.cumsum(np.cumsum(joint[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
    means = np.array(
        [
            *np.asarray(exact.mean("gaps"), float) / sqrt(n),
            float(exact.mean("total")) / sqrt(n),
            exact.ranked_marginals[0, 0],
            float(exact.mean("prob_tie")),
        ]
    )
    return TwoServers(n, rates, means, float(exact.truncation_error), tails)
