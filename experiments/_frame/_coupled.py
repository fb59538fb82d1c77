"""Estimates from coupled runs: discretisation bias, and means with a control variate."""

import numpy as np

from atlas.ensemble import Estimate


def bias_bound(coarse: np.ndarray, fine: np.ndarray, order: float = 1.0) -> np.ndarray:
    """Bound on the discretisation bias of the mean of `fine`, from runs that share their noise.

    Where the bias at step h is c h^p, that at h/2 is (E coarse - E fine) / (2^p - 1). The bound is
    the size of that difference and one standard error of it. An order p below the true one makes
    it larger, so the default is safe for schemes of order 1 and above.

    Arguments:
        coarse, fine: samples (replica, ...) at steps h and h/2; replica i of both on one noise.
        order: the weak order p that is counted on.

    Returns:
        The bound, without the axis of replicas.
    """
    difference = Estimate.from_samples(np.asarray(coarse, float) - np.asarray(fine, float))
    return (np.abs(difference.value) + difference.std_error) / (2**order - 1)


def spawn_seed(seed: int, *path: int) -> int:
    """A seed of its own for each run of an experiment, hashed from `seed` and the run's indices."""
    return int(np.random.SeedSequence(seed, spawn_key=path).generate_state(1, np.uint64)[0] >> 1)


def controlled(samples: np.ndarray, control: np.ndarray, control_mean: np.ndarray) -> np.ndarray:
    """Samples with the same mean and less variance, from a control whose mean is known.

    y - beta (x - E x) with beta the regression coefficient of y on x, column by column. That beta
    is fitted shifts the mean by O(1/replicas), far below its standard error.

    Arguments:
        samples: y, shape (replica, ...).
        control: x, same shape, such as the same gaps at time 0.
        control_mean: E x, without the axis of replicas.

    Returns:
        An array of the shape of `samples`.
    """
    samples, control = np.asarray(samples, float), np.asarray(control, float)
    centred = control - control.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    slope = np.mean(centred * samples, axis=0) / np.where(variance > 0, variance, 1.0)
    return samples - slope * (control - control_mean)
