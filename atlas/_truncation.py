"""The error of cutting the infinite model to N particles with the closure "free"."""

import numpy as np
from scipy.special import ndtr

from ._model import RankDiffusion


def free_truncation_bound(
    model: RankDiffusion, highest_start: np.ndarray, peaks: np.ndarray, horizon: float
) -> np.ndarray:
    """Bound on the probability that a particle left out disturbs the lowest m ranks, each m.

    With y the highest value on [0, T] of rank m and particles left out at the points of a Poisson
    process of density a above the highest start x_N, the expected number that comes below y is at
    most

        a int_0^inf 2 PhiBar((x_N - y + u) / s) du = 2 a s (phi(z) - z PhiBar(z)),

    z = (x_N - y) / s, s = sqrt(2 T), PhiBar the normal tail (our derivation; the reflection
    principle gives the factor 2). Arguments: `highest_start`, shape (replica,); `peaks`, y at the
    times of the grid, shape (rank, replica). Returns the mean over replicas, at most 1, shape
    (rank,).
    """
    infinite = model.infinite
    assert infinite is not None
    if horizon == 0:
        return np.zeros(peaks.shape[0])
    scale = np.sqrt(2 * horizon)
    z = (highest_start[None, :] - peaks) / scale
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    expected = 2 * infinite.a * scale * np.maximum(density - z * ndtr(-z), 0)
    return np.mean(np.minimum(expected, 1), axis=1)
