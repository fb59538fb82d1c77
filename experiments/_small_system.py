"""Long runs of extreme congestion at small n, whose bulk forgets its start in 4 n^2/a^2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import queueing

from ._congestion_laws import imbalance_mean
from ._frame import controlled

# Relaxation times that are left out.
_WARMUP = 4.0


@dataclass(frozen=True)
class SmallSystem:
    """Time averages of each replica, and what they are compared with.

    Arguments:
        n, a, b: the system as theory has it.
        shortest: time average of Q_(1), shape (replica,).
        mean_queue: time average of the mean queue, shape (replica,).
        imbalance, idle: of max - min, and of the number of idle servers, shape (replica,).
        wait: mean wait of all jobs, as they found it, times n, shape (replica,).
        profile: mean ranked lengths, shape (rank,).
    """

    n: int
    a: float
    b: float
    shortest: np.ndarray
    mean_queue: np.ndarray
    imbalance: np.ndarray
    idle: np.ndarray
    wait: np.ndarray
    profile: np.ndarray

    @property
    def identity(self) -> np.ndarray:
        """Mean queue - (b/a)(1 + Q_(1)), whose mean is exactly n^{3/2}/a - 1."""
        return self.mean_queue - self.b / self.a * (1 + self.shortest)

    @property
    def exact_identity(self) -> float:
        """n^{3/2}/a - 1 (second moment identity of the chain)."""
        return self.n**1.5 / self.a - 1

    def imbalance_ratio(self) -> np.ndarray:
        """Imbalance over its mean in the product law, with the identity as control variate."""
        ratio = self.imbalance / imbalance_mean(self.n, self.a)
        return controlled(ratio, self.identity, np.array(self.exact_identity))


def small_system(
    regime: Any, n: int, a: float, b: float, *, relaxations: float, replicas: int, seed: int
) -> SmallSystem:
    """Run replicas for many relaxation times of the bulk.

    Arguments:
        regime: what is simulated, said to be the system of n, a and b.
        n, a, b: the system of the theory.
        relaxations: relaxation times 4 n^2/a^2 that each replica is averaged over.
        replicas: how many, at least 20 for errors from their spread.
        seed: of all.

    Returns:
        SmallSystem; cost 2 n^2 events, 13 ns each, per unit of time.
    """
    relaxation = 4 * n**2 / a**2
    run = queueing.long_run(
        regime,
        horizon=(relaxations + _WARMUP) * relaxation,
        warmup=_WARMUP * relaxation,
        initial="stationary",
        replicas=replicas,
        seed=seed,
        engine="markov",
    )
    ranked = run.values("lengths_ranked")
    return SmallSystem(
        n,
        a,
        b,
        ranked[:, 0],
        run.values("total") / n,
        run.values("imbalance"),
        run.values("idle_servers"),
        run.values("wait") * n,
        ranked.mean(axis=0),
    )
