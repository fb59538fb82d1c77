"""From batches of replicas to one value and error per replica."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate, Variable, mser5

NUM_BATCHES = 20


def warmup_cuts(series: np.ndarray) -> np.ndarray:
    """(R,) batches to leave out at the beginning of each replica, by MSER-5.

    The cut of a replica is that of the mean of the others' series: what is left out then does not
    depend on what is kept, while a cut by the replica's own series favours short queues. A single
    replica has its own only.

    Arguments:
        series: (R, T) mean numbers of jobs in successive windows, five to a batch.
    """
    count = len(series)
    if count == 1:
        return np.array([mser5(series[0])]) // 5
    others = (series.sum(axis=0) - series) / (count - 1)
    return mser5(others.T) // 5


@dataclass(frozen=True, eq=False)
class Batches:
    """How batches make values and errors.

    Few replicas have errors from their batches; many need fewer and longer groups of batches,
    which are less correlated; from 20 replicas on, their own spread is all that counts.

    Attributes:
        cuts: (R,) batches that are left out as warm-up.
        weights: (R, B) how much each batch counts.
        num_groups: groups per replica, of successive batches, for the errors.
    """

    cuts: np.ndarray
    weights: np.ndarray

    @property
    def num_groups(self) -> int:
        """As many as make about 20 in all."""
        left = self.weights.shape[1] - int(self.cuts.max())
        return min(left, max(1, round(NUM_BATCHES / len(self.cuts))))

    def mean(self, batches: np.ndarray) -> Estimate:
        """Over (R, ...): the weighted mean of batches (R, B, ...).

        As a ratio of sums: where a batch has more samples because the state was what it was, the
        plain mean of batches would be biased.
        """
        spread = self.weights.reshape(*self.weights.shape, *[1] * (batches.ndim - 2))
        return self.ratio(batches * spread, np.broadcast_to(spread, batches.shape))

    def ratio(self, numerators: np.ndarray, denominators: np.ndarray) -> Estimate:
        """Over (R, ...): the ratio of sums over batches (R, B, ...) of each replica."""
        shape = (len(numerators), *numerators.shape[2:])
        value, std_error = np.empty(shape), np.empty(shape)
        for cut in np.unique(self.cuts):
            rows = self.cuts == cut
            above, below = numerators[rows, cut:], denominators[rows, cut:]
            value[rows] = above.sum(axis=1) / below.sum(axis=1)
            errors = Estimate.from_ratio(self._groups(above), self._groups(below))
            std_error[rows] = errors.std_error
        # A single group knows no error; an Estimate shows it as nan by its degrees of freedom.
        known = np.nan_to_num(std_error) if self.num_groups == 1 else std_error
        return Estimate(value, known, np.asarray(self.num_groups - 1.0))

    def grouped(self, sums: np.ndarray) -> np.ndarray:
        """(R, G, ...) sums over the groups of what is kept of sums over batches (R, B, ...)."""
        size = len(sums), self.num_groups
        grouped = np.empty((*size, *sums.shape[2:]), sums.dtype)
        for cut in np.unique(self.cuts):
            rows = self.cuts == cut
            grouped[rows] = np.moveaxis(self._groups(sums[rows, cut:]), 0, 1)
        return grouped

    def has_any(self, sums: np.ndarray) -> bool:
        """Whether every replica has positive sums over its batches (R, B, ...)."""
        kept = np.arange(sums.shape[1]) >= self.cuts[:, None]
        kept = kept.reshape(*kept.shape, *[1] * (sums.ndim - 2))
        return bool(((sums * kept).sum(axis=1) > 0.0).all())

    def _groups(self, batches: np.ndarray) -> np.ndarray:
        """(G, R', ...) sums over groups of batches (R', B', ...); the first may fill no group."""
        left = np.moveaxis(batches, 1, 0)
        size = len(left) // self.num_groups
        used = left[len(left) - size * self.num_groups :]
        return used.reshape(self.num_groups, size, *left.shape[1:]).sum(axis=1)


def replica_variables(name: str, dims: tuple[str, ...], estimate: Estimate) -> dict[str, Variable]:
    """The three variables of an estimate per replica, dims (replica, ...)."""
    dims = ("replica", *dims)
    return {
        name: Variable(dims, estimate.value),
        f"{name}_std_error": Variable(dims, estimate.std_error),
        f"{name}_dof": Variable(dims, estimate.dof),
    }
