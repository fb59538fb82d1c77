"""Independence of gaps: correlations, and distance correlations with their null band."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from atlas.ensemble import Estimate

# Replicas of one block; more of them only add blocks, since the cost is quadratic.
_BLOCK = 800


def pairs_of(num_gaps: int) -> list[tuple[int, int]]:
    """All pairs of gaps."""
    return list(combinations(range(num_gaps), 2))


def mean_correlation(gaps: np.ndarray) -> tuple[float, float]:
    """Mean of the correlations of all pairs of gaps (replica, gap), and its error if independent.

    Correlations of independent samples have variance 1/replicas and do not depend on each other.
    """
    matrix = np.corrcoef(gaps, rowvar=False)
    found = [matrix[pair] for pair in pairs_of(gaps.shape[1])]
    return float(np.mean(found)), float((len(found) * gaps.shape[0]) ** -0.5)


def centred_distances(sample: np.ndarray) -> np.ndarray:
    """|x_i - x_j| with its means taken off so that products have no bias, zero diagonal."""
    distances = np.abs(sample[:, None] - sample[None, :])
    count = sample.size
    rows = distances.sum(axis=1) / (count - 2)
    centred = distances - rows[:, None] - rows[None, :]
    centred += distances.sum() / ((count - 1) * (count - 2))
    np.fill_diagonal(centred, 0.0)
    return centred


@dataclass(frozen=True)
class Dependence:
    """Squared distance correlations, unbiased: 0 on average exactly if gaps are independent.

    Arguments:
        pairs: the pairs of gaps, from 0.
        values, errors: (pair,) means over blocks of replicas and their errors.
        mean: over all pairs, from block to block.
        null_low, null_high: between these lie all but 1 % of the values of a pair, in as many
            blocks, after one gap was permuted among the replicas.
    """

    pairs: list[tuple[int, int]]
    values: np.ndarray
    errors: np.ndarray
    mean: Estimate
    null_low: float
    null_high: float


def measure_dependence(gaps: np.ndarray, num_permutations: int, seed: int) -> Dependence:
    """Distance correlations of all pairs of gaps.

    Arguments:
        gaps: independent replicas, (replica, gap); at least two blocks of 800 are used.
        num_permutations: of each block of the first pair, for the null band.
        seed: of the permutations.
    """
    generator = np.random.default_rng(seed)
    num_blocks = gaps.shape[0] // _BLOCK
    pairs = pairs_of(gaps.shape[1])
    values, nulls = np.empty((num_blocks, len(pairs))), np.empty((num_blocks, num_permutations))
    for block in range(num_blocks):
        part = gaps[block * _BLOCK : (block + 1) * _BLOCK].astype(float)
        centred = [centred_distances(part[:, k]) for k in range(gaps.shape[1])]
        norms = [np.sqrt(np.vdot(each, each)) for each in centred]
        for i, (j, k) in enumerate(pairs):
            values[block, i] = np.vdot(centred[j], centred[k]) / (norms[j] * norms[k])
        for i in range(num_permutations):
            order = generator.permutation(_BLOCK)
            mixed = centred[1][np.ix_(order, order)]
            nulls[block, i] = np.vdot(centred[0], mixed) / (norms[0] * norms[1])
    of_pairs = Estimate.from_samples(values)
    # A mean over blocks: its law under the null by drawing one permutation for each block.
    picks = generator.integers(num_permutations, size=(4000, num_blocks))
    means = nulls[np.arange(num_blocks), picks].mean(axis=1)
    low, high = np.quantile(means, [0.005, 0.995])
    return Dependence(
        pairs,
        of_pairs.value,
        of_pairs.std_error,
        Estimate.from_samples(values.mean(axis=1)),
        float(low),
        float(high),
    )
