"""The uniform law around 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._base import Distribution
from ._law_checks import check_between, check_sampling
from ._powers import finite_or_inf


@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform on [1 - w, 1 + w]: mean 1, squared coefficient of variation w^2/3.

    Arguments:
        half_width: w, from 1e-6 to 1.
    Raises: ValueError that names the argument.
    """

    half_width: float = 1.0

    def __post_init__(self) -> None:
        remedy = "half the length of the interval around 1; Deterministic() has 0"
        width = check_between("half_width", self.half_width, 1e-6, 1.0, remedy=remedy)
        object.__setattr__(self, "half_width", width)

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, w^2/3."""
        return self.half_width**2 / 3.0

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        samples = generator.random(shape)
        samples *= 2.0 * self.half_width
        samples += 1.0 - self.half_width
        return samples

    def _moment(self, order: int) -> float:
        width, power = self.half_width, order + 1
        with np.errstate(divide="ignore"):
            log_ratio = float(np.log1p(-width)) - math.log1p(width)
        share = -math.expm1(power * log_ratio) / (2.0 * width * power)
        return finite_or_inf(power * math.log1p(width) + math.log(share))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.clip((x - (1.0 - self.half_width)) / (2.0 * self.half_width), 0.0, 1.0)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return 1.0 - self.half_width + 2.0 * self.half_width * p
