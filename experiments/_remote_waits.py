"""Long runs of remote stations on common random numbers, for the experiments on [P4]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import queueing
from atlas.ensemble import Estimate

# Relaxation times of one station by itself that are left out.
_SETTLING = 4.0
# At most so much of a replica: short runs of many replicas would do nothing but settle.
_LONGEST_SHARE = 0.5


@dataclass(frozen=True)
class Waits:
    """One system of remote stations, simulated.

    Arguments:
        regime: the system and its chi.
        wait, time_to_service, imbalance, total: means by replica, (replica,); the first two over
            jobs, the others over time.
        prob_tie, shortest: P(the two lowest tie) and E Q_(1), by replica.
    """

    regime: queueing.Remote
    wait: np.ndarray
    time_to_service: np.ndarray
    imbalance: np.ndarray
    total: np.ndarray
    prob_tie: np.ndarray
    shortest: np.ndarray

    @cached_property
    def mean_wait(self) -> Estimate:
        """The mean wait in queue."""
        return Estimate.from_samples(self.wait)

    @cached_property
    def mean_time_to_service(self) -> Estimate:
        """The mean of travel + wait."""
        return Estimate.from_samples(self.time_to_service)

    @property
    def chi(self) -> float:
        """The fraction that looks."""
        return self.regime.fraction


def measure(regime: queueing.Remote, *, jobs: float, replicas: int, seed: int) -> Waits:
    """Simulate; runs with one `seed` share their arrivals and services.

    Arguments:
        regime: the system.
        jobs: about so many in all replicas together, those of the start left out.
        replicas: how many, at least 8 for an error from their spread.
        seed: of all.

    Returns:
        Waits; about 150 ns a job.
    """
    system = regime.system
    excess = 1 - system.load
    settling = _SETTLING * 4 / (float(system.service_rates.min()) * excess**2)
    duration = jobs / (system.arrival_rate * replicas)
    settling = min(settling, _LONGEST_SHARE * duration)
    run = queueing.long_run(
        regime,
        horizon=settling + duration,
        warmup=settling,
        initial=np.full(system.num_servers, round(0.7 / excess), dtype=np.int64),
        replicas=replicas,
        seed=seed,
    )
    several = system.num_servers > 1
    return Waits(
        regime,
        wait=run.values("wait"),
        time_to_service=run.values("time_to_service"),
        imbalance=run.values("imbalance"),
        total=run.values("total"),
        prob_tie=run.values("prob_tie") if several else np.zeros(replicas),
        shortest=run.values("lengths_ranked")[:, 0],
    )


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return float(np.sum(1 / np.arange(1, count + 1)))


def shortfall(difference: Estimate) -> tuple[float, float, float]:
    """Estimate, error and dof of min(0, difference), for claims that it is not negative."""
    return min(0.0, float(difference.value)), float(difference.std_error), float(difference.dof)
