"""The chain of parallel servers under a policy, folded by ranks where servers are alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._checks import check_array
from .._policy import Policy
from .._ranking import tied_blocks
from .._subject import Subject
from .._system import System
from ._chain import Chain, assemble_generator
from ._state_space import StateSpace

_TOLERANCE = 1e-12


def build_system_chain(subject: Subject, *, cap: int, is_folded: bool) -> Chain:
    """The chain of a system under its policy on lengths up to `cap`; cost O(S K^2 P^2).

    A state is a vector of lengths and a phase of the policy; most policies have one phase.
    """
    system, policy = subject.system, subject.policy
    assert isinstance(system, System) and policy is not None
    lengths = StateSpace(system.num_servers, cap, is_folded)
    num_phases = policy.num_phases(system)
    moves = _Moves([], [], [])
    routing, blocked = [], []
    for phase in range(num_phases):
        joint = phase_table(policy, lengths.states, phase, system)
        routing.append(joint.sum(axis=2))
        blocked.append(np.zeros(lengths.num_states))
        for server, service_rate in enumerate(system.service_rates):
            _add_departures(moves, lengths, phase, server, float(service_rate))
            arrivals = system.arrival_rate * joint[:, server, :]
            blocked[-1] += _add_arrivals(moves, lengths, phase, server, arrivals)
    space = lengths.with_phases(num_phases)
    blocked_rates = np.concatenate(blocked)
    if system.buffer is not None and cap >= system.buffer:
        blocked_rates[:] = 0.0
    generator = assemble_generator(space.num_states, *moves)
    return Chain(subject, space, generator, np.concatenate(routing), blocked_rates)


class _Moves(NamedTuple):
    """Transitions so far: the numbers of their states, phases included, and their rates."""

    sources: list[np.ndarray]
    targets: list[np.ndarray]
    rates: list[np.ndarray]


def _add_departures(
    moves: _Moves, lengths: StateSpace, phase: int, server: int, service_rate: float
) -> None:
    busy = np.flatnonzero(lengths.states[:, server] > 0)
    if service_rate > 0.0:
        offset = phase * lengths.num_states
        moves.sources.append(offset + busy)
        moves.targets.append(offset + _moved(lengths, busy, server, -1))
        moves.rates.append(np.full(busy.size, service_rate))


def _add_arrivals(
    moves: _Moves, lengths: StateSpace, phase: int, server: int, rates: np.ndarray
) -> np.ndarray:
    """Arrivals at one server with rates (S, P) by next phase; returns (S,) rates of the refused."""
    fits = lengths.states[:, server] < lengths.cap
    size = lengths.num_states
    for following, rate in enumerate(rates.T):
        accepted = np.flatnonzero(fits & (rate > 0.0))
        moves.sources.append(phase * size + accepted)
        moves.targets.append(following * size + _moved(lengths, accepted, server, 1))
        moves.rates.append(rate[accepted])
        if following != phase:
            # A job that is refused moves the policy on all the same.
            refused = np.flatnonzero(~fits & (rate > 0.0))
            moves.sources.append(phase * size + refused)
            moves.targets.append(following * size + refused)
            moves.rates.append(rate[refused])
    return np.where(fits, 0.0, rates.sum(axis=1))


def _moved(lengths: StateSpace, states: np.ndarray, server: int, change: int) -> np.ndarray:
    """The numbers of these states after a change at one server; folded ones stay ascending."""
    after = lengths.states[states].copy()
    column = np.full(states.size, server)
    if lengths.is_folded:
        first, last = tied_blocks(after)
        column = (last if change > 0 else first)[:, server]
    after[np.arange(states.size), column] += change
    return lengths.numbers(after)


def is_symmetric(policy: Policy, system: System, cap: int) -> bool:
    """Whether the policy treats servers alike, so that the ranked lengths are Markov.

    Tried on every ranked state of the space: tied servers have equal chances, and permuting the
    servers permutes the chances, for a swap, a rotation and the reversal.
    """
    if policy.num_phases(system) > 1:
        return False
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
    routing = _numbers(policy, policy.routing_probabilities(_shown(states), system))
    return _checked_table(policy, states, routing, states.shape)


def phase_table(policy: Policy, states: np.ndarray, phase: int, system: System) -> np.ndarray:
    """(S, K, P) joint laws of server and next phase, checked as in `routing_table`."""
    joint = _numbers(policy, policy.phase_routing(_shown(states), phase, system))
    return _checked_table(policy, states, joint, (*states.shape, policy.num_phases(system)))


def _shown(states: np.ndarray) -> np.ndarray:
    """The states as a policy may look at them."""
    view = states.view()
    view.flags.writeable = False
    return view


def _numbers(policy: Policy, table: Any) -> np.ndarray:
    name = f"policy {policy!r}: routing probabilities"
    return check_array(name, table, remedy="an array of probabilities")


def _checked_table(
    policy: Policy, states: np.ndarray, table: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    if table.shape != shape:
        raise ValueError(
            f"policy {policy!r} gave routing probabilities of shape {table.shape} for lengths of "
            f"shape {states.shape}; return one law per leading index, of shape {shape}"
        )
    axes = tuple(range(1, table.ndim))
    is_law = np.all(table >= 0.0, axis=axes) & (np.abs(table.sum(axis=axes) - 1.0) <= 1e-9)
    if not is_law.all():
        state = int(np.flatnonzero(~is_law)[0])
        raise ValueError(
            f"policy {policy!r} gave {table[state]} at lengths {states[state]}; "
            "routing probabilities must be non-negative and sum to 1"
        )
    return table
