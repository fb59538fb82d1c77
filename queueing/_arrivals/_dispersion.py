"""How far successive times are from independent ones, in the variance of their sums."""

from __future__ import annotations

import numpy as np

from .._checks import check_integer


def index_of_dispersion(times: np.ndarray, together: int) -> float:
    """k Var(mean of k successive times) / mean^2, over all windows of k; the scv for k = 1.

    It tends to lim Var N(t) / E N(t) as k grows; a renewal process has the scv for every k.

    Arguments:
        times: (m,) times in order.
        together: k, from 1 to m.
    Returns: the index; its relative error is about sqrt(4 k / (3 m)).
    Raises: ValueError for another k.
    """
    remedy = f"an int from 1 to the number {times.size} of times"
    together = check_integer("together", together, minimum=1, remedy=remedy)
    if together > times.size:
        raise ValueError(f"together is {together}; give {remedy}")
    # In units near the largest: squares of huge and of tiny times are out of range.
    times = np.ldexp(times, -int(np.frexp(times.max())[1]))
    mean = float(times.mean())
    # Sums of deviations, so that a large mean costs no digits.
    sums = np.concatenate([[0.0], np.cumsum(times - mean)])
    windows = sums[together:] - sums[:-together]
    return float(np.mean(np.square(windows))) / (together * mean**2)
