"""Stationary vectors and Poisson's equation of finite chains."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from .._elimination import stationary_law


def recurrent_class(generator: sparse.csr_array, start: int) -> np.ndarray | None:
    """State numbers of the one closed class that `start` reaches, None if it reaches several.

    Cost O(S) by strongly connected components.
    """
    num_classes, labels = csgraph.connected_components(generator, connection="strong")
    reached = csgraph.breadth_first_order(generator, start, return_predecessors=False)
    moves = sparse.coo_array(generator)
    leaving = labels[moves.row] != labels[moves.col]
    is_closed = np.ones(num_classes, dtype=bool)
    is_closed[labels[moves.row[leaving]]] = False
    closed = np.unique(labels[reached])
    closed = closed[is_closed[closed]]
    return np.flatnonzero(labels == closed[0]) if closed.size == 1 else None


class ReducedGenerator:
    """The sparse LU factors of an irreducible generator without its first row and column.

    What is left is the negative of a non-singular M-matrix, dominant along the diagonal, so no
    pivoting is needed and the symmetric minimum-degree order keeps the factors thin.
    """

    def __init__(self, generator: sparse.csr_array) -> None:
        self._generator = generator
        self._transposed = sparse.csc_matrix(generator[1:, 1:].T)
        self._factors = splu(
            self._transposed,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def stationary_vector(self) -> np.ndarray:
        """The law pi with pi Q = 0, by one solve and one refinement."""
        inflow = -self._generator[[0], 1:].toarray().ravel()
        ratios = self._factors.solve(inflow)
        ratios += self._factors.solve(inflow - self._transposed @ ratios)
        vector = np.concatenate(([1.0], np.maximum(ratios, 0.0)))
        return vector / vector.sum()

    def bias(self, values: np.ndarray, law: np.ndarray) -> np.ndarray:
        """The solution g of Poisson's equation Q g = E f - f with g = 0 at the first state."""
        centred = law @ values - values
        return np.concatenate(([0.0], self._factors.solve(centred[1:], trans="T")))


def stationary_by_elimination(generator: sparse.csr_array) -> np.ndarray:
    """The law pi with pi Q = 0 of a small irreducible chain, free of subtractions; cost O(S^3)."""
    return stationary_law(generator.toarray())
