"""The Weibull law with mean 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from ._base import Distribution
from ._law_checks import check_between, check_sampling
from ._powers import finite_or_inf

_LEAST, _MOST = 0.05, 1e6


@dataclass(frozen=True)
class Weibull(Distribution):
    """P(S > t) = exp(-(t/u)^s) with u = 1/Gamma(1 + 1/s): mean 1.

    The squared coefficient of variation is Gamma(1 + 2/s)/Gamma(1 + 1/s)^2 - 1: above 1 for
    s < 1, the exponential law at s = 1, falling to 0 for large s.

    Arguments:
        shape: s, from 0.05 (scv 1.4e11) to 1e6.
    Raises: ValueError that names the argument.
    """

    shape: float

    def __post_init__(self) -> None:
        remedy = "the shape; Weibull.from_scv finds the one of a given scv"
        shape = check_between("shape", self.shape, _LEAST, _MOST, remedy=remedy)
        object.__setattr__(self, "shape", shape)

    @classmethod
    def from_scv(cls, scv: float) -> Weibull:
        """The Weibull law of squared coefficient of variation `scv`, by root finding."""
        low, high = _scv_of(_MOST), _scv_of(_LEAST)
        remedy = "the scv; Deterministic() has 0"
        scv = check_between("scv", scv, low, high, remedy=remedy)

        def excess(log_shape: float) -> float:
            return math.log(_scv_of(math.exp(log_shape)) / scv)

        root: Any = brentq(excess, math.log(_LEAST), math.log(_MOST), xtol=1e-15)
        return cls(min(max(math.exp(root), _LEAST), _MOST))

    @property
    def scv(self) -> float:
        """The squared coefficient of variation."""
        return _scv_of(self.shape)

    @property
    def _log_scale(self) -> float:
        return -float(gammaln(1.0 + 1.0 / self.shape))

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        return generator.weibull(self.shape, shape) * math.exp(self._log_scale)

    def _moment(self, order: int) -> float:
        return finite_or_inf(float(gammaln(1.0 + order / self.shape)) + order * self._log_scale)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return -np.expm1(-((x * math.exp(-self._log_scale)) ** self.shape))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return math.exp(self._log_scale) * (-np.log1p(-p)) ** (1.0 / self.shape)


def _scv_of(shape: float) -> float:
    log_ratio = gammaln(1.0 + 2.0 / shape) - 2.0 * gammaln(1.0 + 1.0 / shape)
    return math.expm1(float(log_ratio))
