"""An Atlas market: closed forms of its capital distribution.

Log-capitals of N stocks follow the Atlas model with drift g on the lowest and variance s^2. With
alpha = 2 g / (N s^2) the gap between the stocks that are j-th and (j+1)-th from the top is
Exp(alpha j), independently. These are the gaps of an ordered sample of N - 1 exponentials of rate
alpha above the lowest stock (Renyi), so capitals over the lowest one are N - 1 independent Pareto
variables, P(X > x) = x^-alpha for x >= 1, beside a 1 (our derivation).
"""

from __future__ import annotations

from functools import cache
from math import gamma

import numpy as np

import atlas


def market(num_stocks: int, exponent: float, variance: float) -> atlas.RankDiffusion:
    """The Atlas model whose capitals are Pareto with this exponent alpha: g = alpha N s^2 / 2."""
    drifts = np.zeros(num_stocks)
    drifts[0] = exponent * num_stocks * variance / 2
    return atlas.first_order(drifts, np.full(num_stocks, variance))


def mean_log_capital(num_stocks: int, exponent: float) -> np.ndarray:
    """E log capital of the j-th from the top over the lowest: sum_{i=j}^{N-1} 1/(alpha i)."""
    j = np.arange(1, num_stocks)
    return np.append(np.cumsum((1 / (exponent * j))[::-1])[::-1], 0.0)


def log_log_slope(log_weights: np.ndarray, num_ranks: int) -> np.ndarray:
    """Least-squares slope of log weight against log rank over the `num_ranks` largest stocks.

    `log_weights` (..., rank), largest first; adding a constant changes nothing.
    """
    x = np.log(np.arange(1, num_ranks + 1))
    centred = x - x.mean()
    return log_weights[..., :num_ranks] @ (centred / np.square(centred).sum())


def weights(log_capital: np.ndarray) -> np.ndarray:
    """Shares of the whole market, along the last axis."""
    capital = np.exp(log_capital - log_capital.max(axis=-1, keepdims=True))
    return capital / capital.sum(axis=-1, keepdims=True)


@cache
def mean_power_sum(num_stocks: int, exponent: float, power: float) -> float:
    r"""E sum_i w_i^p of the weights w: p = 2 is the Herfindahl index, p = 1/2 a diversity.

        (1/Gamma(p)) int_0^inf s^{p-1} e^{-s} [ (N-1) psi(s) phi(s)^{N-2} + phi(s)^{N-1} ] ds ,

    phi(s) = E e^{-s X}, psi(s) = E X^p e^{-s X}, X Pareto: from S^-p = int s^{p-1} e^{-s S} ds /
    Gamma(p), S the total (our derivation).

    Arguments:
        num_stocks: N >= 2.
        exponent: alpha > 0.
        power: p > 0.

    Returns:
        The mean, to about 1e-8. Cost: milliseconds.
    """
    log_s = np.linspace(-60.0, 5.0, 4001)
    s = np.exp(log_s)
    others = num_stocks - 1
    phi, psi = (_pareto_moment(s, exponent, p) for p in (0.0, power))
    total = others * psi * phi ** (others - 1) + phi**others
    return float(np.trapezoid(s**power * np.exp(-s) * total, log_s)) / gamma(power)


def _pareto_moment(s: np.ndarray, exponent: float, power: float) -> np.ndarray:
    """E X^p e^{-s X} = alpha int_0^inf exp((p - alpha) u - s e^u) du, by Gauss and Legendre."""
    points, mass = np.polynomial.legendre.leggauss(400)
    # Beyond its end the integrand is below e^-40 of its size.
    end = np.log1p(40 / s)
    if exponent > power:
        end = np.minimum(end, 40 / (exponent - power))
    u = end[:, None] * (points + 1) / 2
    values = np.exp((power - exponent) * u - s[:, None] * np.exp(u))
    return exponent * end / 2 * (values @ mass)
