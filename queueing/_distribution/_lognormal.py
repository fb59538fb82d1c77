"""The lognormal law with mean 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from ._base import Distribution
from ._law_checks import check_between, check_sampling
from ._powers import finite_or_inf


@dataclass(frozen=True)
class Lognormal(Distribution):
    """exp(s Z - s^2/2) for a standard normal Z, with s^2 = log(1 + c): mean 1, scv c.

    E S^k = (1 + c)^(k(k-1)/2): all moments are finite, though they do not determine the law.

    Arguments:
        scv: c, from 1e-12 to 1e12.
    Raises: ValueError that names the argument.
    """

    scv: float

    def __post_init__(self) -> None:
        remedy = "the scv; Deterministic() has 0"
        scv = check_between("scv", self.scv, 1e-12, 1e12, remedy=remedy)
        object.__setattr__(self, "scv", scv)

    @property
    def sigma(self) -> float:
        """The standard deviation s of log S."""
        return math.sqrt(math.log1p(self.scv))

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        exponent = generator.standard_normal(shape)
        exponent *= self.sigma
        exponent -= 0.5 * self.sigma**2
        return np.exp(exponent, out=exponent)

    def _moment(self, order: int) -> float:
        return finite_or_inf(0.5 * order * (order - 1) * math.log1p(self.scv))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return ndtr(np.log(x) / self.sigma + 0.5 * self.sigma)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return np.exp(self.sigma * ndtri(p) - 0.5 * self.sigma**2)
