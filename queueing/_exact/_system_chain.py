"""The chain of parallel servers under a policy, folded by ranks where servers are alike."""

from __future__ import annotations

import numpy as np

from .._policy import Policy
from .._ranking import tied_blocks
from .._subject import Subject
from .._system import System
from ._chain import Chain, assemble_generator
from ._state_space import StateSpace

_TOLERANCE = 1e-12


def build_system_chain(subject: Subject, *, cap: int, is_folded: bool) -> Chain:
    """The chain of a system under its policy on lengths up to `cap`; cost O(S K^2)."""
    system, policy = subject.system, subject.policy
    assert isinstance(system, System) and policy is not None
    space = StateSpace(system.num_servers, cap, is_folded)
    states = space.states
    routing = routing_table(policy, states, system)
    if is_folded:
        first, last = tied_blocks(states)
    else:
        first = last = np.broadcast_to(np.arange(system.num_servers), states.shape)
    everyone = np.arange(space.num_states)
    sources, targets, rates = [everyone[:0]], [everyone[:0]], [np.zeros(0)]
    blocked = np.zeros(space.num_states)
    for server, service_rate in enumerate(system.service_rates):
        arrival = system.arrival_rate * routing[:, server]
        fits = states[:, server] < cap
        blocked += np.where(fits, 0.0, arrival)
        moves = ((fits & (arrival > 0.0), arrival, last, 1),)
        busy = (states[:, server] > 0) & (service_rate > 0.0)
        moves += ((busy, np.full(space.num_states, service_rate), first, -1),)
        for allowed, rate, moved, change in moves:
            after = states[allowed].copy()
            after[np.arange(after.shape[0]), moved[allowed, server]] += change
            sources.append(everyone[allowed])
            targets.append(space.numbers(after))
            rates.append(rate[allowed])
    if system.buffer is not None and cap >= system.buffer:
        blocked[:] = 0.0
    generator = assemble_generator(space.num_states, sources, targets, rates)
    return Chain(subject, space, generator, routing, blocked)


def is_symmetric(policy: Policy, system: System, cap: int) -> bool:
    """Whether the policy treats servers alike, so that the ranked lengths are Markov.

    Tried on every ranked state of the space: tied servers have equal chances, and permuting the
    servers permutes the chances, for a swap, a rotation and the reversal.
    """
    states = StateSpace(system.num_servers, cap, True).states
    routing = routing_table(policy, states, system)
    first, _ = tied_blocks(states)
    if not np.allclose(routing, np.take_along_axis(routing, first, axis=1), atol=_TOLERANCE):
        return False
    order = np.arange(system.num_servers)
    swap = order.copy()
    swap[:2] = swap[:2][::-1]
    return all(
        np.allclose(
            routing_table(policy, states[:, permutation], system),
            routing[:, permutation],
            atol=_TOLERANCE,
        )
        for permutation in (order[::-1], np.roll(order, 1), swap)
    )


def routing_table(policy: Policy, states: np.ndarray, system: System) -> np.ndarray:
    """(S, K) routing probabilities of all states at once, checked to be laws.

    Raises:
        ValueError: the policy does not broadcast over states, or a row is no probability law.
    """
    routing = np.asarray(policy.routing_probabilities(states, system), dtype=np.float64)
    if routing.shape != states.shape:
        raise ValueError(
            f"policy {policy!r} gave routing probabilities of shape {routing.shape} for lengths of "
            f"shape {states.shape}; return one law per leading index, the same shape as lengths"
        )
    is_law = np.all(routing >= 0.0, axis=1) & (np.abs(routing.sum(axis=1) - 1.0) <= 1e-9)
    if not is_law.all():
        state = int(np.flatnonzero(~is_law)[0])
        raise ValueError(
            f"policy {policy!r} gave {routing[state]} at lengths {states[state]}; "
            "routing probabilities must be non-negative and sum to 1"
        )
    return routing
