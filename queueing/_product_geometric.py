"""Products of geometric laws on 0, 1, 2, ...: the stationary laws of open Jackson networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from atlas.ensemble import check_memory, resolve_seed

from ._checks import check_array, check_integer, check_vector
from ._engine._replica_seeds import replica_generators
from ._streams import LAW_SAMPLE, replica_indices, standard_exponentials


@dataclass(frozen=True, eq=False, init=False)
class ProductGeometric:
    r"""Independent geometric coordinates, P(Z_k >= m) = rho_k^m.

    Arguments:
        ratios: (d,) ratios rho_k, 0 <= rho_k < 1.

    Raises:
        ValueError: a ratio is not finite, negative or at least 1, naming the first one.
    """

    ratios: np.ndarray

    def __init__(self, ratios: ArrayLike) -> None:
        remedy = "ratios in [0, 1): at 1 and above there is no stationary law"
        ratios = check_vector("ratios", ratios, remedy=remedy)
        above = np.flatnonzero(ratios >= 1.0)
        if above.size:
            raise ValueError(f"ratios[{above[0]}] is {ratios[above[0]]:.12g}; give {remedy}")
        object.__setattr__(self, "ratios", ratios)

    @property
    def num_coordinates(self) -> int:
        """The number d of coordinates."""
        return self.ratios.size

    @property
    def mean(self) -> np.ndarray:
        """(d,) means rho_k / (1 - rho_k)."""
        return self.ratios / (1.0 - self.ratios)

    @property
    def std(self) -> np.ndarray:
        """(d,) standard deviations sqrt(rho_k) / (1 - rho_k)."""
        return np.sqrt(self.ratios) / (1.0 - self.ratios)

    def tail(self, lengths: ArrayLike) -> np.ndarray:
        """P(Z_k >= m) coordinate by coordinate; `lengths` broadcasts against (..., d)."""
        lengths = np.maximum(np.ceil(_numbers(lengths)), 0.0)
        return self.ratios**lengths

    def cdf(self, lengths: ArrayLike) -> np.ndarray:
        """P(Z_k <= m) = 1 - rho_k^(m+1) coordinate by coordinate; 0 below 0."""
        lengths = np.floor(_numbers(lengths))
        return 1.0 - self.tail(lengths + 1.0)

    def prob(self, lengths: ArrayLike) -> np.ndarray:
        r"""The joint probability prod_k (1 - rho_k) rho_k^{m_k}.

        Arguments:
            lengths: (..., d) integers; a negative one has probability 0.

        Returns:
            (...) probabilities.
        """
        lengths = _numbers(lengths)
        if lengths.shape[-1:] != self.ratios.shape:
            raise ValueError(
                f"lengths has shape {lengths.shape}; give (..., {self.num_coordinates}), "
                "one integer per coordinate"
            )
        if not np.all(lengths == np.floor(lengths)):
            raise ValueError("lengths holds a value that is no integer; give whole numbers of jobs")
        factors = (1.0 - self.ratios) * self.ratios ** np.maximum(lengths, 0)
        return np.where(lengths < 0, 0.0, factors).prod(axis=-1)

    def sample(
        self, *, replicas: int | range, seed: Any, num_coordinates: int | None = None
    ) -> np.ndarray:
        """Independent samples, one per replica; replica i is the same in any batch.

        Arguments:
            replicas: a number R, or a range of replica indices.
            seed: an int, a typed JAX key or a Seed, see `atlas.ensemble.resolve_seed`.
            num_coordinates: only the first so many; a prefix of what all would be.

        Returns:
            (R, num_coordinates) int64.  Cost O(R num_coordinates).
        """
        indices, root = replica_indices(replicas), resolve_seed(seed)
        count = self._checked_count(num_coordinates)
        check_memory(8 * len(indices) * count, f"{len(indices)} samples", "draw fewer in a call")
        samples = np.empty((len(indices), count), dtype=np.int64)
        for row, generator in enumerate(replica_generators(root, indices, LAW_SAMPLE)):
            samples[row] = self.sample_rows([generator], count)[0]
        return samples

    def sample_rows(
        self, generators: Sequence[np.random.Generator], num_coordinates: int
    ) -> np.ndarray:
        """The first coordinates of one sample by each generator, (R, num_coordinates) int64.

        By inversion: floor(E / -log rho_k).
        """
        ratios = self.ratios[:num_coordinates]
        decay = np.full(num_coordinates, np.inf)
        np.log(ratios, out=decay, where=ratios > 0.0)
        rows = standard_exponentials(generators, num_coordinates)
        return np.floor(rows / np.abs(decay)).astype(np.int64)

    def _checked_count(self, num_coordinates: int | None) -> int:
        if num_coordinates is None:
            return self.num_coordinates
        remedy = f"an int from 1 to {self.num_coordinates}, or None for all"
        count = check_integer("num_coordinates", num_coordinates, minimum=1, remedy=remedy)
        if count > self.num_coordinates:
            raise ValueError(f"num_coordinates is {count}; give {remedy}")
        return count


def _numbers(lengths: ArrayLike) -> np.ndarray:
    return check_array("lengths", lengths, remedy="numbers of jobs")
