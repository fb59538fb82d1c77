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

from ._frame import controlled

LAWS: dict[str, Distribution] = {
    "hyperexponential 4": Hyperexponential(4.0),
    "Erlang 4": Erlang(4),
    "deterministic": Deterministic(),
    "lognormal 2": Lognormal(2.0),
}
# At these multiples of its limit mean the law of a gap is compared.
POINTS = np.array([0.5, 1.0, 2.0])


@dataclass(frozen=True)
class SizedRun:
    """One law of a service time at one size.

    Arguments:
        n: rate of each server.
        replicas: their number.
        theory: (gap,) means of the limit.
        means: of gaps over sqrt(n), (gap,).
        tails: P(gap + U > x times its limit mean), (gap, point), U uniform on [0, 1).
        joint: P(both of the two lowest gaps are above their limit means).
    """

    n: int
    replicas: int
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
    events: float,
    replicas: int,
    seed: int,
    regime: Callable[..., Any],
) -> SizedRun:
    """Run all replicas from the limit law, the first tenth of the time left out.

    Arguments:
        num_servers, n, slack, b, law: the regime.
        events: arrivals and departures of all replicas together.
        replicas, seed: of the run.
        regime: what makes the system that is simulated.
    """
    theory = queueing.heavy_traffic(num_servers, n, slack, b, service=law)
    means = np.asarray(theory.limit_law().mean)
    simulated = regime(num_servers, n, slack, b, service=law)
    horizon = events / (2.0 * theory.system.arrival_rate * replicas)
    run = queueing.long_run(
        simulated,
        horizon=horizon,
        warmup=0.1 * horizon,
        initial="stationary",
        replicas=replicas,
        seed=seed,
        observe={"above": _above(means * np.sqrt(n))},
    )
    busy = run.values("utilisation").sum(axis=1)
    busy_mean = theory.system.arrival_rate / n

    def estimate(samples: np.ndarray) -> Estimate:
        control = np.broadcast_to(busy.reshape(-1, *[1] * (samples.ndim - 1)), samples.shape)
        return Estimate.from_samples(controlled(samples, control, np.full((), busy_mean)))

    above = run.values("above")
    return SizedRun(
        n,
        replicas,
        means,
        estimate(run.values("gaps") / np.sqrt(n)),
        estimate(above[:, :-1].reshape(replicas, num_servers, POINTS.size)),
        estimate(above[:, -1]),
    )


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
