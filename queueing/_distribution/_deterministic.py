"""The constant 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._base import Distribution
from ._law_checks import check_sampling


@dataclass(frozen=True)
class Deterministic(Distribution):
    """The constant 1: squared coefficient of variation 0."""

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 0."""
        return 0.0

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Ones of shape `size`; the generator is not used."""
        return np.ones(check_sampling(generator, size)[1])

    def _moment(self, order: int) -> float:
        return 1.0

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.where(x >= 1.0, 1.0, 0.0)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return np.ones_like(p)
