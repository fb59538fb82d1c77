"""Long runs of marginal JSQ with general services, in heavy traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import queueing
from atlas.ensemble import Estimate
from queueing import Deterministic, Distribution, Erlang, Hyperexponential, Lognormal

from ._exact_controls import regressed_mean
from ._own_mean import tails_over_exponential

LAWS: dict[str, Distribution] = {
    "hyperexponential 4": Hyperexponential(4.0),
    "Erlang 4": Erlang(4),
    "deterministic": Deterministic(),
    "lognormal 2": Lognormal(2.0),
}
# At these multiples of its mean the law of a gap is compared.
POINTS = np.array([0.5, 1.0, 2.0])
_ONE = 1


@dataclass(frozen=True)
class SizedRun:
    """One law of a service time at one size.

    Lattices are smoothed: a gap counts as gap + U, U uniform on [0, 1).

    Arguments:
        n: rate of each server.
        theory: (gap,) means of the limit.
        means: of gaps over sqrt(n), without U, over those of the limit, (gap,).
        tails: P(gap + U > y) exp(y / E(gap + U)), y the multiples `POINTS` of the limit mean,
            (gap, point); 1 for an exponential gap, whatever its mean.
        joint: P(both of the two lowest gaps above their limit means) over the product.
    """

    n: int
    theory: np.ndarray
    means: Estimate
    tails: Estimate
    joint: Estimate


def run_size(
    num_servers: int,
    n: int,
    slack: float,
    b: float,
    law: Distribution,
    *,
    horizon: float,
    warmup: float,
    replicas: int,
    seed: int,
    regime: Callable[..., Any],
) -> SizedRun:
    """Run all replicas from the limit law.

    Arguments:
        num_servers, n, slack, b, law: the regime.
        horizon, warmup: time that each replica is averaged over, and time before that.
        replicas, seed: of the run.
        regime: what makes the system that is simulated.

    Returns:
        SizedRun; cost about 35 ns for each of 2 K n events per unit of time and replica.
    """
    theory = queueing.heavy_traffic(num_servers, n, slack, b, service=law)
    means = np.asarray(theory.limit_law().mean)
    run = queueing.long_run(
        regime(num_servers, n, slack, b, service=law),
        horizon=warmup + horizon,
        warmup=warmup,
        initial="stationary",
        replicas=replicas,
        num_levels=1,
        seed=seed,
        observe={"above": _above(means * np.sqrt(n))},
    )
    # The capacity that works is the load of the arrivals, whatever the routing.
    idle = run.values("utilisation").sum(axis=1) - theory.system.arrival_rate / n
    gaps, above = run.values("gaps"), run.values("above")
    tails = above[:, :-1].reshape(replicas, num_servers, POINTS.size)

    def estimate(samples: np.ndarray) -> Estimate:
        return regressed_mean(samples, idle[:, None])

    return SizedRun(
        n,
        means,
        estimate(gaps / (means * np.sqrt(n))),
        estimate(tails_over_exponential(tails, (gaps + 0.5) / (means * np.sqrt(n)), POINTS)),
        estimate(_against_product(above[:, -1], tails[:, :2, _ONE])),
    )


def _against_product(joint: np.ndarray, single: np.ndarray) -> np.ndarray:
    """P(both) / (P(one) P(other)) from replicas' (replica,) and (replica, 2), linearised."""
    both, each = joint.mean(), single.mean(axis=0)
    moved = joint / both - 1.0 - np.sum(single / each - 1.0, axis=1)
    return both / each.prod() * (1.0 + moved)


def _above(means: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The observable: chances that gaps, smoothed by a uniform, exceed multiples of `means`."""
    points = POINTS
    num_gaps, num_points = means.size, points.size

    @numba.njit
    def above(ranked):
        values = np.empty(num_gaps * num_points + 1)
        both = 1.0
        last = 0
        for gap in range(num_gaps):
            length = ranked[gap] - last
            last = ranked[gap]
            for k in range(num_points):
                chance = min(max(length + 1.0 - points[k] * means[gap], 0.0), 1.0)
                values[gap * num_points + k] = chance
            if gap < 2:
                both *= min(max(length + 1.0 - means[gap], 0.0), 1.0)
        values[-1] = both
        return values

    return above
