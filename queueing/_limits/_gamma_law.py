"""The number of jobs between the Halfin-Whitt regime and heavy traffic: a Gamma law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._checks import check_array, check_positive
from ._speed_classes import speed_classes


@dataclass(frozen=True)
class GammaLaw:
    r"""The law with density rate^shape x^(shape-1) exp(-rate x) / Gamma(shape), x > 0.

    Arguments:
        shape, rate: positive; the rate per unit of x.

    Raises: ValueError that names the argument, its value and the remedy.
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            value = check_positive(name, getattr(self, name), remedy="a finite number > 0")
            object.__setattr__(self, name, value)

    @property
    def mean(self) -> float:
        """shape / rate."""
        return self.shape / self.rate

    @property
    def std(self) -> float:
        """sqrt(shape) / rate."""
        return self.shape**0.5 / self.rate

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(X <= x), elementwise."""
        return special.gammainc(self.shape, self.rate * np.maximum(_points(x), 0.0))

    def survival(self, x: ArrayLike) -> np.ndarray:
        """P(X > x), elementwise."""
        return special.gammaincc(self.shape, self.rate * np.maximum(_points(x), 0.0))

    def log_prob(self, x: ArrayLike) -> np.ndarray:
        """Log density, elementwise; -inf below 0."""
        x = _points(x)
        scaled = self.rate * np.maximum(x, 0.0)
        with np.errstate(invalid="ignore"):
            log_density = special.xlogy(self.shape - 1.0, scaled) - scaled
        # Both terms are infinite there, and the second is larger.
        log_density = np.where(np.isinf(scaled), -np.inf, log_density)
        log_density = log_density + np.log(self.rate) - special.gammaln(self.shape)
        return np.where(x >= 0.0, log_density, -np.inf)

    def quantile(self, prob: ArrayLike) -> np.ndarray:
        """The x with P(X <= x) = prob, elementwise; ValueError outside [0, 1]."""
        prob = check_array("prob", prob, remedy="probabilities in [0, 1]")
        if not np.all((prob >= 0.0) & (prob <= 1.0)):
            raise ValueError(f"prob is {prob}; give probabilities in [0, 1]")
        return special.gammaincinv(self.shape, prob) / self.rate


def _points(x: ArrayLike) -> np.ndarray:
    return check_array("x", x, remedy="points of the real line")


def total_beyond_halfin_whitt(
    beta: float, service_rates: ArrayLike | None = None, shares: ArrayLike | None = None
) -> GammaLaw:
    r"""The law of (jobs - N) / N^alpha at load 1 - beta N^{-alpha}, 1/2 < alpha < 1, N large.

    Equal servers under JSQ: Gamma(2, rate beta).  Above N jobs the second jobs hold up I idle
    servers in the mean N / #{second jobs}, so that Y = (jobs - N)/N^alpha, time in units of
    N^{2 alpha - 1}, has

        dY = (1/Y - beta) dt + sqrt(2) dW .

    Servers of different speeds under JFSQ: second jobs are with the fastest and idle are the
    slowest, which makes the pull (mu_min/mu_max)/Y, and we conjecture

        Gamma(1 + mu_min / mu_max, rate beta) .

    The next order replaces beta by beta - c N^{alpha - 1}, c = `fast_idle_rate`.

    Arguments:
        beta: > 0.
        service_rates: (C,) rates of the classes; None: equal servers.
        shares: (C,) shares of the servers, sum 1; a class of share 0 is left out.  None: equal.

    Returns: `GammaLaw`.

    Raises: ValueError that names the argument, its value and the remedy.

    Source: our derivation; [P2] for the policy.
    """
    beta = check_positive("beta", beta, remedy="a finite number > 0")
    classes = speed_classes(service_rates, shares)
    rates = classes.rates[classes.shares > 0.0]
    return GammaLaw(1.0 + float(rates.min() / rates.max()), beta)
