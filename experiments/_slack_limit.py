"""Limits as a slack r (or 1/sqrt(n)) falls to 0, and how far they may be off."""

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


@dataclass(frozen=True)
class Line:
    """The constant of a line as a function of the numbers that it is fitted to.

    Arguments:
        weights: (m,) of each number, 0 where it is left out.
        curvature: what the constant of the line makes of r^2.
    """

    weights: np.ndarray
    curvature: float


def fit_lines(r: np.ndarray, errors: np.ndarray, left_out: int = 1) -> list[Line]:
    """Lines by weighted least squares through the least r, through as many from the second on, and
    so forth up to the largest.

    Arguments:
        r: (m,) ascending, m >= 2 + left_out.
        errors: (m,) standard errors of what is fitted.
        left_out: how many of the largest r the first line leaves out, at least 1.

    Returns:
        left_out + 1 lines.
    """
    size = r.size - left_out
    return [_line(r, errors, slice(start, start + size)) for start in range(left_out + 1)]


def extrapolate(r: np.ndarray, values: np.ndarray, errors: np.ndarray, left_out: int = 1) -> Limit:
    """The constant y_1 of a line in r through the least of them.

    Numbers that are y + c r + d r^2 + ... put line i off by d times its `curvature` B_i and higher
    terms, both the larger the larger its r. So every two neighbours show what the first one may be
    off, and the bound is

        max_i 2 |y_i - y_(i+1)| B_1 / (B_(i+1) - B_i) ,  and one standard error of y_1 ,

    twice what r^2 alone needs, since a next term of the other sign hides a part. With r doubled
    from each to the next that is 2/3 of the first distance, 1/6 of the second.

    Arguments:
        r: (m,) slacks, ascending, m >= 2 + left_out.
        values: (m,) numbers at them.
        errors: (m,) their standard errors, independent.
        left_out: how many of the largest r the line leaves out, at least 1.

    Returns:
        The limit.
    """
    lines = fit_lines(r, errors, left_out)
    error = float(np.linalg.norm(lines[0].weights * errors))
    return limit_of_lines(lines, values, error)


def limit_of_lines(lines: list[Line], values: np.ndarray, error: float) -> Limit:
    """As `extrapolate`, from its lines and the standard error of the first one's constant."""
    constants = np.array([float(line.weights @ values) for line in lines])
    curvatures = np.array([line.curvature for line in lines])
    shown = np.abs(np.diff(constants) * curvatures[0] / np.diff(curvatures))
    return Limit(float(constants[0]), error, 2.0 * float(shown.max()) + error)


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


def _line(r: np.ndarray, errors: np.ndarray, chosen: slice) -> Line:
    design = np.vander(r[chosen], 2, increasing=True) / errors[chosen, None]
    weights = np.zeros(r.size)
    weights[chosen] = np.linalg.pinv(design)[0] / errors[chosen]
    return Line(weights, float(weights @ r**2))
