"""The stationary law of a small system and its means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._observables import StateFunction
from .._policy import Policy, check_policy
from ._chain import OnChain
from ._job_observables import JOB_OBSERVABLES
from ._observables import mean_observable
from ._state_observables import system_of
from ._state_space import StateSpace
from ._system_chain import routing_table


@dataclass(frozen=True, eq=False)
class ExactStationary(OnChain):
    """A stationary law on a truncated state space, by linear algebra.

    Attributes:
        probabilities: (S,) stationary probabilities of `states`.
        residual: largest entry of |pi Q| over the largest exit rate.
        prob_boundary: probability of the states in which the truncation refuses an arrival.
        truncation_error: estimated bound on the error of the mean of any length, rank, gap or
            total, in jobs, and of any probability; 0 where the buffer makes the state space
            finite.  See `exact_stationary` for how it is found.
    """

    probabilities: np.ndarray
    observe: dict[str, StateFunction]
    residual: float
    prob_boundary: float
    truncation_error: float

    @property
    def joint(self) -> tuple[np.ndarray, np.ndarray]:
        """States (S, K) and probabilities (S,)."""
        return self.states, self.probabilities

    @cached_property
    def joint_ranked(self) -> tuple[np.ndarray, np.ndarray]:
        """Ranked states (S', K) and their probabilities (S',), also for unlike servers."""
        if self.is_folded:
            return self.joint
        states, number = np.unique(self.chain.ranked, axis=0, return_inverse=True)
        return states, np.bincount(number.ravel(), weights=self.probabilities)

    @property
    def ranked_marginals(self) -> np.ndarray:
        """(K, L + 1): entry [k - 1, l] is P(Q_(k) = l), l up to the longest length considered."""
        levels = self.chain.space.cap + 1
        return np.array(
            [
                np.bincount(lengths, weights=self.probabilities, minlength=levels)
                for lengths in self.chain.ranked.T
            ]
        )

    def mean(self, name: str) -> Any:
        """The stationary mean of an observable.

        Arguments:
            name: an observable of the package that a Markov state determines (`lengths`,
                `lengths_ranked`, `gaps`, `scaled_gaps`, `total`, `imbalance`, `occupancy` from
                level 1 up, `idle_servers`, `prob_tie`, `utilisation`, `throughput`, `prob_wait`,
                `prob_loss`, `wait`, `response`, `time_to_service`, `wait_by_class`,
                `response_by_class`, `occupancy_by_class`, `lengths_by_class`,
                `utilisation_by_class`, `throughput_by_class` (by service rate, ascending, the last
                four per server), `messages_per_job`, `tied_block_drift`), or one passed in
                `observe`.

        Returns:
            A float, or an array over server, rank, gap or level.  State observables are time
            averages, job observables averages over accepted jobs.

        Raises:
            ValueError: an unknown name, listing the known ones, or one that the system lacks.
        """
        return mean_observable(self.chain, self.probabilities, name, self.observe)

    def job_mean(self, name: str, *, policy: Policy) -> Any:
        """The mean of a job observable over a thin Poisson stream of its own, routed by `policy`.

        Poisson arrivals see the stationary law, and a server of rate mu with q jobs makes the next
        one wait q / mu on average, so a class of jobs needs no simulation: with
        `Marginal(JSQ(), rate=...)` the special class is `job_mean("wait", policy=JSQ())`.

        Arguments:
            name: `prob_wait`, `prob_loss`, `wait`, `response`, `time_to_service`, or
                `wait_by_class`, `response_by_class`.
            policy: how the jobs of this class are routed.

        Raises:
            ValueError: another name.

        Source: [Wolff1982].
        """
        if name not in JOB_OBSERVABLES:
            raise ValueError(f"name is {name!r}; give one of {', '.join(JOB_OBSERVABLES)}")
        system = system_of(self.chain, name)
        routing = routing_table(check_policy(policy, system), self.states, system)
        value = JOB_OBSERVABLES[name](self.chain, self.probabilities, routing)
        return float(value) if np.ndim(value) == 0 else value

    def prob(self, lengths_ranked: ArrayLike) -> np.ndarray:
        """The probability of ranked lengths.

        Arguments:
            lengths_ranked: (..., K) integers, ascending along the last axis.

        Returns:
            (...) probabilities; 0 beyond the truncation.

        Raises:
            ValueError: a wrong shape, or lengths that are not ascending whole numbers >= 0.
        """
        asked = np.asarray(lengths_ranked)
        num_servers = self.chain.space.num_servers
        if asked.shape[-1:] != (num_servers,) or asked.dtype.kind not in "iu":
            raise ValueError(
                f"lengths_ranked has shape {asked.shape} and type {asked.dtype}; give integers of "
                f"shape (..., {num_servers})"
            )
        if np.any(asked[..., 0] < 0) or np.any(np.diff(asked, axis=-1) < 0):
            raise ValueError("lengths_ranked is not ascending and >= 0; sort along the last axis")
        space = StateSpace(num_servers, self.chain.space.cap, True)
        states, probabilities = self.joint_ranked
        by_number = np.zeros(space.num_states)
        by_number[space.numbers(states)] = probabilities
        flat = asked.reshape(-1, num_servers)
        within = flat[:, -1] <= space.cap
        found = np.zeros(flat.shape[0])
        found[within] = by_number[space.numbers(flat[within])]
        return found.reshape(asked.shape[:-1])
