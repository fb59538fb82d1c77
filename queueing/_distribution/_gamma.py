"""The gamma law with mean 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _gamma_law
from ._base import Distribution
from ._law_checks import check_between, check_sampling

_LEAST, _MOST = 1e-6, 1e12


@dataclass(frozen=True)
class Gamma(Distribution):
    """The density s^s x^(s-1) exp(-s x) / Gamma(s): mean 1, squared coefficient of variation 1/s.

    Whole shapes are Erlang's laws.  `Gamma.from_scv(c)` has shape 1/c.

    Arguments:
        shape: s, from 1e-6 to 1e12.
    Raises: ValueError that names the argument.
    """

    shape: float

    def __post_init__(self) -> None:
        remedy = "the shape, which is 1/scv"
        shape = check_between("shape", self.shape, _LEAST, _MOST, remedy=remedy)
        object.__setattr__(self, "shape", shape)

    @classmethod
    def from_scv(cls, scv: float) -> Gamma:
        """The gamma law of squared coefficient of variation `scv`, from 1e-12 to 1e6."""
        remedy = "the scv; Deterministic() has 0"
        return cls(1.0 / check_between("scv", scv, 1.0 / _MOST, 1.0 / _LEAST, remedy=remedy))

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 1/s."""
        return 1.0 / self.shape

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        return _gamma_law.sample(self.shape, generator, shape)

    def _moment(self, order: int) -> float:
        return _gamma_law.moment(self.shape, order)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return _gamma_law.cdf(self.shape, x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return _gamma_law.quantile(self.shape, p)
