"""Checks of routing matrices: probabilities, and a way out from every station."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

_SUM_TOLERANCE = 1e-12


def checked_routing(matrix: Any, size: int) -> sparse.csr_array:
    """`matrix` as a sparse (size, size) matrix of probabilities, rows summing to at most 1."""
    try:
        routing = sparse.csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"routing_matrix is {matrix!r}; give a ({size}, {size}) array of probabilities"
        ) from error
    if routing.shape != (size, size):
        raise ValueError(
            f"routing_matrix has shape {routing.shape}; give ({size}, {size}), one row per station"
        )
    if not (np.all(np.isfinite(routing.data)) and np.all(routing.data >= 0.0)):
        raise ValueError("routing_matrix has a negative or non-finite entry; give probabilities")
    sums = np.asarray(routing.sum(axis=1)).ravel()
    row = int(np.argmax(sums))
    if sums[row] > 1.0 + _SUM_TOLERANCE:
        raise ValueError(
            f"routing_matrix[{row}] sums to {sums[row]:.12g}; give rows that sum to at most 1"
        )
    return routing


def check_open(routing: sparse.csr_array) -> None:
    """Every station must reach, along positive probabilities, one from which a job can leave."""
    leaks = np.asarray(routing.sum(axis=1)).ravel() < 1.0 - _SUM_TOLERANCE
    size = leaks.size
    leaving = np.flatnonzero(leaks)
    # An extra node, 'outside', with edges to every leaking station; then search edges backwards.
    extra = sparse.csr_array(
        (np.ones(leaving.size), (np.zeros(leaving.size, dtype=int), leaving)), shape=(1, size)
    )
    backwards = sparse.block_array([[routing.T, None], [extra, sparse.csr_array((1, 1))]])
    reached = csgraph.breadth_first_order(
        sparse.csr_array(backwards), size, return_predecessors=False
    )
    trapped = np.setdiff1d(np.arange(size), reached)
    if trapped.size:
        raise ValueError(
            f"routing_matrix lets no job leave from station {int(trapped[0])}; give some station "
            "that it reaches a row sum below 1"
        )
