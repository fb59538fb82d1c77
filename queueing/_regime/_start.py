"""Laws from which the ranked lengths of a regime start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from atlas.ensemble import check_memory, resolve_seed

from .._checks import check_integer
from .._engine._replica_seeds import replica_generators
from .._product_geometric import ProductGeometric
from .._streams import INITIAL_STATE, replica_indices, standard_exponentials


def has_too_many(lengths: np.ndarray) -> bool:
    """Whether float lengths (..., K) are too long, or too many jobs, to be counted in 64 bits."""
    return bool(lengths.max() > 2.0**52 or lengths.sum(axis=-1).max() > 2.0**62)


class Start(ABC):
    """A law of ranked lengths that is drawn from the lowest rank up, replica by replica."""

    @property
    @abstractmethod
    def num_servers(self) -> int:
        """The number K of ranks."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Which law this is, in words, for results."""

    @abstractmethod
    def sample_rows(self, generators: Sequence[np.random.Generator], num_ranks: int) -> np.ndarray:
        """(R, num_ranks) int64 ascending: the lowest ranks of one sample by each generator."""

    def sample(
        self, *, replicas: int | range, seed: Any, num_ranks: int | None = None
    ) -> np.ndarray:
        """Independent ranked lengths, one row per replica.

        Arguments:
            replicas: a number R, or a range of replica indices; replica i is the same in any batch.
            seed: an int, a typed JAX key or a Seed, see `atlas.ensemble.resolve_seed`.
            num_ranks: only the lowest so many; a prefix of what all would be.

        Returns:
            (R, num_ranks) int64, ascending along ranks.  Cost O(R num_ranks).
        """
        indices, root = replica_indices(replicas), resolve_seed(seed)
        count = self.num_servers
        if num_ranks is not None:
            remedy = f"an int from 1 to {self.num_servers}, or None for all"
            count = check_integer("num_ranks", num_ranks, minimum=1, remedy=remedy)
            if count > self.num_servers:
                raise ValueError(f"num_ranks is {count}; give {remedy}")
        check_memory(8 * len(indices) * count, f"{len(indices)} samples", "draw fewer in a call")
        lengths = np.empty((len(indices), count), dtype=np.int64)
        for row, generator in enumerate(replica_generators(root, indices, INITIAL_STATE)):
            lengths[row] = self.sample_rows([generator], count)[0]
        return lengths


@dataclass(frozen=True)
class EmptyStart(Start):
    """All servers empty."""

    size: int

    @property
    def num_servers(self) -> int:
        """The number K of ranks."""
        return self.size

    @property
    def description(self) -> str:
        """Which law this is."""
        return "all servers empty"

    def sample_rows(self, generators: Sequence[np.random.Generator], num_ranks: int) -> np.ndarray:
        """(R, num_ranks) zeros."""
        return np.zeros((len(generators), num_ranks), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RoundedExponentialStart(Start):
    """Q_(k) = floor(E_1 + ... + E_k) with independent exponential E_k of given rates.

    Rounding the positions, not each gap, keeps the ranks far up from drifting low: with geometric
    gaps each would be about 1/2 too small.
    """

    rates: np.ndarray

    @property
    def num_servers(self) -> int:
        """The number K of ranks."""
        return self.rates.size

    @property
    def description(self) -> str:
        """Which law this is."""
        return "floor of the product-exponential stationary law of the gaps at this size"

    def sample_rows(self, generators: Sequence[np.random.Generator], num_ranks: int) -> np.ndarray:
        """(R, num_ranks) int64 ascending."""
        rows = standard_exponentials(generators, num_ranks)
        rows /= self.rates[:num_ranks]
        np.cumsum(rows, axis=1, out=rows)
        np.floor(rows, out=rows)
        if has_too_many(rows):
            raise ValueError(
                f"initial is a law whose gaps have rates down to {self.rates.min():.6g} per job: "
                f"{rows.max():.6g} jobs at a server are too many to count; start from lengths"
            )
        return rows.astype(np.int64)


@dataclass(frozen=True, eq=False)
class GeometricGapsStart(Start):
    """Ranked lengths whose gaps are independent geometric: the stationary law with pauses."""

    gaps: ProductGeometric

    @property
    def num_servers(self) -> int:
        """The number K of ranks."""
        return self.gaps.num_coordinates

    @property
    def description(self) -> str:
        """Which law this is."""
        return "exact stationary law of the system with pauses (independent geometric gaps)"

    def sample_rows(self, generators: Sequence[np.random.Generator], num_ranks: int) -> np.ndarray:
        """(R, num_ranks) int64 ascending."""
        return np.cumsum(self.gaps.sample_rows(generators, num_ranks), axis=1)
