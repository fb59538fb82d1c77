"""Servers that receive more than they serve whatever the state."""

from __future__ import annotations

import numpy as np

from ._policy import Policy
from ._system import System


def overload(system: System, policy: Policy) -> str | None:
    """Which servers are known to be overloaded, in words with the remedy; None if none are.

    A policy by ranks and names sends to any s servers together, in every state, at least

        sum over the servers of arrival_rate by_server_i + arrival_rate (the s least by_rank) ;

    checked for the s servers with least capacity left, every s.  For the shortest of d queues
    sampled without replacement that is C(s, d) / C(K, d) of all arrivals to the s slowest, and the
    condition is sharp.

    Source: [FossChernova1998], [P3].  Cost: O(K log K).
    """
    if system.buffer is not None or system.arrival_rate == 0.0:
        return None
    if system.load >= 1.0:
        return f"the load is {system.load:.9g}, so queues grow for ever; lower arrival_rate"
    law = policy.mean_law(system)
    if law is None:
        return None
    fixed = system.arrival_rate * law.by_server
    left = system.service_rates - fixed
    slowest = np.argsort(left, kind="stable")
    received = np.cumsum(np.sort(system.arrival_rate * law.by_rank))
    # Servers that may get nothing are not known to get too much.
    gets_any = received + np.cumsum(fixed[slowest]) > 0.0
    over = np.flatnonzero((received >= np.cumsum(left[slowest])) & gets_any)
    if over.size == 0:
        return None
    count = int(over[0]) + 1
    servers = np.sort(slowest[:count])
    names = ", ".join(map(str, servers[:8])) + (", ..." if count > 8 else "")
    which = f"server {names} receives" if count == 1 else f"servers {names} together receive"
    gets = float(received[count - 1] + fixed[servers].sum())
    serves = float(system.service_rates[servers].sum())
    return (
        f"{which} at least {gets:.6g} jobs per unit of time whatever the lengths, for a service "
        f"rate of {serves:.6g}; change the policy, lower arrival_rate or raise service_rates"
    )
