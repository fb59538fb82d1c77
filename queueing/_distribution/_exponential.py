"""The exponential law with mean 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._exponential_stream import ExponentialStream
from ._law_checks import check_sampling
from ._phases import Phases, PhaseTypeLaw
from ._powers import finite_or_inf
from ._stream import Stream


@dataclass(frozen=True)
class Exponential(PhaseTypeLaw):
    """The memoryless law, P(S > t) = exp(-t): mean 1, squared coefficient of variation 1."""

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 1."""
        return 1.0

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        return generator.standard_exponential(shape)

    def start(self, generator: np.random.Generator) -> Stream:
        """An endless stream of samples; about 3 ns each."""
        return ExponentialStream(generator)

    def phases(self) -> Phases:
        """One phase of rate 1."""
        return Phases.of([1.0], [[-1.0]])

    def _moment(self, order: int) -> float:
        return finite_or_inf(math.lgamma(order + 1.0))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return -np.expm1(-x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return -np.log1p(-p)
