"""What fast servers leave undone while slower ones are still needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._speed_classes import SpeedClasses, check_load, speed_classes


def fast_idle_rate(
    service_rates: ArrayLike | None = None, shares: ArrayLike | None = None, load: float = 1.0
) -> float:
    r"""Work that JFSQ leaves to the slowest class in use because faster servers idle for a moment.

    With the classes in order of speed, as many as the load keeps busy, the idle servers of the
    k fastest are an M/M/1 queue: they become idle at rate N sum_{j <= k} w_j mu_j and every
    arrival takes one. So F_k idle servers have the mean rho_k / (1 - rho_k), and

        c = sum_{k < K} (mu_k - mu_{k+1}) rho_k / (1 - rho_k) ,
        rho_k = sum_{j <= k} w_j mu_j / (load sum_j w_j mu_j) ,

    is the rate by which idle servers idle beyond what as many of the slowest in use, class K,
    would.  It is of order 1 in the number of servers: the next order after the limits.

    Arguments:
        service_rates: (C,) rates of the classes, in any unit; None: one class.
        shares: (C,) shares of the servers, sum 1; None: equal ones.
        load: arrivals over capacity, in (0, 1]; 1 near saturation.

    Returns:
        c in units of the mean service rate; 0 for one class, inf where a class is just used up.

    Raises: ValueError that names the argument, its value and the remedy.

    Source: our derivation; JFSQ is the policy of [P2].  Cost O(C log C).
    """
    classes = speed_classes(service_rates, shares)
    if load != 1.0:
        load = check_load(load)
    return excess_idle_rate(classes.normalised(), load)[0]


def excess_idle_rate(classes: SpeedClasses, load: float) -> tuple[float, float]:
    """c, and the rate of the slowest class in use; of classes whose mean rate is 1."""
    merged, _ = classes.merged()
    if load == 0.0:
        return 0.0, float(merged.rates[0])
    used_up = np.cumsum(merged.rates * merged.shares)[:-1] / load
    used_up = used_up[used_up < 1.0]
    last = used_up.size
    steps = merged.rates[:last] - merged.rates[1 : last + 1]
    excess = float(np.sum(steps * used_up / (1.0 - used_up)))
    return excess, float(merged.rates[last])
