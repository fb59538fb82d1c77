"""Limits from three sizes, each the same multiple of the former."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from atlas.ensemble import Estimate


def extrapolate(sizes: Sequence[Estimate], ratio: float) -> tuple[Estimate, np.ndarray]:
    """The limit of x_N = x + c e_N + ..., where e_N shrinks by `ratio` from size to size.

        limit = (ratio x_3 - x_2) / (ratio - 1)

    What is left, of the next order, is bounded by its distance to the same from the two smaller
    sizes over ratio - 1, as if no more than the first order were gained, and one standard error
    of that.

    Arguments:
        sizes: three estimates, ascending in size.
        ratio: above 1.

    Returns:
        The limit and the bound, in the shape of the estimates.
    """
    gain = 1 / (ratio - 1)
    first, second, third = (each.value for each in sizes)
    limit = third + gain * (third - second)
    before = second + gain * (second - first)
    errors = [each.std_error for each in sizes]
    error = np.hypot((1 + gain) * errors[2], gain * errors[1])
    # limit - before = (1 + gain) x_3 - (1 + 2 gain) x_2 + gain x_1.
    spread = np.sqrt(
        ((1 + gain) * errors[2]) ** 2 + ((1 + 2 * gain) * errors[1]) ** 2 + (gain * errors[0]) ** 2
    )
    bias = gain * (np.abs(limit - before) + spread)
    dof = np.minimum.reduce([each.dof for each in sizes])
    return Estimate(limit, error, dof), bias
