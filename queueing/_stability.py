"""Whether queues are known to grow for ever."""

from __future__ import annotations

import numpy as np

from ._paused import PausedSystem
from ._subject import Subject


def instability(subject: Subject) -> str | None:
    """Why the system is known to have no stationary law, with the remedy; None if it may have one.

    Checked: the load of the whole; the load of each server by what reaches it whatever the state;
    for servers of one rate under a policy by ranks, the load of the upper ranks together; rho_k of
    a system with pauses.
    """
    if isinstance(subject.system, PausedSystem):
        try:
            subject.system.stationary_gaps()
        except ValueError as error:
            return str(error)
        return None
    system, policy = subject.routed
    if system.buffer is not None or system.arrival_rate == 0.0:
        return None
    if system.load >= 1.0:
        return f"the load is {system.load:.9g}, so queues grow for ever; lower arrival_rate"
    law = policy.law(system)
    if law is None:
        return None
    fixed = system.arrival_rate * law.by_server
    over = np.flatnonzero((fixed >= system.service_rates) & (fixed > 0.0))
    if over.size:
        server = int(over[0])
        return (
            f"server {server} receives {fixed[server]:.6g} jobs per unit of time whatever its "
            f"length and serves {system.service_rates[server]:.6g}; change the policy or lower "
            "arrival_rate"
        )
    streams = subject.streams
    if streams is None:
        return None
    # The ranks above k together, while they are far above the others.
    net = streams.uniform_rate + streams.rank_rates - streams.service_rate
    above = np.cumsum(net[::-1])[::-1]
    if (above >= 0.0).any():
        rank = int(np.flatnonzero(above >= 0.0)[-1]) + 1
        return f"ranks {rank} and above receive as much as they serve; send less to the upper ranks"
    return None
