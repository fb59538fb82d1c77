"""The gap process of a rank-based diffusion: a reflected Brownian motion in the orthant."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu

from ._model import RankDiffusion

# Relative rounding that the checks of signs and of skew symmetry forgive.
_TOLERANCE = 1e-9


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
        vector = np.atleast_1d(np.array(drift, dtype=np.float64))
        size = vector.size
        given = {"covariance": covariance, "reflection": reflection}
        matrices = {n: sparse.csc_array(m, dtype=np.float64) for n, m in given.items()}
        for name, matrix in matrices.items():
            if matrix.shape != (size, size):
                raise ValueError(
                    f"{name} has shape {matrix.shape}; the drift has {size} gaps, so pass "
                    f"({size}, {size})."
                )
            if not np.all(np.isfinite(matrix.data)):
                raise ValueError(f"{name} has values that are not finite.")
        if not np.all(np.isfinite(vector)):
            raise ValueError(f"drift = {vector} is not finite; pass finite values.")
        _check_covariance(matrices["covariance"])
        if np.any(np.abs(matrices["reflection"].diagonal() - 1) > _TOLERANCE):
            raise ValueError("reflection must have a unit diagonal; divide each column by its own.")
        object.__setattr__(self, "drift", vector)
        object.__setattr__(self, "covariance", matrices["covariance"])
        object.__setattr__(self, "reflection", matrices["reflection"])

    @classmethod
    def from_model(cls, model: RankDiffusion) -> "GapProcess":
        """The gap process of a rank-based diffusion with symmetric collisions.

        With a floor: drift (d_1, d_2 - d_1, ...), R_12 = -1/2, R_21 = -1, other neighbours -1/2;
        without: drift d_{k+1} - d_k, neighbours -1/2. Cost: linear in the number of gaps.
        """
        if model.num_gaps == 0:
            raise ValueError("a single particle without a floor has no gaps; add one or a floor.")
        if model.floor:
            drift = np.diff(model.drifts, prepend=0.0)
            diagonal = model.variances + np.concatenate([[0.0], model.variances[:-1]])
            off_diagonal = -model.variances[:-1]
        else:
            drift = np.diff(model.drifts)
            diagonal = model.variances[:-1] + model.variances[1:]
            off_diagonal = -model.variances[1:-1]
        below = np.full(drift.size - 1, -0.5)
        above = below.copy()
        if model.floor and drift.size > 1:
            below[0] = -1.0
        return cls(
            drift,
            _tridiagonal(off_diagonal, diagonal, off_diagonal),
            _tridiagonal(below, np.ones(drift.size), above),
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
        return -self._solve_reflection(self.drift)

    def is_m_matrix(self) -> bool:
        """Whether R is a nonsingular M-matrix: off-diagonal entries <= 0, inverse >= 0."""
        off_diagonal = self.reflection - sparse.diags_array(self.reflection.diagonal())
        if off_diagonal.max() > _TOLERANCE:
            return False
        try:
            row_sums = self._solve_reflection(np.ones(self.num_gaps))
        except ValueError:
            return False
        return bool(np.all(row_sums >= 0))

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
                f"the gap process is unstable: (-R^-1 drift)[{gap}] = {rates[gap]:.6g} must be "
                f"positive. The drifts above gap {gap} do not press it together; give the higher "
                "ranks lower drifts."
            )

    def skew_symmetry_defect(self) -> float:
        """Largest entry of 2 A - R D - D R^T with D = diag(A), relative to the largest of A."""
        scale = sparse.diags_array(self.covariance.diagonal())
        defect = 2 * self.covariance - self.reflection @ scale - scale @ self.reflection.T
        return float(abs(defect).max() / abs(self.covariance).max())

    def product_rates(self) -> np.ndarray:
        """Rates -2 D^{-1} R^{-1} drift of the independent exponential gaps in stationarity.

        Raises ValueError that names the violated condition: stability, or the skew symmetry
        2 A = R D + D R^T without which the law is no product. Source: [HarrisonWilliams1987].
        """
        self.check_stable()
        defect = self.skew_symmetry_defect()
        if defect > _TOLERANCE:
            raise ValueError(
                f"skew symmetry 2 A = R D + D R^T is violated by {defect:.3g} (relative), so the "
                "stationary gaps are not independent exponentials. With a floor all variances "
                "must be equal, without one they must be affine in the rank."
            )
        return 2 * self.regulator_rates() / self.covariance.diagonal()

    def _solve_reflection(self, vector: np.ndarray) -> np.ndarray:
        try:
            solution = splu(self.reflection).solve(vector)
        except RuntimeError as error:
            raise ValueError(
                "reflection is singular; no stationary law is defined by it."
            ) from error
        if not np.all(np.isfinite(solution)):
            raise ValueError("reflection is singular; no stationary law is defined by it.")
        return solution


def _check_covariance(covariance: sparse.csc_array) -> None:
    if abs(covariance - covariance.T).max() > _TOLERANCE * abs(covariance).max():
        raise ValueError("covariance is not symmetric; pass that of the free motion.")
    if np.any(covariance.diagonal() <= 0):
        raise ValueError("covariance has a diagonal that is not positive; every gap needs noise.")


def _tridiagonal(below, diagonal, above) -> sparse.csc_array:
    matrix = sparse.diags_array(diagonal)
    if diagonal.size > 1:
        matrix = matrix + sparse.diags_array(below, offsets=-1)
        matrix = matrix + sparse.diags_array(above, offsets=1)
    return sparse.csc_array(matrix)
