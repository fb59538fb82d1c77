"""From what the caller passes to a truncated chain."""

from __future__ import annotations

from math import lgamma, log
from typing import Any

from .._checks import check_integer
from .._paused import PausedSystem
from .._subject import resolve_subject
from ._chain import Chain
from ._paused_chain import build_paused_chain
from ._state_space import StateSpace
from ._system_chain import build_system_chain, is_symmetric


def resolve_chain(subject: Any, policy: Any, *, max_length: int, max_states: int) -> Chain:
    """The chain of a regime, of a system under a policy, or of a system with pauses.

    Raises:
        ValueError: naming the argument, its value and the remedy; in particular the
            number of states when it exceeds `max_states`.
    """
    cap = check_integer("max_length", max_length, minimum=1, remedy="an int >= 1, jobs at a server")
    limit = check_integer("max_states", max_states, minimum=1, remedy="an int >= 1")
    subject = resolve_subject(subject, policy)
    system = subject.system
    if isinstance(system, PausedSystem):
        _check_size(StateSpace(system.num_servers, cap, True), limit)
        return build_paused_chain(subject, cap=cap)
    if not system.is_markov:
        raise ValueError(
            f"lengths are no Markov process, because {system.beyond_lengths}; or simulate"
        )
    if system.buffer is not None:
        cap = min(cap, system.buffer)
    if system.is_exchangeable:
        _check_size(StateSpace(system.num_servers, cap, True), limit)
    is_folded = system.is_exchangeable and is_symmetric(subject.policy, system, cap)
    num_phases = subject.policy.num_phases(system)
    _check_size(StateSpace(system.num_servers, cap, is_folded).with_phases(num_phases), limit)
    return build_system_chain(subject, cap=cap, is_folded=is_folded)


def _check_size(space: StateSpace, limit: int) -> None:
    num_servers, cap = space.num_servers, space.cap
    if space.is_folded:
        kind = "ranked lengths"
        log_size = lgamma(cap + num_servers + 1) - lgamma(cap + 1) - lgamma(num_servers + 1)
    else:
        kind = "lengths by server"
        log_size = num_servers * log(cap + 1)
    # Beyond this the integer itself may have more digits than can be printed.
    digits = log_size / log(10.0)
    is_huge = digits > 15.0
    if is_huge or space.num_states > limit:
        count = f"about 10^{digits:.0f}" if is_huge else f"{space.num_states}"
        raise ValueError(
            f"max_length = {cap} for {num_servers} servers makes {count} states ({kind}), above "
            f"max_states = {limit}; lower max_length, or raise max_states if memory allows"
        )
