"""Services without a variance, where no limit is known: r times the median as r falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import queueing
from queueing import JSQ, Pareto

TAIL = 1.5


@dataclass(frozen=True)
class HeavyRun:
    """JSQ with services of tail index 1.5.

    Arguments:
        r: the slack.
        scaled_medians: (replica,) r times the median length of a station taken at random.
    """

    r: float
    scaled_medians: np.ndarray

    @property
    def quartiles(self) -> np.ndarray:
        """Lower quartile, median and upper quartile over replicas."""
        return np.quantile(self.scaled_medians, [0.25, 0.5, 0.75])


def run_heavy(
    rates: tuple[float, ...], r: float, *, events: float, replicas: int, seed: int
) -> HeavyRun:
    """Poisson arrivals, from empty, the first half of the time left out."""
    capacity = sum(rates)
    system = queueing.System(rates, capacity - r, service=Pareto(TAIL))
    horizon = events / (2.0 * (capacity - r) * replicas)
    # One long service makes lengths of order r^(-1/(tail - 1)).
    num_levels = int(20.0 * r ** (-1.0 / (TAIL - 1.0))) + 100
    run = queueing.long_run(
        system,
        JSQ(),
        horizon=horizon,
        warmup=0.5 * horizon,
        replicas=replicas,
        num_levels=num_levels,
        seed=seed,
    )
    return HeavyRun(r, r * _medians(run.values("occupancy")))


def _medians(occupancy: np.ndarray) -> np.ndarray:
    """(replica,) the median of Z + U from the shares of at least 1, 2, ... jobs."""
    at_least = np.column_stack([np.ones(len(occupancy)), occupancy])
    levels = np.arange(at_least.shape[1])
    return np.array([np.interp(-0.5, -each, levels) for each in at_least])
