"""What a quantity tends to as n grows, from three sizes, each four times the former."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from atlas.ensemble import Estimate


def large_n_limit(values: Sequence[Estimate]) -> tuple[Estimate, np.ndarray]:
    """The limit of y(n) = y + c / sqrt(n) + d / n + ..., from n/16, n/4 and n.

        y_2 = 2 y(n) - y(n/4) ,    y_1 = 2 y(n/4) - y(n/16) ,

    are off by terms of order 1/n, of which the second has four times the first.

    Arguments:
        values: independent estimates at three sizes, ascending, each size four times the former.

    Returns:
        y_2, and a bound on what it is off: a third of |y_2 - y_1|, and one standard error.
    """
    first, second = (2 * large.value - small.value for small, large in pairwise(values))
    _, middle, last = values
    error = np.hypot(2 * last.std_error, middle.std_error)
    return Estimate(second, error, last.dof), np.abs(second - first) / 3 + error


def check_sizes(name: str, sizes: Sequence[int]) -> None:
    """Refuse anything but three sizes, each four times the former."""
    if len(sizes) != 3 or any(large != 4 * small for small, large in pairwise(sizes)):
        raise ValueError(f"{name} are {sizes}: three sizes, each four times the former")
