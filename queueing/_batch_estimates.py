"""From batches of replicas to one value and error per replica."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate, Variable

NUM_BATCHES = 20


@dataclass(frozen=True)
class Grouping:
    """How the batches that are left after the warm-up make errors.

    Few replicas have errors from their batches; many need fewer and longer batches, which are less
    correlated; from 20 replicas on, their own spread is all that counts.

    Attributes:
        cut: batches that are left out as warm-up.
        num_groups: groups per replica, of successive batches.
    """

    cut: int
    num_groups: int

    @classmethod
    def of(cls, num_batches: int, cut: int, num_replicas: int) -> Grouping:
        """The grouping that leaves about 20 groups in all."""
        left = num_batches - cut
        return cls(cut, min(left, max(1, round(NUM_BATCHES / num_replicas))))

    def groups(self, batches: np.ndarray) -> np.ndarray:
        """(G, R, ...) sums over groups of batches (R, B, ...); what fills no group is left out."""
        left = np.moveaxis(batches, 1, 0)[self.cut :]
        size = len(left) // self.num_groups
        used = left[len(left) - size * self.num_groups :]
        return used.reshape(self.num_groups, size, *left.shape[1:]).sum(axis=1)

    def mean(self, batches: np.ndarray) -> Estimate:
        """Over (R, ...): the mean of equally long batches (R, B, ...) of each replica."""
        value = batches[:, self.cut :].mean(axis=1)
        size = (batches.shape[1] - self.cut) // self.num_groups
        errors = Estimate.from_samples(self.groups(batches) / size)
        return Estimate(value, errors.std_error, errors.dof)

    def ratio(self, numerators: np.ndarray, denominators: np.ndarray) -> Estimate:
        """Over (R,): the ratio of sums over batches (R, B) of each replica."""
        value = numerators[:, self.cut :].sum(axis=1) / denominators[:, self.cut :].sum(axis=1)
        errors = Estimate.from_ratio(self.groups(numerators), self.groups(denominators))
        return Estimate(value, errors.std_error, errors.dof)


def replica_variables(name: str, dims: tuple[str, ...], estimate: Estimate) -> dict[str, Variable]:
    """The three variables of an estimate per replica, dims (replica, ...)."""
    dims = ("replica", *dims)
    return {
        name: Variable(dims, estimate.value),
        f"{name}_std_error": Variable(dims, estimate.std_error),
        f"{name}_dof": Variable(dims, estimate.dof),
    }
