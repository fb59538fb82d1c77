"""Sums of exponential phases of equal rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import check_integer
from . import _gamma_law
from ._exponential_stream import MOST_PHASES, ExponentialStream
from ._law_checks import check_sampling
from ._phases import Phases, PhaseTypeLaw, check_phase_count
from ._stream import SampleStream, Stream


@dataclass(frozen=True)
class Erlang(PhaseTypeLaw):
    """The sum of k exponential phases of rate k: mean 1, squared coefficient of variation 1/k.

    P(S > t) = exp(-k t) sum_{i < k} (k t)^i / i! .  One phase is the exponential law.

    Arguments:
        shape: the number k of phases, an int >= 1.
    Raises: ValueError that names the argument.
    """

    shape: int

    def __post_init__(self) -> None:
        remedy = "an int from 1 to 10^12, the number of phases; Gamma takes other shapes"
        shape = check_integer("shape", self.shape, minimum=1, remedy=remedy)
        if shape > 10**12:
            raise ValueError(f"shape is {self.shape!r}; give {remedy}")
        object.__setattr__(self, "shape", shape)

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 1/k."""
        return 1.0 / self.shape

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size), whatever k."""
        generator, shape = check_sampling(generator, size)
        return _gamma_law.sample(self.shape, generator, shape)

    def start(self, generator: np.random.Generator) -> Stream:
        """An endless stream of samples; about 2 + k ns each for few phases, 20 ns for many."""
        if self.shape > MOST_PHASES:
            return SampleStream(self, generator)
        return ExponentialStream(generator, num_phases=self.shape, scale=1.0 / self.shape)

    def phases(self) -> Phases:
        """k phases in a row, each of rate k."""
        count = check_phase_count(self, self.shape)
        rates = np.full(count, float(count))
        return Phases.series(np.eye(1, count)[0], rates, np.ones(count))

    def _moment(self, order: int) -> float:
        return _gamma_law.moment(self.shape, order)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return _gamma_law.cdf(self.shape, x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return _gamma_law.quantile(self.shape, p)
