"""Stationary density of the gaps where it is no product: the algorithm of Dai and Harrison."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from ._check import check_all_gaps, check_count, check_vector
from ._gap_process import GapProcess
from ._model import RankDiffusion

_MAX_GAPS = 3
_DEGREES = {1: 8, 2: 18, 3: 10}

# Degree and number of the runs that find the rates of the reference law.
_MATCHING_DEGREE, _NUM_MATCHED = 6, 4


@dataclass(frozen=True, eq=False)
class StationaryDensity:
    """The density r(z) q(z) of stationary gaps, q a product of exponentials, r a polynomial.

    `rates`, shape (gap,): those of the reference q; `mean`, `std`, shape (gap,), with `mean_error`,
    `std_error`, their change from a smaller degree: an estimate of the numerical error, no bound;
    `degree`: that of the test functions. Made by `stationary_density`.
    """

    rates: np.ndarray
    degree: int
    mean: np.ndarray
    std: np.ndarray
    mean_error: np.ndarray
    std_error: np.ndarray
    _nodes: np.ndarray
    _weights: np.ndarray
    _ratio: Callable[[np.ndarray], np.ndarray]

    @property
    def num_gaps(self) -> int:
        """Number of gaps."""
        return self.rates.size

    def density(self, gaps: ArrayLike) -> np.ndarray:
        """The joint density at `gaps`, shape (..., gap) -> (...); 0 outside the orthant.

        A polynomial factor may fall below 0 by as much as the error.
        """
        gaps = check_all_gaps(gaps, self.num_gaps)
        flat = gaps.reshape(-1, self.num_gaps)
        reference = np.prod(self.rates) * np.exp(-np.maximum(flat, 0) @ self.rates)
        values = np.where(np.all(flat >= 0, axis=1), self._ratio(flat) * reference, 0.0)
        return values.reshape(gaps.shape[:-1])

    def expectation(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        """E f(gaps) by Gauss-Laguerre quadrature; `f` maps (..., gap) to (...), smooth."""
        return float(np.sum(self._weights * f(self._nodes)))


def stationary_density(
    model: RankDiffusion | GapProcess, *, degree: int | None = None, rates: ArrayLike | None = None
) -> StationaryDensity:
    """The stationary density of up to three gaps, whether or not it is a product.

    The density p and those of the pushes, p_k on the face z_k = 0, are the only ones with

        int (1/2 sum A_ij d_ij f + mu . grad f) p dz + sum_k int_{z_k = 0} (R_k . grad f) p_k = 0

    for all smooth f, R_k the columns of R. Among densities r q, q the product of exponentials of
    `rates` (and on a face that of the others, times the regulator rate), the function r = 1 is
    projected to what is orthogonal to the left-hand sides for all polynomials f up to `degree`.
    For a product law and its own rates r = 1 is exact. The error is estimated by a second run with
    two thirds of the degree.

    Arguments: `model`, a `RankDiffusion` or a `GapProcess` of at most three gaps; `degree` >= 2;
    `rates`, shape (gap,), None for those whose means are the density's own, found by iteration from
    2 (regulator rate) / A_kk, the product law's; tails of the density that are heavier than q's by
    a factor of two spoil the convergence. Returns a `StationaryDensity`. Raises ValueError for more
    gaps, name drifts, and models that are not stable. Source: [DaiHarrison1992]. Cost: a
    least-squares problem of some thousands of rows; a second or two for three gaps.
    """
    process = model if isinstance(model, GapProcess) else GapProcess.from_model(model)
    size = process.num_gaps
    if size > _MAX_GAPS:
        raise ValueError(
            f"model has {size} gaps; the density is computed for at most {_MAX_GAPS}. Simulate it, "
            "with the generator's identities as a check."
        )
    process.check_stable()
    pushes = process.regulator_rates()
    if rates is None:
        reference = _matched_rates(process, pushes)
    else:
        reference = check_vector("rates", rates, length=size)
        if np.any(reference <= 0):
            raise ValueError(f"rates = {reference.tolist()} must be positive.")
    highest = _DEGREES[size] if degree is None else check_count("degree", degree, 2, 40)
    lower = _Projection(process, reference, pushes, max(2 * highest // 3, 1))
    full = _Projection(process, reference, pushes, highest)
    (mean, std), (rough_mean, rough_std) = full.moments(), lower.moments()
    return StationaryDensity(
        rates=reference,
        degree=highest,
        mean=mean,
        std=std,
        mean_error=np.abs(mean - rough_mean),
        std_error=np.abs(std - rough_std),
        _nodes=full.nodes,
        _weights=full.weights,
        _ratio=full.ratio,
    )


def _matched_rates(process: GapProcess, pushes: np.ndarray) -> np.ndarray:
    rates = 2 * pushes / process.covariance.diagonal()
    for _ in range(_NUM_MATCHED):
        mean = _Projection(process, rates, pushes, _MATCHING_DEGREE).moments()[0]
        if not np.all(mean > 0):
            break
        rates = 1 / mean
    return rates


class _Projection:
    """r of one degree: what least squares leave of 1, at the nodes of a quadrature."""

    def __init__(self, process: GapProcess, rates: np.ndarray, pushes: np.ndarray, degree: int):
        self._process, self._rates = process, rates
        size = rates.size
        self._powers = np.array(
            [p for p in product(range(degree + 1), repeat=size) if 0 < sum(p) <= degree]
        )
        points, weights = np.polynomial.laguerre.laggauss(degree + 2)
        self.nodes, interior = _grid(points, weights, rates, None)
        rows, scales = [self._interior_rows(self.nodes)], [interior]
        for k in range(size):
            nodes, face = _grid(points, weights, rates, k)
            rows.append(self._face_rows(nodes, k))
            scales.append(face * pushes[k])
        matrix = np.concatenate(rows)
        scale = np.sqrt(np.concatenate(scales))
        scaled = matrix * scale[:, None]
        norms = np.linalg.norm(scaled, axis=0)
        try:
            solution = np.linalg.lstsq(scaled / norms, scale, rcond=1e-13)[0]
        except np.linalg.LinAlgError as error:
            raise ValueError(
                f"rates = {self._rates.tolist()} are too far from the model's own for numbers of "
                "64 bits; leave them out."
            ) from error
        self._coefficients = solution / norms
        unnormalised = interior * (1 - rows[0] @ self._coefficients)
        self._mass = unnormalised.sum()
        self.weights = unnormalised / self._mass

    def ratio(self, gaps: np.ndarray) -> np.ndarray:
        """r at gaps (point, gap)."""
        return (1 - self._interior_rows(gaps) @ self._coefficients) / self._mass

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of the gaps."""
        mean = self.weights @ self.nodes
        return mean, np.sqrt(np.maximum(self.weights @ self.nodes**2 - mean**2, 0))

    def _interior_rows(self, gaps: np.ndarray) -> np.ndarray:
        covariance, drift = self._process.covariance.toarray(), self._process.drift
        values = self._laguerre(gaps)
        size = drift.size
        rows = sum(drift[i] * self._partial(values, (i,)) for i in range(size))
        for i in range(size):
            for j in range(size):
                if covariance[i, j]:
                    rows = rows + covariance[i, j] / 2 * self._partial(values, (i, j))
        return np.asarray(rows)

    def _face_rows(self, gaps: np.ndarray, k: int) -> np.ndarray:
        direction = self._process.reflection.toarray()[:, k]
        values = self._laguerre(gaps)
        size = direction.size
        return np.asarray(sum(direction[i] * self._partial(values, (i,)) for i in range(size)))

    def _laguerre(self, gaps: np.ndarray) -> np.ndarray:
        """Laguerre polynomials of rates * gaps and two derivatives, (order, gap, degree, point)."""
        scaled = (gaps * self._rates).T
        count = int(self._powers.max()) + 1
        values = np.zeros((3, *scaled.shape[:1], count, scaled.shape[1]))
        values[0, :, 0] = 1
        for n in range(1, count):
            lower = values[0, :, n - 2] if n > 1 else 0
            values[0, :, n] = ((2 * n - 1 - scaled) * values[0, :, n - 1] - (n - 1) * lower) / n
            # L_n' = L_{n-1}' - L_{n-1}
            values[1, :, n] = values[1, :, n - 1] - values[0, :, n - 1]
            values[2, :, n] = values[2, :, n - 1] - values[1, :, n - 1]
        return values

    def _partial(self, values: np.ndarray, directions: tuple[int, ...]) -> np.ndarray:
        """The derivative of each test function in these directions, (point, function)."""
        result = np.ones((values.shape[-1], len(self._powers)))
        for i, rate in enumerate(self._rates):
            order = directions.count(i)
            result *= rate**order * values[order, i][self._powers[:, i]].T
        return result


def _grid(points: np.ndarray, weights: np.ndarray, rates: np.ndarray, face: int | None):
    """Nodes (point, gap) and weights of the reference law, or of that on the face z_face = 0."""
    axes = [points / rate for rate in rates]
    masses = [weights] * rates.size
    if face is not None:
        axes[face], masses[face] = np.zeros(1), np.ones(1)
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    mass = np.prod([m.ravel() for m in np.meshgrid(*masses, indexing="ij")], axis=0)
    return nodes, mass
