"""Skorokhod maps: from a free path on a grid to the reflected path and its regulator.

Each map solves the problem exactly for the path that is constant between grid points, so on a
sampled Brownian path it misses the excursions in between (an error of order sqrt(step)). Time is
the first axis. Paths are NumPy arrays, computed in float64.
"""

import numpy as np

from ._check import check_array, check_finite


def reflect_half_line(path, floor: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The map of the half-line: z = x + l >= floor, l(t) = max(0, max over s <= t of floor - x(s)).

    Argument: `path`, shape (time, ...). Returns (reflected, regulator) of that shape; the
    regulator never decreases and grows only at the floor. Raises ValueError for a path that is
    empty or not finite. Source: [Skorokhod1961].
    """
    path = _check_path(path)
    floor = check_finite("floor", floor)
    regulator = np.maximum(np.maximum.accumulate(floor - path, axis=0), 0)
    return path + regulator, regulator


def reflect_interval(path, lower: float, upper: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map of the interval: z = x + l - u in [lower, upper].

    l grows only while z = lower, u only while z = upper. Argument: `path`, shape (time, ...).
    Returns (reflected, push up l, push down u). Raises ValueError unless lower < upper.
    Source: [Kruk2007]. Cost: one pass over time.
    """
    path = _check_path(path)
    lower, upper = check_finite("lower", lower), check_finite("upper", upper)
    if lower >= upper:
        raise ValueError(f"lower = {lower} must be below upper = {upper}.")
    reflected, up, down = np.empty_like(path), np.empty_like(path), np.empty_like(path)
    position = path[0]
    total_up = total_down = np.zeros_like(position)
    for k, free in enumerate(path):
        position = position + (free - path[max(k - 1, 0)])
        push_up, push_down = np.maximum(lower - position, 0), np.maximum(position - upper, 0)
        position = np.clip(position, lower, upper)
        total_up, total_down = total_up + push_up, total_down + push_down
        reflected[k], up[k], down[k] = position, total_up, total_down
    return reflected, up, down


def reflect_orthant(path, reflection) -> tuple[np.ndarray, np.ndarray]:
    """The map of the orthant: z = x + R l >= 0, l_k grows only while z_k = 0.

    Arguments: `path`, shape (time, ..., gap); `reflection` R, shape (gap, gap), an M-matrix with
    unit diagonal (off-diagonal <= 0, inverse >= 0), for which the map is unique. Returns
    (reflected, regulator) of the path's shape. Raises ValueError for another matrix.
    Source: [HarrisonReiman1981]. Cost: up to gap + 1 linear solves per time.
    """
    path = _check_path(path)
    matrix = _check_m_matrix(reflection, path.shape[-1] if path.ndim > 1 else 0)
    reflected, regulator = np.empty_like(path), np.empty_like(path)
    position = path[0]
    total = np.zeros_like(position)
    for k, free in enumerate(path):
        position = position + (free - path[max(k - 1, 0)])
        push = least_push(position, matrix)
        position = np.maximum(position + push @ matrix.T, 0)
        total = total + push
        reflected[k], regulator[k] = position, total
    return reflected, regulator


def least_push(free: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """The least l >= 0 with free + R l >= 0 and l (free + R l) = 0, for an M-matrix R.

    The set of pushed gaps grows until no gap is left negative. Shapes (..., gap).
    """
    size = matrix.shape[0]
    identity = np.eye(size)
    pushed = free < 0
    push = np.zeros_like(free)
    for _ in range(size):
        if not np.any(pushed):
            break
        both = pushed[..., :, None] & pushed[..., None, :]
        system = np.where(both, matrix, identity)
        push = np.linalg.solve(system, np.where(pushed, -free, 0.0)[..., None])[..., 0]
        scale = np.max(np.abs(free), axis=-1, keepdims=True, initial=0.0)
        still_negative = ~pushed & (free + push @ matrix.T < -1e-14 * scale)
        if not np.any(still_negative):
            break
        pushed = pushed | still_negative
    return np.maximum(push, 0)


def _check_path(path) -> np.ndarray:
    array = check_array("path", path)
    if array.ndim == 0 or array.shape[0] == 0:
        raise ValueError(
            f"path has shape {array.shape}; its first axis must hold at least one time."
        )
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"path is {array[where]} at index {where}; pass finite values.")
    return array


def _check_m_matrix(reflection, size: int) -> np.ndarray:
    matrix = check_array("reflection", reflection)
    if matrix.shape != (size, size):
        raise ValueError(
            f"reflection has shape {matrix.shape}; the path has {size} gaps on its last axis, so "
            f"pass ({size}, {size})."
        )
    off_diagonal = matrix - np.diag(np.diag(matrix))
    if not np.allclose(np.diag(matrix), 1) or np.any(off_diagonal > 0):
        raise ValueError(
            "reflection must have a unit diagonal and no positive entry off it; other matrices may "
            "have no or several solutions."
        )
    if np.linalg.cond(matrix) > 1e12 or np.any(np.linalg.inv(matrix) < -1e-12):
        raise ValueError("reflection is singular or has a negative inverse: it is no M-matrix.")
    return matrix
