"""What every law of a service or interarrival time offers: mean 1, its variability, samples."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_array, check_integer
from ._checked_stream import CheckedStream
from ._inversion import invert_cdf
from ._stream import Stream

_OFFERS_NO = "offers samples and scv only; define its method"
_REMEDY = "or take a law of queueing.DISTRIBUTIONS"


class Distribution(ABC):
    """A law on the positive half-line with mean 1; a rate scales it.

    A service time at a server of rate mu is S / mu with S of this law.  Concrete laws are frozen,
    comparable, hashable, and final: a new one is one file and one line in `DISTRIBUTIONS`.  It
    must give `scv` and `sample`; `_moment` adds the moments above the second, `_cdf` the
    distribution function and with it, by bisection, the quantiles, unless `_quantile` knows them.

    Attributes:
        scv: the squared coefficient of variation Var S / (E S)^2; inf where that is infinite.
    """

    # Not an abstract property: for some laws it is a field of the dataclass.
    scv: float

    @property
    def mean(self) -> float:
        """The mean, 1 for every law."""
        return 1.0

    @abstractmethod
    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""

    def start(self, generator: np.random.Generator) -> Stream:
        """An endless stream of samples, the same in whatever blocks it is read."""
        return CheckedStream(self, generator)

    def moment(self, order: int) -> float:
        """The moment E S^order, inf where it is infinite.

        Arguments:
            order: int >= 0.
        Raises: ValueError for another order, or one above 2 that the law does not offer.
        """
        remedy = "an int >= 0, the power of which the mean is asked for"
        order = check_integer("order", order, minimum=0, remedy=remedy)
        return 1.0 if order < 2 else float(self._moment(order))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(S <= x), of the shape of `x`, 0 below 0.

        Arguments:
            x: points, not NaN; any shape.
        Raises: ValueError for other points, or where the law does not offer its cdf.
        """
        points = _numbers("x", x, "numbers, in units of the mean")
        values = np.zeros_like(points)
        inside = points >= 0.0
        values[inside] = self._cdf(points[inside])
        return values[()]

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """The least x with P(S <= x) >= p, of the shape of `p`; 0 and 1 give the support's ends.

        Arguments:
            p: probabilities in [0, 1]; any shape.
        Raises: ValueError for other numbers, or where the law does not offer its cdf.
        """
        probabilities = _numbers("p", p, "probabilities in [0, 1]")
        outside = (probabilities < 0.0) | (probabilities > 1.0)
        if outside.any():
            raise ValueError(f"p is {probabilities[outside][0]}; give probabilities in [0, 1]")
        return self._quantile(probabilities.ravel()).reshape(probabilities.shape)[()]

    def _moment(self, order: int) -> float:
        """E S^order for order >= 2."""
        if order > 2:
            raise ValueError(f"order is {order}, but {self!r} {_OFFERS_NO} `_moment`, {_REMEDY}")
        return 1.0 + self.scv

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        """P(S <= x) at (m,) points x >= 0."""
        raise ValueError(f"{self!r} {_OFFERS_NO} `_cdf`, {_REMEDY}")

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        """The quantiles at (m,) probabilities."""
        return invert_cdf(self._cdf, p)


def _numbers(name: str, values: ArrayLike, remedy: str) -> np.ndarray:
    """`values` as a float64 array without NaN."""
    array = check_array(name, values, remedy=remedy)
    if np.isnan(array).any():
        raise ValueError(f"{name} holds NaN; give {remedy}")
    return array
