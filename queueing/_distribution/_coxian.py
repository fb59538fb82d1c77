"""Phases in a row that may be left after the first one: any variability above 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._erlang_pair import ErlangPair
from ._law_checks import check_between, check_sampling
from ._phases import Phases, PhaseTypeLaw, check_phase_count
from ._powers import finite_or_inf

# 1/c of a whole 1/c may come out above it by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Coxian(PhaseTypeLaw):
    """A first phase, then with some probability the rest: mean 1, squared coeff. of variation c.

    For c > 1/2 two phases, of rates 2 and 1/c, the second with probability 1/(2c).  For
    c <= 1/2 the least k >= 1/c phases of equal rate k - q (k - 1), left after the first with

        q = (2 k c + k - 2 - sqrt(k^2 + 4 - 4 k c)) / (2 (c + 1)(k - 1)) .

    Arguments:
        scv: c, from 1e-12 to 1e12; 1 is the exponential law.
    Raises: ValueError that names the argument.
    Source: [Marie1980].
    """

    scv: float

    def __post_init__(self) -> None:
        remedy = "the scv; Deterministic() has 0"
        scv = check_between("scv", self.scv, 1e-12, 1e12, remedy=remedy)
        object.__setattr__(self, "scv", scv)

    @property
    def num_phases(self) -> int:
        """The number of phases, 2 for c > 1/2."""
        return max(2, math.ceil(1.0 / self.scv * (1.0 - _ROUNDING)))

    @cached_property
    def _equal_phases(self) -> ErlangPair | None:
        """The law for c <= 1/2; None above."""
        scv, count = self.scv, self.num_phases
        if scv > 0.5:
            return None
        # q with a root taken into the denominator, where nothing cancels.
        excess = count * scv - 1.0
        root = math.sqrt(count * count + 4.0 - 4.0 * count * scv)
        numerator = 2.0 * excess + 4.0 * excess / (count + root)
        leaves = min(max(numerator / (2.0 * (scv + 1.0) * (count - 1.0)), 0.0), 1.0)
        return ErlangPair(1, count, leaves, count - leaves * (count - 1.0))

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size), whatever c."""
        generator, shape = check_sampling(generator, size)
        if self._equal_phases is not None:
            return self._equal_phases.sample(generator, shape)
        goes_on = generator.random(shape) < 0.5 / self.scv
        samples = generator.standard_exponential(shape)
        samples *= 0.5
        samples += goes_on * (self.scv * generator.standard_exponential(shape))
        return samples

    def phases(self) -> Phases:
        """The phases in a row."""
        if self._equal_phases is not None:
            check_phase_count(self, self.num_phases)
            return self._equal_phases.phases()
        return Phases.series([1.0, 0.0], [2.0, 1.0 / self.scv], [0.5 / self.scv])

    def _moment(self, order: int) -> float:
        if self._equal_phases is not None:
            return self._equal_phases.moment(order)
        # Of both phases: k! times the sum over i of 2^-i c^(k - i).
        onward = 0.5 / self.scv
        log_factorial = math.lgamma(order + 1.0)
        log_half, log_scv = math.log(0.5), math.log(self.scv)
        both = sum(
            finite_or_inf(log_factorial + i * log_half + (order - i) * log_scv)
            for i in range(order + 1)
        )
        return (1.0 - onward) * finite_or_inf(log_factorial + order * log_half) + onward * both

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        if self._equal_phases is not None:
            return self._equal_phases.cdf(x)
        gap = 2.0 - 1.0 / self.scv
        second = np.exp(-x / self.scv) * -np.expm1(-gap * x) / gap
        return np.clip(-np.expm1(-2.0 * x) - second / self.scv, 0.0, 1.0)
