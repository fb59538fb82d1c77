"""The exponential law with mean 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._base import Distribution


@dataclass(frozen=True)
class Exponential(Distribution):
    """The memoryless law, P(S > t) = exp(-t): mean 1, squared coefficient of variation 1."""

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 1."""
        return 1.0

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        return generator.standard_exponential(size)
