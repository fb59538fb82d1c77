"""What blocking arrivals at the boundary of a truncated chain costs its means."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sparse

from ._linear_algebra import ReducedGenerator

_SAFETY = 2.0


def estimate_truncation_error(
    generator: sparse.csr_array,
    reduced: ReducedGenerator,
    law: np.ndarray,
    ranked: np.ndarray,
    blocked_rates: np.ndarray,
) -> float:
    r"""Twice the estimated error of the mean total that the truncation causes.

    For f the total number of jobs let g solve Poisson's equation Q g = E f - f.  Blocking changes
    E f by the flow of blocked arrivals times the increment of g that each would have caused.
    Increments grow about linearly with the longest queue, but the truncated g flattens at the
    boundary, so each is divided by the longest queue after it and the largest ratio extrapolated:

        e = (flow of blocked arrivals) (longest + 1) max (increment / longest queue after it) ,
        error = e / (1 - e / E f) .

    The denominator sums the higher orders as for one server, where the formula is exact, and where
    e >= E f if and only if there is no stationary law.

    Arguments:
        generator: (S, S), irreducible.
        reduced: its factors.
        law: (S,) its stationary law.
        ranked: (S, K) lengths, ascending.
        blocked_rates: (S,) rates of arrivals that the truncation refuses, not all 0.

    Returns:
        Jobs; infinite where e >= E f.

    Source: our derivation.  Cost: one solve.
    """
    total = ranked.sum(axis=1)
    bias = reduced.bias(total.astype(np.float64), law)
    moves = sparse.coo_array(generator)
    source, target = moves.row, moves.col
    is_arrival = total[target] > total[source]
    source, target = source[is_arrival], target[is_arrival]
    slope = float(np.max(np.abs(bias[target] - bias[source]) / ranked[target, -1]))
    first_order = float(law @ blocked_rates) * slope * (int(ranked.max()) + 1)
    missing_share = first_order / float(law @ total)
    if missing_share >= 1.0:
        return np.inf
    return _SAFETY * first_order / (1.0 - missing_share)
