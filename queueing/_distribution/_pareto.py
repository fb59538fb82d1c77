"""Pareto's law with mean 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._checks import check_number
from ._base import Distribution
from ._law_checks import check_sampling


@dataclass(frozen=True)
class Pareto(Distribution):
    """P(S > t) = (u/t)^a for t >= u = (a - 1)/a, 1 below: mean 1, no job shorter than u.

    The moment of order k is finite for k < a only, a u^k/(a - k).  The squared coefficient of
    variation is 1/(a (a - 2)), inf for a <= 2: then no heavy-traffic formula applies.

    Arguments:
        tail: a > 1, finite; at 1 and below the mean is infinite.
    Raises: ValueError that names the argument.
    """

    tail: float

    def __post_init__(self) -> None:
        remedy = "a finite number > 1, since the mean is infinite at and below 1"
        tail = check_number("tail", self.tail, remedy=remedy)
        if tail <= 1.0:
            raise ValueError(f"tail is {self.tail!r}; give {remedy}")
        object.__setattr__(self, "tail", tail)

    @property
    def minimum(self) -> float:
        """The least value u = (a - 1)/a."""
        return (self.tail - 1.0) / self.tail

    @property
    def scv(self) -> float:
        """The squared coefficient of variation, 1/(a (a - 2)), inf for a <= 2."""
        return 1.0 / (self.tail * (self.tail - 2.0)) if self.tail > 2.0 else math.inf

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        exponent = generator.standard_exponential(shape)
        exponent /= self.tail
        samples = np.exp(exponent, out=exponent)
        samples *= self.minimum
        return samples

    def _moment(self, order: int) -> float:
        if order >= self.tail:
            return math.inf
        return self.tail * self.minimum**order / (self.tail - order)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return -np.expm1(self.tail * np.log(self.minimum / np.maximum(x, self.minimum)))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return self.minimum * np.exp(-np.log1p(-p) / self.tail)
