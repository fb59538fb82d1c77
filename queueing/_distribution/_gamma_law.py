"""The gamma law of mean 1 as functions of its shape; Erlang and Gamma share them."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammainc, gammaincinv, gammaln

from ._powers import finite_or_inf


def sample(shape: float, generator: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Independent samples of shape `size`."""
    return generator.standard_gamma(shape, size) / shape


def moment(shape: float, order: int) -> float:
    """E S^k = s (s+1) ... (s+k-1) / s^k."""
    if order <= 64:
        return math.prod(1.0 + i / shape for i in range(order))
    log_moment = gammaln(shape + order) - gammaln(shape) - order * math.log(shape)
    return finite_or_inf(float(log_moment))


def cdf(shape: float, x: np.ndarray) -> np.ndarray:
    """The regularised incomplete gamma function P(s, s x)."""
    return gammainc(shape, shape * x)


def quantile(shape: float, p: np.ndarray) -> np.ndarray:
    """The inverse of `cdf`."""
    return gammaincinv(shape, p) / shape
