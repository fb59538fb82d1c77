"""Truncated state spaces and the numbering of their states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np


@dataclass(frozen=True)
class StateSpace:
    """All lengths up to `cap`, by server, or folded to ascending vectors when servers are alike.

    Ranked vectors are numbered by the combinatorial number system: q_1 <= ... <= q_K has number
    sum_i C(q_i + i - 1, i); unranked ones are numbered in mixed radix.
    """

    num_servers: int
    cap: int
    is_folded: bool

    @property
    def num_states(self) -> int:
        """C(cap + K, K) ranked vectors, or (cap + 1)^K."""
        if self.is_folded:
            return comb(self.cap + self.num_servers, self.num_servers)
        return (self.cap + 1) ** self.num_servers

    @cached_property
    def states(self) -> np.ndarray:
        """(S, K) int64, row s the lengths of state number s."""
        if not self.is_folded:
            shape = (self.cap + 1,) * self.num_servers
            return np.stack(np.unravel_index(np.arange(self.num_states), shape), axis=1)
        remainder = np.arange(self.num_states)
        states = np.empty((self.num_states, self.num_servers), dtype=np.int64)
        for rank in range(self.num_servers, 0, -1):
            table = self._binomials[rank - 1]
            chosen = np.searchsorted(table, remainder, side="right") - 1
            remainder = remainder - table[chosen]
            states[:, rank - 1] = chosen - (rank - 1)
        return states

    def numbers(self, lengths: np.ndarray) -> np.ndarray:
        """(S',) state numbers of lengths (S', K) that lie in this space (ascending when folded)."""
        if not self.is_folded:
            shape = (self.cap + 1,) * self.num_servers
            return np.asarray(np.ravel_multi_index(tuple(lengths.T), shape))
        ranks = np.arange(self.num_servers)
        return self._binomials[ranks, lengths + ranks].sum(axis=-1)

    def with_phases(self, num_phases: int) -> StateSpace:
        """The same states once per phase of a policy; numbers then belong to the first phase."""
        return self if num_phases == 1 else PhasedStateSpace(*self._settings, num_phases)

    @property
    def _settings(self) -> tuple[int, int, bool]:
        return self.num_servers, self.cap, self.is_folded

    @cached_property
    def _binomials(self) -> np.ndarray:
        """(K, cap + K): entry [i - 1, c] is C(c, i), or S where that is more than any number."""
        width, most = self.cap + self.num_servers, self.num_states
        return np.array(
            [[min(comb(c, i), most) for c in range(width)] for i in range(1, self.num_servers + 1)],
            dtype=np.int64,
        )


@dataclass(frozen=True)
class PhasedStateSpace(StateSpace):
    """Lengths with the phase of the policy: all in the first phase, then in the second ..."""

    num_phases: int

    @property
    def num_states(self) -> int:
        """Those of the lengths, times the phases."""
        return StateSpace(*self._settings).num_states * self.num_phases

    @cached_property
    def states(self) -> np.ndarray:
        """(S, K) int64, the lengths of state number s; the phase is s // (S / num_phases)."""
        return np.tile(StateSpace(*self._settings).states, (self.num_phases, 1))
