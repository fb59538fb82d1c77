"""Fixed points of the mean field of power-of-d routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import root

if TYPE_CHECKING:
    from ._mean_field import PowerOfDMeanField

_TOLERANCE = 1e-12
_FIRST_SWEEPS, _MOST_SWEEPS = 50, 200_000


def homogeneous_occupancy(num_choices: int, load: float, num_levels: int) -> np.ndarray:
    """(level,) load^((d^i - 1)/(d - 1)), i = 1 ... num_levels; load^i for d = 1."""
    levels = np.arange(1, num_levels + 1)
    if num_choices == 1:
        return load ** levels.astype(float)
    with np.errstate(over="ignore"):
        exponents = np.cumsum(float(num_choices) ** (levels - 1))
    return (
        np.where(np.isfinite(exponents), load**exponents, 0.0) if load < 1 else np.ones(levels.size)
    )


def birth_rates(total: np.ndarray, arrival_rate: float, num_choices: int) -> np.ndarray:
    """(level,) rate at which a server with i - 1 jobs gets one, lambda (a^d - b^d)/(a - b).

    Arguments: `total`, (level,) S_i; a = S_{i-1}, b = S_i. Summed as a polynomial, so that equal
    neighbours do no harm.
    """
    below = np.concatenate(([1.0], total[:-1]))
    rates = np.zeros_like(total)
    for k in range(num_choices):
        rates = rates * total + below**k
    return arrival_rate * rates


def solve_fixed_point(field: PowerOfDMeanField) -> np.ndarray:
    """(class, level): S = G(S), G the occupancy of birth-death chains whose births S determines.

    G is monotone, so sweeps from the empty state rise to the least fixed point; Newton's method
    takes over where they crawl.
    """
    rates, shares = field.classes.rates, field.classes.shares

    def occupancies(total: np.ndarray) -> np.ndarray:
        births = birth_rates(total, field.arrival_rate, field.num_choices)
        with np.errstate(divide="ignore"):
            log_weights = np.cumsum(np.log(births) - np.log(rates)[:, None], axis=1)
        log_weights = np.concatenate([np.zeros((rates.size, 1)), log_weights], axis=1)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        tails = np.cumsum(weights[:, ::-1], axis=1)[:, ::-1]
        return tails[:, 1:] / tails[:, :1]

    def defect(total: np.ndarray) -> np.ndarray:
        return shares @ occupancies(np.clip(total, 0.0, 1.0)) - total

    total = np.zeros(field.num_levels)
    for _ in range(_FIRST_SWEEPS):
        total = total + defect(total)
    found = root(defect, total, tol=1e-14)
    if np.max(np.abs(defect(found.x))) < _TOLERANCE and _is_occupancy(found.x):
        return occupancies(np.clip(found.x, 0.0, 1.0))
    for _ in range(_MOST_SWEEPS):
        change = defect(total)
        total = total + change
        if np.max(np.abs(change)) < 1e-15:
            break
    return occupancies(total)


def _is_occupancy(total: np.ndarray) -> bool:
    falls = np.diff(total, prepend=1.0, append=0.0) <= _TOLERANCE
    return bool(np.all(falls))
