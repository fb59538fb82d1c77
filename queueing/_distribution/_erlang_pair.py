"""Two Erlang laws of one rate, mixed: what MixedErlang and Coxian have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from ._phases import Phases


@dataclass(frozen=True)
class ErlangPair:
    """`low` phases with probability `prob_low`, else `high` phases, all of rate `rate`."""

    low: int
    high: int
    prob_low: float
    rate: float

    @property
    def _branches(self) -> tuple[tuple[float, int], ...]:
        return (self.prob_low, self.low), (1.0 - self.prob_low, self.high)

    def sample(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Independent samples: the low phases, and with probability 1 - prob_low the others."""
        goes_on = generator.random(shape) >= self.prob_low
        samples = generator.standard_gamma(float(self.low), shape)
        samples += goes_on * generator.standard_gamma(float(self.high - self.low), shape)
        samples /= self.rate
        return samples

    def moment(self, order: int) -> float:
        """The moment of that order."""
        factors = range(order)
        return sum(
            weight * math.prod((count + i) / self.rate for i in factors)
            for weight, count in self._branches
        )

    def cdf(self, x: np.ndarray) -> np.ndarray:
        """The distribution function at (m,) points >= 0."""
        total = np.zeros_like(x)
        for weight, count in self._branches:
            total += weight * (gammainc(count, self.rate * x) if count else 1.0)
        return total

    def phases(self) -> Phases:
        """`high` phases in a row, left after the first `low` with probability `prob_low`."""
        onward = np.ones(self.high)
        if self.low:
            onward[self.low - 1] -= self.prob_low
        return Phases.series(np.eye(1, self.high)[0], np.full(self.high, self.rate), onward)
