"""The gap process of a rank-based diffusion: a reflected Brownian motion in the orthant."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from ._check import check_vector
from ._model import RankDiffusion

# Relative rounding that the checks of signs and of skew symmetry forgive.
_TOLERANCE = 1e-9

# Gaps up to which the eigenvalues of a covariance are checked.
_MAX_DECOMPOSED = 200

# Gaps of which all principal submatrices are checked.
_MAX_ENUMERATED = 12


@dataclass(frozen=True, eq=False, init=False)
class GapProcess:
    """Reflected Brownian motion Z in the orthant: dZ = drift dt + dW + reflection dl, Z >= 0.

    W has covariance `covariance` per unit of time, l_k grows only while Z_k = 0, and row k of
    `reflection`, with unit diagonal, says how each regulator moves gap k.

    Arguments: `drift`, shape (gap,); `covariance`, `reflection`, shape (gap, gap), dense or SciPy
    sparse. Raises ValueError for other shapes, a covariance that is not symmetric, or a diagonal
    of `reflection` that is not 1. Source: [HarrisonReiman1981], [HarrisonWilliams1987].
    """

    drift: np.ndarray
    covariance: sparse.csc_array
    reflection: sparse.csc_array

    def __init__(self, drift: ArrayLike, covariance, reflection):
        vector = check_vector("drift", drift)
        size = vector.size
        given = {"covariance": covariance, "reflection": reflection}
        matrices = {name: _as_sparse(name, matrix) for name, matrix in given.items()}
        for name, matrix in matrices.items():
            if matrix.shape != (size, size):
                raise ValueError(
                    f"{name} has shape {matrix.shape}; the drift has {size} gaps, so pass "
                    f"({size}, {size})."
                )
            if not np.all(np.isfinite(matrix.data)):
                raise ValueError(f"{name} has values that are not finite.")
        _check_covariance(matrices["covariance"])
        if np.any(np.abs(matrices["reflection"].diagonal() - 1) > _TOLERANCE):
            raise ValueError("reflection must have a unit diagonal; divide each column by its own.")
        object.__setattr__(self, "drift", vector)
        object.__setattr__(self, "covariance", matrices["covariance"])
        object.__setattr__(self, "reflection", matrices["reflection"])

    @classmethod
    def from_model(cls, model: RankDiffusion, order: ArrayLike | None = None) -> "GapProcess":
        """The gap process of a rank-based diffusion.

        With a floor: drift (d_1, d_2 - d_1, ...), R_12 = -q_minus[0], R_21 = -1, then as without:
        drift d_{k+1} - d_k, R_{k,k-1} = -q_plus[k-1], R_{k,k+1} = -q_minus[k+1], where index k is
        the collision; symmetric collisions have all 1/2.

        Arguments: `model`; `order`, for a model with name drifts, the names from the lowest rank
        to the highest, since the gaps alone are no Markov process there and their drift depends
        on it. Raises ValueError for a model without gaps and for an order that is missing, not
        asked for or no permutation. Cost: linear in the number of gaps.
        """
        if not isinstance(model, RankDiffusion):
            raise ValueError(f"model = {model!r} is no RankDiffusion; make one, or a GapProcess.")
        if model.num_gaps == 0:
            raise ValueError("a single particle without a floor has no gaps; add one or a floor.")
        drifts = model.drifts + _name_drifts_by_rank(model, order)
        half = np.full(model.num_particles - 1, 0.5)
        q_minus = half if model.q_minus is None else model.q_minus
        q_plus = half if model.q_plus is None else model.q_plus
        if model.floor:
            drift = np.diff(drifts, prepend=0.0)
            diagonal = model.variances + np.concatenate([[0.0], model.variances[:-1]])
            off_diagonal = -model.variances[:-1]
            # The push at the floor lifts the lowest particle in full.
            below, above = np.concatenate([[1.0], q_plus])[:-1], q_minus
        else:
            drift = np.diff(drifts)
            diagonal = model.variances[:-1] + model.variances[1:]
            off_diagonal = -model.variances[1:-1]
            below, above = q_plus[:-1], q_minus[1:]
        return cls(
            drift,
            _tridiagonal(off_diagonal, diagonal, off_diagonal),
            _tridiagonal(-below, np.ones(drift.size), -above),
        )

    @property
    def num_gaps(self) -> int:
        """Number of gaps."""
        return self.drift.size

    def regulator_rates(self) -> np.ndarray:
        """Mean growth -R^{-1} drift of each regulator per unit of time in stationarity.

        A balance identity, so simulated rates that match it show sound accounting, not a small
        bias. Raises ValueError for a singular reflection matrix.
        """
        return -self.solve_reflection(self.drift)

    def is_m_matrix(self) -> bool:
        """Whether R is a nonsingular M-matrix: off-diagonal entries <= 0, inverse >= 0."""
        if _largest_off_diagonal(self.reflection) > _TOLERANCE:
            return False
        try:
            row_sums = self.solve_reflection(np.ones(self.num_gaps))
        except ValueError:
            return False
        return bool(np.all(row_sums >= 0))

    def is_completely_s(self) -> bool:
        """Whether every principal submatrix R' of R has an x >= 0 with R' x > 0.

        Exactly then a reflected Brownian motion with this reflection exists and is unique in law
        [TaylorWilliams1993]. An M-matrix is completely S, and a matrix without positive entries
        off its diagonal is so only then; others are decided by a linear programme for each of the
        2^gap - 1 submatrices. Raises ValueError for such a matrix of more than 12 gaps.
        """
        if _largest_off_diagonal(self.reflection) <= 0:
            return self.is_m_matrix()
        if self.num_gaps > _MAX_ENUMERATED:
            raise ValueError(
                f"reflection has {self.num_gaps} gaps and positive entries off its diagonal, so "
                f"{2**self.num_gaps - 1} submatrices are to be checked; at most {_MAX_ENUMERATED} "
                "gaps are."
            )
        matrix = self.reflection.toarray()
        subsets = (
            list(subset)
            for size in range(1, self.num_gaps + 1)
            for subset in combinations(range(self.num_gaps), size)
        )
        return all(_has_positive_image(matrix[np.ix_(subset, subset)]) for subset in subsets)

    def check_stable(self) -> None:
        """Raise ValueError unless R is an M-matrix and every regulator rate is positive."""
        if not self.is_m_matrix():
            raise ValueError(
                "the reflection matrix is singular or no M-matrix (off-diagonal <= 0, inverse "
                ">= 0), so the gap process has no stationary law by this criterion."
            )
        rates = self.regulator_rates()
        scale = max(float(np.max(np.abs(self.drift))), np.finfo(float).tiny)
        unstable = np.flatnonzero(rates <= _TOLERANCE * scale)
        if unstable.size:
            gap = int(unstable[0])
            raise ValueError(
                f"the gap process is unstable: (-R^-1 drift)[{gap}] = {rates[gap] + 0.0:.6g} must "
                f"be positive. The drifts above gap {gap} do not press it together; give the "
                "higher ranks lower drifts."
            )

    def skew_symmetry_defect(self) -> float:
        """Largest entry of 2 A - R D - D R^T with D = diag(A), relative to the largest of A."""
        scale = sparse.diags_array(self.covariance.diagonal())
        defect = 2 * self.covariance - self.reflection @ scale - scale @ self.reflection.T
        return float(abs(defect).max() / abs(self.covariance).max())

    def corner_exponents(self) -> np.ndarray:
        """How singular the stationary density is where two neighbouring gaps vanish together.

        Near that corner the density is of order r^-alpha, r the distance to it; in coordinates in
        which the noise is white the corner is a wedge of angle xi, and theta_1, theta_2 are the
        angles of the pushes against the inner normals, positive towards the corner:

            alpha = (theta_1 + theta_2) / xi ,   xi = arccos(-A_12 / sqrt(A_11 A_22)) ,
            tan theta_1 = (A_12 - R_21 A_11) / sqrt(det A) , theta_2 alike.

        0 where the two gaps are skew-symmetric, positive where 2 A_12 > R_12 A_22 + R_21 A_11.
        Returns (gap - 1,) values, entry k that of gaps k and k + 1. For a covariance and a
        reflection that couple neighbours only, as those of rank-based diffusions, other pairs have
        0. Source: [VaradhanWilliams1985].
        """
        diagonal = np.asarray(self.covariance.diagonal(), np.float64)
        noise = np.asarray(self.covariance.diagonal(1), np.float64)
        root = np.sqrt(diagonal[:-1] * diagonal[1:] - noise**2)
        lower = noise - np.asarray(self.reflection.diagonal(-1), np.float64) * diagonal[:-1]
        upper = noise - np.asarray(self.reflection.diagonal(1), np.float64) * diagonal[1:]
        angles = np.arctan2(lower, root) + np.arctan2(upper, root)
        return angles / np.arctan2(root, -noise)

    def product_rates(self) -> np.ndarray:
        """Rates -2 D^{-1} R^{-1} drift of the independent exponential gaps in stationarity.

        Raises ValueError that names the violated condition: stability, or the skew symmetry
        2 A = R D + D R^T without which the law is no product. Source: [HarrisonWilliams1987].
        """
        self.check_stable()
        self.check_skew_symmetry()
        with np.errstate(over="ignore"):
            return 2 * self.regulator_rates() / self.covariance.diagonal()

    def check_skew_symmetry(self) -> None:
        """Raise ValueError unless 2 A = R D + D R^T with D = diag(A)."""
        defect = self.skew_symmetry_defect()
        if defect > _TOLERANCE:
            raise ValueError(
                f"skew symmetry 2 A = R D + D R^T is violated by {defect:.3g} (relative), so the "
                "stationary gaps are not independent exponentials. With a floor all variances "
                "must be equal, without one they must be affine in the rank; asymmetric collisions "
                "need q_minus[k+1] D[k+1] + q_plus[k] D[k] = 2 variances[k+1], D[k] the sum of the "
                "variances of ranks k and k+1."
            )

    def solve_reflection(self, vector: np.ndarray) -> np.ndarray:
        """R^{-1} times a vector (gap,) or the columns of a matrix; ValueError if R is singular."""
        try:
            solution = splu(self.reflection).solve(vector)
        except RuntimeError as error:
            raise ValueError(
                "reflection is singular; no stationary law is defined by it."
            ) from error
        if not np.all(np.isfinite(solution)):
            raise ValueError("reflection is singular; no stationary law is defined by it.")
        return solution


def _name_drifts_by_rank(model: RankDiffusion, order):
    if model.name_drifts is None:
        if order is not None:
            raise ValueError(
                f"order = {order!r} is given, but the model has no name drifts; leave it out."
            )
        return 0.0
    names = np.atleast_1d(np.asarray(() if order is None else order))
    if names.dtype.kind not in "iu" or not np.array_equal(
        np.sort(names), np.arange(model.num_particles)
    ):
        raise ValueError(
            f"order = {order!r}: with name drifts the drift of the gaps depends on the order of "
            f"the names; pass a permutation of 0 ... {model.num_particles - 1}, lowest rank first."
        )
    return model.name_drifts[names]


def _largest_off_diagonal(matrix: sparse.csc_array) -> float:
    return float(sparse.csc_array(matrix - sparse.diags_array(matrix.diagonal())).max())


def _has_positive_image(matrix: np.ndarray) -> bool:
    # x >= 0 with R x > 0 exists exactly if one with R x >= 1 does.
    size = len(matrix)
    return bool(linprog(np.zeros(size), A_ub=-matrix, b_ub=-np.ones(size)).success)


def _as_sparse(name: str, matrix) -> sparse.csc_array:
    try:
        dense_or_sparse = matrix if sparse.issparse(matrix) else np.asarray(matrix, np.float64)
        return sparse.csc_array(dense_or_sparse, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {matrix!r} is no matrix of numbers.") from error


def _check_covariance(covariance: sparse.csc_array) -> None:
    if abs(covariance - covariance.T).max() > _TOLERANCE * abs(covariance).max():
        raise ValueError("covariance is not symmetric; pass that of the free motion.")
    if np.any(covariance.diagonal() <= 0):
        raise ValueError("covariance has a diagonal that is not positive; every gap needs noise.")
    if covariance.diagonal().size <= _MAX_DECOMPOSED:
        least, most = np.linalg.eigvalsh(covariance.toarray())[[0, -1]]
        if least < -_TOLERANCE * most:
            raise ValueError(
                f"covariance has the eigenvalue {least:.6g}; pass that of a free motion, which has "
                "none below 0."
            )


def _tridiagonal(below, diagonal, above) -> sparse.csc_array:
    matrix = sparse.diags_array(diagonal)
    if diagonal.size > 1:
        matrix = matrix + sparse.diags_array(below, offsets=-1)
        matrix = matrix + sparse.diags_array(above, offsets=1)
    return sparse.csc_array(matrix)
