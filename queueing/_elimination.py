"""The stationary law of a small chain, free of subtractions."""

from __future__ import annotations

import numpy as np


def stationary_law(generator: np.ndarray) -> np.ndarray:
    """The law pi with pi Q = 0 of an irreducible chain; every entry keeps its relative accuracy.

    Grassmann, Taksar and Heyman: states are censored from the last one down.

    Arguments:
        generator: (S, S) matrix Q; its diagonal is not used.
    Returns: (S,) the law.
    Source: [GrassmannTaksarHeyman1985].
    Cost: O(S^3).
    """
    rates = np.array(generator, np.float64)
    np.fill_diagonal(rates, 0.0)
    size = rates.shape[0]
    for last in range(size - 1, 0, -1):
        rates[:last, last] /= rates[last, :last].sum()
        rates[:last, :last] += np.outer(rates[:last, last], rates[last, :last])
    law = np.zeros(size)
    law[0] = 1.0
    for state in range(1, size):
        law[state] = law[:state] @ rates[:state, state]
    return law / law.sum()
