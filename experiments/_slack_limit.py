"""Limits as the slack r falls to 0, from a few values of r, and how far they may be off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Limit:
    """A number at r = 0.

    Arguments:
        value: the number.
        std_error: its standard error.
        bias_bound: a measured bound on what parts it from the limit.
    """

    value: float
    std_error: float
    bias_bound: float


def extrapolate(r: np.ndarray, values: np.ndarray, errors: np.ndarray) -> Limit:
    """The constant of a quadratic in r, by weighted least squares without the largest r.

    The bound is the larger distance to two other fits: a cubic to all, a line to the least three.

    Arguments:
        r: (m,) slacks, ascending, m >= 5.
        values: (m,) numbers at them.
        errors: (m,) their standard errors, independent.

    Returns:
        The limit.
    """
    main, error = _constant(r[:-1], values[:-1], errors[:-1], 2)
    others = (_constant(r, values, errors, 3), _constant(r[:3], values[:3], errors[:3], 1))
    return Limit(main, error, max(abs(other - main) for other, _ in others))


def at_the_least(r: np.ndarray, values: np.ndarray, errors: np.ndarray, power: float) -> Limit:
    """The number at the least r, where what is left falls like r^q or faster.

    Then the number at s differs from that at r by (s/r)^q - 1 times what is left at r: the bound
    is twice the largest that the two next slacks give, a standard error added; twice, since a next
    term of the other sign hides a part.

    Arguments:
        r, values, errors: as above.
        power: q.

    Returns:
        The limit.
    """
    moved = np.abs(values[1:3] - values[0]) + np.hypot(errors[1:3], errors[0])
    bound = 2.0 * np.max(moved / ((r[1:3] / r[0]) ** power - 1.0))
    return Limit(float(values[0]), float(errors[0]), float(bound))


def _constant(
    r: np.ndarray, values: np.ndarray, errors: np.ndarray, degree: int
) -> tuple[float, float]:
    """The constant of a polynomial fit and its standard error."""
    design = np.vander(r, degree + 1, increasing=True) / errors[:, None]
    weights = np.linalg.pinv(design)[0]
    return float(weights @ (values / errors)), float(np.linalg.norm(weights))
