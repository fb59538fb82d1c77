"""Whether queues are known to grow for ever."""

from __future__ import annotations

import numpy as np

from ._overload import overload
from ._paused import PausedSystem
from ._random_fallback import fallback_overload, undecided_fallback
from ._subject import Subject


def instability(subject: Subject) -> str | None:
    """Why the system is known to have no stationary law, with the remedy; None if it may have one.

    Checked: the load of the whole; servers that receive too much whatever the state, see
    `overload`; slow servers under a policy that falls back on random routing, see
    `fallback_overload`; for servers of one rate under a policy by ranks, the load of the upper
    ranks together; rho_k of a system with pauses.
    """
    if isinstance(subject.system, PausedSystem):
        try:
            subject.system.stationary_gaps()
        except ValueError as error:
            return str(error)
        return None
    system, policy = subject.routed
    problem = overload(system, policy) or fallback_overload(system, policy)
    if problem is not None:
        return problem
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


def doubt(subject: Subject) -> str | None:
    """Why it is not known whether there is a stationary law, with the remedy.

    None where `instability` has an answer, where there is a law, and for policies about which
    nothing is known that would speak against it.
    """
    if isinstance(subject.system, PausedSystem):
        return None
    return undecided_fallback(*subject.routed)
