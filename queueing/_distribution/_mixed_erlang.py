"""Mixtures of k - 1 and k exponential phases: variability below the exponential's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._erlang_pair import ErlangPair
from ._law_checks import check_between, check_sampling
from ._phases import Phases, PhaseTypeLaw, check_phase_count

# 1/c of a whole 1/c may come out above it by rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class MixedErlang(PhaseTypeLaw):
    """k - 1 phases with probability p, else k, each of rate k - p: any scv c from 0 to 1.

    k is the least integer with 1/k <= c, and
    p = (k c - sqrt(k (1 + c) - k^2 c))/(1 + c).  Whole 1/c are Erlang's laws.

    Arguments:
        scv: c, from 1e-12 to 1.
    Raises: ValueError that names the argument.
    Source: [Tijms2003].
    """

    scv: float

    def __post_init__(self) -> None:
        remedy = "the scv; Hyperexponential goes above 1, Deterministic() has 0"
        scv = check_between("scv", self.scv, 1e-12, 1.0, remedy=remedy)
        object.__setattr__(self, "scv", scv)

    @cached_property
    def _pair(self) -> ErlangPair:
        scv, count = self.scv, self.num_phases
        root = math.sqrt(max(count * (1.0 + scv - count * scv), 0.0))
        prob_low = min(max((count * scv - root) / (1.0 + scv), 0.0), 1.0)
        return ErlangPair(count - 1, count, prob_low, count - prob_low)

    @property
    def num_phases(self) -> int:
        """The larger number k of phases."""
        return math.ceil(1.0 / self.scv * (1.0 - _ROUNDING))

    @property
    def prob_fewer(self) -> float:
        """The probability p of k - 1 phases."""
        return self._pair.prob_low

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size), whatever k."""
        return self._pair.sample(*check_sampling(generator, size))

    def phases(self) -> Phases:
        """k phases in a row, left before the last one with probability p."""
        check_phase_count(self, self.num_phases)
        return self._pair.phases()

    def _moment(self, order: int) -> float:
        return self._pair.moment(order)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return self._pair.cdf(x)
