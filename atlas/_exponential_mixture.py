"""The law of gaps and order where particles have drifts of their own: a mixture over orders."""

from dataclasses import dataclass
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ._check import check_all_gaps, check_gaps, check_probs, check_shape
from ._gap_process import GapProcess
from ._model import RankDiffusion
from ._start import check_draws, exponentials
from .ensemble import resolve_seed

# Orders are enumerated up to this many particles: 8! = 40320.
_MAX_PARTICLES = 8


@dataclass(frozen=True, eq=False)
class ExponentialMixture:
    """A mixture over orders p of independent exponential gaps.

        P(order p, gap_k > x_k for all k) = order_probs[p] exp(-sum_k rates[p, k] x_k) .

    `orders`, shape (order, rank): names from the lowest rank to the highest; `order_probs`, shape
    (order,); `rates`, shape (order, gap). Made by `stationary_gaps`. The marginal functions are
    those of the gaps. Computed in float64 with NumPy.
    """

    orders: np.ndarray
    order_probs: np.ndarray
    rates: np.ndarray

    @property
    def num_gaps(self) -> int:
        """Number of gaps."""
        return self.rates.shape[1]

    @property
    def mean(self) -> np.ndarray:
        """Mean gaps, shape (gap,)."""
        return self.order_probs @ (1 / self.rates)

    @property
    def std(self) -> np.ndarray:
        """Standard deviations of the gaps, shape (gap,)."""
        return np.sqrt(self.order_probs @ (2 / self.rates**2) - self.mean**2)

    @property
    def rank_probs(self) -> np.ndarray:
        """P(particle i has rank k), shape (particle, rank)."""
        size = self.orders.shape[1]
        names = np.arange(size)[:, None, None]
        return np.sum((names == self.orders.T) * self.order_probs, axis=-1)

    def survival(self, gaps: ArrayLike) -> np.ndarray:
        """Marginal tails, broadcast along the last axis."""
        gaps = np.maximum(check_gaps(gaps, self.num_gaps), 0)
        return np.einsum("p,p...->...", self.order_probs, np.exp(-self._each(gaps)))

    def cdf(self, gaps: ArrayLike) -> np.ndarray:
        """Marginal distribution functions, broadcast along the last axis."""
        gaps = np.maximum(check_gaps(gaps, self.num_gaps), 0)
        return np.einsum("p,p...->...", self.order_probs, -np.expm1(-self._each(gaps)))

    def log_prob(self, gaps: ArrayLike) -> np.ndarray:
        """Joint log density of the gaps, whatever the order, -inf outside the orthant.

        `gaps` has the shape (..., gap), the result (...). Cost: linear in the orders.
        """
        gaps = check_all_gaps(gaps, self.num_gaps)
        constants = np.log(self.order_probs) + np.sum(np.log(self.rates), axis=1)
        log_density = logsumexp(constants - gaps @ self.rates.T, axis=-1)
        return np.where(np.any(gaps < 0, axis=-1), -np.inf, log_density)

    def quantile(self, prob: ArrayLike) -> np.ndarray:
        """Marginal quantiles by bisection to rounding, broadcast along the last axis.

        Raises ValueError for a probability outside [0, 1].
        """
        prob = check_probs(prob, self.num_gaps)
        with np.errstate(divide="ignore"):
            standard = -np.log1p(-prob)
        low, high = standard / self.rates.max(axis=0), standard / self.rates.min(axis=0)
        for _ in range(100):
            middle = np.where(low < high, (low + high) / 2, low)
            is_below = self.cdf(middle) < prob
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.where(prob < 1, high, np.inf)

    def sample(self, key, shape=()) -> np.ndarray:
        """Independent gaps, shape (*shape, gap), float64; `key` is an int or a typed JAX key."""
        return self.sample_ordered(key, shape)[0]

    def sample_ordered(self, key, shape=()) -> tuple[np.ndarray, np.ndarray]:
        """Independent gaps (*shape, gap) with their orders (*shape, rank)."""
        shape = check_shape("shape", shape)
        draws = np.arange(check_draws(shape, 2 * self.num_gaps))
        gaps, orders = self.sample_replicas_ordered(resolve_seed(key).words, draws)
        size = orders.shape[-1]
        return gaps.reshape((*shape, self.num_gaps)), orders.reshape((*shape, size))

    def sample_replicas(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        """The gaps that belong to each replica's index, shape (replica, gap)."""
        return self.sample_replicas_ordered(words, replicas)[0]

    def sample_replicas_ordered(self, words: tuple[int, int], replicas: np.ndarray):
        """The gaps (replica, gap) and orders (replica, rank) of each replica's index."""
        draws = exponentials(words, replicas, self.num_gaps + 1)
        cumulative = np.cumsum(self.order_probs)
        chosen = np.searchsorted(cumulative / cumulative[-1], np.exp(-draws[:, -1]))
        return draws[:, :-1] / self.rates[chosen], self.orders[chosen]

    def describe(self) -> dict:
        """What a result records of the law."""
        return {"law": "mixture of exponentials over orders", "mean": self.mean.tolist()}

    def _each(self, gaps: np.ndarray) -> np.ndarray:
        rates = self.rates.reshape(-1, *(1,) * max(gaps.ndim - 1, 0), self.num_gaps)
        return rates * gaps


def mixture_over_orders(model: RankDiffusion) -> ExponentialMixture:
    """The stationary law of a model with name drifts: P(order p) proportional to prod 1/rates.

    rates[p] = -2 D^{-1} R^{-1} mu_p, mu_p the drift of the gaps in the order p; without a floor
    rates[p, k] = 4 sum_{l <= k} (g_l + gamma_{p(l)} - average) / (sigma_k^2 + sigma_{k+1}^2).
    Raises ValueError for more than eight particles, for variances that break skew symmetry, and
    unless all rates of all orders are positive. Cost: one solve for each of the N! orders.
    Source: [IchibaPapathanakosBannerKaratzasFernholz2011]; with a floor our derivation.
    """
    count = model.num_particles
    if count > _MAX_PARTICLES:
        raise ValueError(
            f"num_particles = {count} with name drifts has {factorial(count)} orders to sum over; "
            f"at most {_MAX_PARTICLES} particles are. Pass positions as initial instead."
        )
    assert model.name_drifts is not None
    orders = np.array(list(permutations(range(count))))
    process = GapProcess.from_model(model, orders[0])
    process.check_skew_symmetry()
    drifts = np.diff(model.drifts + model.name_drifts[orders], axis=1, prepend=0.0)
    mean_pushes = -process.solve_reflection(drifts[:, -process.num_gaps :].T).T
    with np.errstate(over="ignore"):
        rates = 2 * mean_pushes / process.covariance.diagonal()
    if np.any(rates <= 0):
        order, gap = (int(i) for i in np.argwhere(rates <= 0)[0])
        raise ValueError(
            f"the model is unstable: in the order {orders[order].tolist()} of the names gap {gap} "
            f"has the rate {rates[order, gap]:.6g}, which must be positive. Bring the name drifts "
            "closer together, or give the higher ranks lower drifts."
        )
    if not np.all(np.isfinite(rates)):
        raise ValueError(
            "rates overflow: the drifts are too large for such small variances; change the units."
        )
    logs = -np.sum(np.log(rates), axis=1)
    weights = np.exp(logs - logs.max())
    return ExponentialMixture(orders, weights / weights.sum(), rates)
