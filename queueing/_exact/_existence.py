"""Whether a chain stands for a system that has a stationary law."""

from __future__ import annotations

import numpy as np

from .._paused import PausedSystem
from .._stability import instability
from .._subject import Subject
from .._system import System
from ._chain import Chain
from ._linear_algebra import recurrent_class


def check_load(subject: Subject) -> None:
    """What is known to have no stationary law before anything is solved."""
    system = subject.system
    if isinstance(system, PausedSystem):
        system.stationary_gaps()
        return
    if system.buffer is None and 0.0 < system.arrival_rate >= system.total_service_rate:
        raise ValueError(
            f"arrival_rate = {system.arrival_rate} is not below the capacity "
            f"{system.total_service_rate}, so there is no stationary law; lower arrival_rate, "
            "raise service_rates or give a finite buffer"
        )
    problem = instability(subject)
    if problem is not None:
        raise ValueError(f"there is no stationary law: {problem}")


def recurrent_states(chain: Chain) -> np.ndarray:
    """The states of the one closed class that the empty system reaches."""
    empty = np.zeros((1, chain.space.num_servers), dtype=np.int64)
    members = recurrent_class(chain.generator, int(chain.space.numbers(empty)[0]))
    if members is None:
        raise ValueError(
            "the empty system reaches more than one closed set of states, so the stationary law is "
            "not unique; give every server that can hold jobs a positive entry in service_rates"
        )
    stuck = chain.space.states[members].min(axis=0) >= chain.space.cap
    if stuck.any() and chain.is_truncated:
        server = int(np.flatnonzero(stuck)[0])
        raise ValueError(
            f"server {server} only fills up (service_rates[{server}] is "
            f"{chain.system.service_rates[server]}), so there is no stationary law; give it a "
            "positive rate or give a finite buffer"
        )
    return members


def check_drift(chain: Chain, law: np.ndarray) -> None:
    """Without a buffer no server can be offered more than it can serve."""
    if not chain.is_truncated or not isinstance(chain.system, System) or chain.space.is_folded:
        return
    assert chain.routing is not None
    offered = chain.system.arrival_rate * (law @ chain.routing)
    over = np.flatnonzero((offered >= chain.system.service_rates) & (offered > 0.0))
    if over.size:
        server = int(over[0])
        raise ValueError(
            f"server {server} is offered {offered[server]:.6g} jobs per unit of time and serves "
            f"{chain.system.service_rates[server]:.6g}, so there is no stationary law, or "
            "max_length is far too small; raise max_length, change the policy or give a buffer"
        )
