"""Laws in closed form: products of exponentials, and the stationary gaps of a model."""

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike

from ._check import check_all_gaps, check_gaps, check_probs, check_shape, check_vector
from ._exponential_mixture import ExponentialMixture, mixture_over_orders
from ._gap_process import GapProcess
from ._model import RankDiffusion
from ._start import check_draws, exponentials
from .ensemble import resolve_seed

# Rates that a result lists one by one.
_MAX_DESCRIBED = 10_000


@dataclass(frozen=True, eq=False, init=False)
class ProductExponential:
    """Independent exponential gaps: P(gap_k > x_k for all k) = exp(-sum_k rates[k] x_k), x >= 0.

    Argument: `rates`, shape (gap,), per unit of length. Everything is computed in float64 with
    NumPy, since laws serve as oracles. Raises ValueError for rates that are not positive and
    finite.
    """

    rates: np.ndarray

    def __init__(self, rates: ArrayLike):
        checked = check_vector("rates", rates)
        if np.any(checked <= 0):
            index = int(np.flatnonzero(checked <= 0)[0])
            raise ValueError(f"rates[{index}] = {checked[index]} must be positive.")
        object.__setattr__(self, "rates", checked)

    @property
    def num_gaps(self) -> int:
        """Number of gaps."""
        return self.rates.size

    @property
    def mean(self) -> np.ndarray:
        """1 / rates, shape (gap,)."""
        return 1 / self.rates

    @property
    def std(self) -> np.ndarray:
        """Standard deviations, equal to the means, shape (gap,)."""
        return 1 / self.rates

    def cdf(self, gaps: ArrayLike) -> np.ndarray:
        """Marginal distribution functions 1 - exp(-rates x), broadcast along the last axis."""
        return -np.expm1(-self.rates * np.maximum(check_gaps(gaps, self.num_gaps), 0))

    def survival(self, gaps: ArrayLike) -> np.ndarray:
        """Marginal tails exp(-rates x), broadcast along the last axis."""
        return np.exp(-self.rates * np.maximum(check_gaps(gaps, self.num_gaps), 0))

    def log_prob(self, gaps: ArrayLike) -> np.ndarray:
        """Joint log density sum_k (log rates[k] - rates[k] x_k), -inf outside the orthant.

        `gaps` has the shape (..., gap), the result (...).
        """
        gaps = check_all_gaps(gaps, self.num_gaps)
        log_density = np.sum(np.log(self.rates) - self.rates * gaps, axis=-1)
        return np.where(np.any(gaps < 0, axis=-1), -np.inf, log_density)

    def quantile(self, prob: ArrayLike) -> np.ndarray:
        """Marginal quantiles -log(1 - p) / rates, broadcast along the last axis.

        Raises ValueError for a probability outside [0, 1].
        """
        prob = check_probs(prob, self.num_gaps)
        with np.errstate(divide="ignore"):
            return -np.log1p(-prob) / self.rates

    def sample(self, key, shape=()) -> np.ndarray:
        """Independent draws, shape (*shape, gap), float64; `key` is an int or a typed JAX key.

        Cost: one Philox call per two numbers.
        """
        shape = check_shape("shape", shape)
        draws = np.arange(check_draws(shape, self.num_gaps))
        standard = exponentials(resolve_seed(key).words, draws, self.num_gaps)
        return (standard / self.rates).reshape((*shape, self.num_gaps))

    def sample_replicas(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        """The draw that belongs to each replica's index, shape (replica, gap)."""
        return exponentials(words, replicas, self.num_gaps) / self.rates

    def describe(self) -> dict:
        """What a result records of the law: very many rates by a digest only."""
        description: dict = {"law": "product of exponentials"}
        if self.num_gaps <= _MAX_DESCRIBED:
            return description | {"rates": self.rates.tolist()}
        digest = sha256(self.rates.tobytes()).hexdigest()
        return description | {"num_gaps": self.num_gaps, "rates_sha256": digest}


def stationary_gaps(model: RankDiffusion) -> ProductExponential | ExponentialMixture:
    """The stationary law of a model's gaps, where it is a product of exponentials.

        rates = -2 D^{-1} R^{-1} mu   if R is an M-matrix, R^{-1} mu < 0 and 2 A = R D + D R^T,

    with the orthant form (mu, A, R) of `GapProcess` and D = diag(A). With a floor this means
    lambda_k = -(2 / sigma^2) sum_{i >= k} delta_i. For the closure "free" it is the invariant law
    Exp(a-b) x Exp(a) x ... of the infinite model, cut to the gaps that are kept. With name drifts
    it is a mixture of such products over the orders of the names, an `ExponentialMixture`.

    Raises ValueError that names the violated condition where no such law exists.
    Source: [HarrisonWilliams1987], [P0], [P1]. Cost: linear in the number of particles.
    """
    if not isinstance(model, RankDiffusion):
        raise ValueError(f"model = {model!r} is no RankDiffusion; make one with reflected_atlas.")
    infinite = model.infinite
    if infinite is not None and infinite.closure == "free":
        if infinite.b >= infinite.a:
            raise ValueError(
                f"b = {infinite.b} must be below a = {infinite.a} for an invariant law of the "
                "infinite model; start from positions instead."
            )
        rates = np.full(model.num_particles, infinite.a)
        rates[0] -= infinite.b
        return ProductExponential(rates)
    if model.has_names:
        return mixture_over_orders(model)
    if model.floor and model.has_equal_variances and model.has_symmetric_collisions:
        # The same in closed form, for very many particles; what is unstable is refused below.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rates = -2 / model.variances[0] * np.cumsum(model.drifts[::-1])[::-1]
        if np.all(rates > 1e-6 * np.max(np.abs(model.drifts)) / model.variances[0]):
            return ProductExponential(rates)
    return ProductExponential(GapProcess.from_model(model).product_rates())
