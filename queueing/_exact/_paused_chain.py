"""The chain of the system with pauses on ascending vectors."""

from __future__ import annotations

import numpy as np

from .._paused import PausedSystem
from .._subject import Subject
from ._chain import Chain, assemble_generator
from ._state_space import StateSpace


def build_paused_chain(subject: Subject, *, cap: int) -> Chain:
    """The chain of the system with pauses on ranked lengths up to `cap`; cost O(S K)."""
    system = subject.system
    assert isinstance(system, PausedSystem)
    space = StateSpace(system.num_servers, cap, True)
    states = space.states
    everyone = np.arange(space.num_states)
    sources, targets, rates = [everyone[:0]], [everyone[:0]], [np.zeros(0)]
    above = np.concatenate((states[:, 1:], np.full((space.num_states, 1), cap)), axis=1)
    below = np.concatenate((np.zeros((space.num_states, 1), dtype=int), states[:, :-1]), axis=1)
    for rank in range(system.num_servers):
        for allowed, change, rate in (
            (states[:, rank] < above[:, rank], 1, system.arrival_rates[rank]),
            (states[:, rank] > below[:, rank], -1, system.service_rates[rank]),
        ):
            if rate == 0.0:
                continue
            after = states[allowed].copy()
            after[:, rank] += change
            sources.append(everyone[allowed])
            targets.append(space.numbers(after))
            rates.append(np.full(after.shape[0], rate))
    # Only the top rank can be stopped by the truncation: lower ones meet the rank above first.
    blocked = np.where(states[:, -1] == cap, system.arrival_rates[-1], 0.0)
    generator = assemble_generator(space.num_states, sources, targets, rates)
    return Chain(subject, space, generator, None, blocked)
