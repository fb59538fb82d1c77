"""The truncated Markov chain of a small system: states, generator, and what truncation refuses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from .._paused import PausedSystem
from .._subject import Subject
from .._system import System
from ._state_space import StateSpace


@dataclass(frozen=True, eq=False)
class Chain:
    """A finite continuous-time chain on the lengths of a small system.

    Attributes:
        subject: the system, its policy and its regime.
        space: the states and their numbers.
        generator: (S, S) sparse, rows sum to 0.
        routing: (S, K) law of the server an arrival is sent to, None for a system with pauses.
        blocked_rates: (S,) rates of arrivals that only the truncation refuses.
    """

    subject: Subject
    space: StateSpace
    generator: sparse.csr_array
    routing: np.ndarray | None
    blocked_rates: np.ndarray

    @property
    def system(self) -> System | PausedSystem:
        """The system that the chain belongs to."""
        return self.subject.system

    @cached_property
    def ranked(self) -> np.ndarray:
        """(S, K) lengths sorted ascending."""
        states = self.space.states
        return states if self.space.is_folded else np.sort(states, axis=1)

    @property
    def is_truncated(self) -> bool:
        """Whether some arrival is refused that the true system would accept."""
        return bool(self.blocked_rates.any())


@dataclass(frozen=True, eq=False)
class OnChain:
    """What the laws on a chain's states have in common."""

    chain: Chain

    @property
    def states(self) -> np.ndarray:
        """(S, K) int64 lengths; ascending when servers are alike (`is_folded`), else by server."""
        return self.chain.space.states

    @property
    def is_folded(self) -> bool:
        """Whether states are ranked lengths."""
        return self.chain.space.is_folded

    @property
    def num_states(self) -> int:
        """The number S of states."""
        return self.chain.space.num_states


def assemble_generator(
    num_states: int, sources: list[np.ndarray], targets: list[np.ndarray], rates: list[np.ndarray]
) -> sparse.csr_array:
    """The generator with the given transitions; equal (source, target) pairs add up."""
    rows, columns, values = map(np.concatenate, (sources, targets, rates))
    moves = sparse.coo_array((values, (rows, columns)), shape=(num_states, num_states)).tocsr()
    moves.eliminate_zeros()
    outflow = np.asarray(moves.sum(axis=1)).ravel()
    return sparse.csr_array(moves - sparse.diags_array(outflow))
