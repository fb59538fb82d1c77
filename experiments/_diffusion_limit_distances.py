"""Distances between laws from two samples, with their errors and with what chance alone makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

NUM_DIRECTIONS = 8
_RESAMPLES = 24
_GROUPS = 16


def kolmogorov(first: np.ndarray, second: np.ndarray) -> float:
    """sup |F - G| of two samples."""
    first, second = np.sort(first), np.sort(second)
    grid = np.concatenate([first, second])
    below = [
        np.searchsorted(sample, grid, side="right") / sample.size for sample in (first, second)
    ]
    return float(np.max(np.abs(below[0] - below[1])))


def effective_size(first: int, second: int) -> int:
    """Size of the one sample whose distance to its law is that of two samples of one law.

    m n / (m + n): by Smirnov's limit sup |F_m - G_n| then has the tail of the one-sample distance.
    """
    return first * second // (first + second)


def wasserstein(first: np.ndarray, second: np.ndarray) -> float:
    """int |F - G| of two samples of one size."""
    return float(np.mean(np.abs(np.sort(first) - np.sort(second))))


def directions(num_dims: int) -> np.ndarray:
    """The same unit vectors for every seed: they are part of what is claimed, (direction, dim)."""
    vectors = np.random.default_rng(20260517).standard_normal((NUM_DIRECTIONS, num_dims))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def projections(ranks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Projections of all ranks at all times, each over its own scale, (direction, replica).

    Arguments:
        ranks: (time, replica, rank).
        scale: (time, rank).
    """
    states = (ranks / scale[:, None, :]).transpose(1, 0, 2).reshape(ranks.shape[1], -1)
    return directions(states.shape[1]) @ states.T


def energy(first: np.ndarray, second: np.ndarray) -> float:
    """Squared energy distance averaged over directions, without bias: 0 on average for equal laws.

        2 E|X - Y| - E|X - X'| - E|Y - Y'|

    with the means over pairs of different replicas. Arguments: (direction, replica) each.
    Cost: one sort of each sample and of both together.
    """
    m, n = first.shape[1], second.shape[1]
    both = _sum_of_distances(np.concatenate([first, second], axis=1))
    within = _sum_of_distances(first), _sum_of_distances(second)
    across = (both - within[0] - within[1]) / (m * n)
    pairs = 2 * within[0] / (m * (m - 1)) + 2 * within[1] / (n * (n - 1))
    return float(np.mean(2 * across - pairs))


def _sum_of_distances(samples: np.ndarray) -> np.ndarray:
    """Sum of |x_i - x_j| over i < j, along the last axis."""
    count = samples.shape[-1]
    weights = 2.0 * np.arange(count) - (count - 1)
    return np.sort(samples, axis=-1) @ weights


def energy_with_error(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """`energy` and its jackknife error, from groups of replicas that are left out in turn."""
    value = energy(first, second)
    groups = [np.arange(sample.shape[1]) % _GROUPS for sample in (first, second)]
    left_out = [energy(first[:, groups[0] != g], second[:, groups[1] != g]) for g in range(_GROUPS)]
    return value, float(np.sqrt((_GROUPS - 1) * np.var(left_out)))


@dataclass(frozen=True)
class Distance:
    """A distance of two samples.

    Arguments:
        value: the distance.
        std_error: its standard error, by the bootstrap.
        chance, chance_top: mean and largest of the distances after the two samples were mixed,
            what equal laws would show.
    """

    value: float
    std_error: float
    chance: float
    chance_top: float


def measure_distance(
    first: np.ndarray,
    second: np.ndarray,
    distance: Callable[[np.ndarray, np.ndarray], float],
    generator: np.random.Generator,
) -> Distance:
    """A distance of two samples of one size with its errors."""
    size = first.size
    both = np.concatenate([first, second])
    resampled, mixed = [], []
    for _ in range(_RESAMPLES):
        picks = generator.integers(size, size=(2, size))
        resampled.append(distance(first[picks[0]], second[picks[1]]))
        generator.shuffle(both)
        mixed.append(distance(both[:size], both[size:]))
    return Distance(
        distance(first, second), float(np.std(resampled)), float(np.mean(mixed)), max(mixed)
    )
