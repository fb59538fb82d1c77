"""Laws that extreme congestion is held to: ranks, imbalance, bulk, and where its replicas start."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaincc


def rank_mean(rank: int, a: float, b: float) -> float:
    """Mean of the k-th scaled rank, 1/(a-b) + (k-1)/a."""
    return 1 / (a - b) + (rank - 1) / a


def rank_cdf(x: np.ndarray, rank: int, a: float, b: float) -> np.ndarray:
    """Distribution function of Exp(a-b) + Gamma(k-1, rate a), independent.

        P(X > x) = P(G > x) + e^{-(a-b) x} (a/b)^{k-1} P(Gamma(k-1, rate b) <= x),

    G the Gamma variable: integrate the exponential tail against its density (our derivation).

    Arguments:
        x: any shape.
        rank: k >= 1.
        a, b: 0 < b < a.

    Returns:
        The shape of `x`.

    Source: [P0].
    """
    x = np.maximum(np.asarray(x, float), 0)
    shape = rank - 1
    if shape == 0:
        return -np.expm1(-(a - b) * x)
    below = np.exp(-(a - b) * x) * (a / b) ** shape * gammainc(shape, b * x)
    return 1 - gammaincc(shape, a * x) - below


def gumbel_cdf(x: np.ndarray) -> np.ndarray:
    """exp(-exp(-x)), the limit of (a n^{-3/2}) (max - min) - log n."""
    return np.exp(-np.exp(-np.asarray(x, float)))


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return float(np.sum(1 / np.arange(1, count + 1)))


def imbalance_mean(n: int, a: float) -> float:
    """Mean imbalance of the product law, (n^{3/2}/a) (1 + ... + 1/(n-1)), in jobs."""
    return n**1.5 / a * harmonic(n - 1)


def bulk_profile(share: np.ndarray, a: float) -> np.ndarray:
    """Limit of Q_(xn) / n^{3/2}, -log(1-x)/a."""
    return -np.log1p(-np.asarray(share, float)) / a


def rounded_mean(rates: np.ndarray) -> np.ndarray:
    """Means of floor(E_1 + ... + E_k), E_i exponential of rate rates[i], per job.

    E floor(S) = E S - 1/2 + f(0)/12 + ... by Euler and Maclaurin, f the density of S; f(0) is 0
    from the second on, and the first has 1/(e^rate - 1) exactly. What is left out is below
    rate^2/100 jobs.
    """
    means = np.cumsum(1 / rates) - 0.5
    means[0] = 1 / np.expm1(rates[0])
    return means
