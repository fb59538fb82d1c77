"""A stream routed by one policy, the rest by another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_nonnegative
from .._engine._inlined import inlined
from .._engine._pointers import shifted
from .._engine._xoshiro import BELOW_ONE, next_uniform
from .._system import System
from ._base import Kernel, Policy, RoutingLaw, no_update
from ._random import Random


@dataclass(frozen=True)
class Marginal(Policy):
    """A stream of the given rate, or fraction of all arrivals, by `policy`, the rest by `base`.

    Each job is of the stream with probability f = fraction = rate / arrival_rate, independently:

        P(server i) = f P_policy(server i) + (1 - f) P_base(server i) .

    Marginal JSQ is `Marginal(JSQ(), rate=...)`; randomised JSQ is
    `Marginal(JSQ(), fraction=chi, base=RateProportional())`.

    Arguments:
        policy: the policy of the stream.
        rate: the stream's jobs per unit of time, at most the system's arrival rate; or None.
        fraction: the stream's share of all arrivals, in [0, 1]; or None.  Give one of the two.
        base: the policy of the other jobs.
    Raises: ValueError that names the argument.
    Source: [P0], [P1].
    """

    policy: Policy
    rate: float | None = None
    fraction: float | None = None
    base: Policy = Random()  # noqa: RUF009  (frozen, so one instance can serve all)

    def __post_init__(self) -> None:
        for name in ("policy", "base"):
            given = getattr(self, name)
            if not isinstance(given, Policy):
                raise ValueError(f"{name} is {given!r}; give a policy instance such as Random()")
        if (self.rate is None) == (self.fraction is None):
            raise ValueError(
                f"rate is {self.rate!r} and fraction is {self.fraction!r}; give exactly one of them"
            )
        if self.rate is not None:
            remedy = "a finite rate >= 0 of jobs per unit of time"
            rate = check_nonnegative("rate", self.rate, remedy=remedy)
            object.__setattr__(self, "rate", rate)
        if self.fraction is not None:
            remedy = "a share of all arrivals, from 0 to 1"
            fraction = check_nonnegative("fraction", self.fraction, remedy=remedy)
            if fraction > 1.0:
                raise ValueError(f"fraction is {self.fraction!r}; give {remedy}")
            object.__setattr__(self, "fraction", fraction)

    def fraction_of(self, system: System) -> float:
        """The share of the system's arrivals that goes by `policy`."""
        if self.fraction is not None:
            return float(self.fraction)
        assert self.rate is not None
        return self.rate / system.arrival_rate if self.rate > 0.0 else 0.0

    def routing_probabilities(self, lengths: np.ndarray, system: System) -> np.ndarray:
        """(..., K): the mixture of the two laws."""
        fraction = self.fraction_of(system)
        special = self.policy.routing_probabilities(lengths, system)
        return fraction * special + (1.0 - fraction) * self.base.routing_probabilities(
            lengths, system
        )

    def num_phases(self, system: System) -> int:
        """Those of both policies together; the base's changes first."""
        return self.policy.num_phases(system) * self.base.num_phases(system)

    def phase_routing(self, lengths: np.ndarray, phase: int, system: System) -> np.ndarray:
        """(..., K, P): the policy that sends the job changes its phase, the other keeps its own."""
        fraction, count = self.fraction_of(system), self.base.num_phases(system)
        own, base = divmod(phase, count)
        joint = np.zeros((*np.shape(lengths), self.policy.num_phases(system), count))
        joint[..., base] += fraction * self.policy.phase_routing(lengths, own, system)
        joint[..., own, :] += (1.0 - fraction) * self.base.phase_routing(lengths, base, system)
        return joint.reshape(*np.shape(lengths), -1)

    def messages_per_job(self, system: System) -> float:
        """The mixture of what the two policies ask."""
        fraction = self.fraction_of(system)
        special = self.policy.messages_per_job(system)
        return fraction * special + (1.0 - fraction) * self.base.messages_per_job(system)

    def validate(self, system: System) -> None:
        """Refuse a stream that is larger than all arrivals, and what the two policies refuse."""
        if self.rate is not None and self.rate > system.arrival_rate:
            raise ValueError(
                f"rate is {self.rate}, more than the system's arrival_rate {system.arrival_rate}; "
                "give at most all arrivals"
            )
        self.policy.validate(system)
        self.base.validate(system)

    def sees_origins(self, system: System) -> bool:
        """Whether either policy does."""
        return self.policy.sees_origins(system) or self.base.sees_origins(system)

    def law(self, system: System) -> RoutingLaw | None:
        """The mixture of the two laws, if both have one."""
        return self._mixed(system, self.policy.law(system), self.base.law(system))

    def mean_law(self, system: System) -> RoutingLaw | None:
        """The mixture of the two mean laws, if both have one."""
        return self._mixed(system, self.policy.mean_law(system), self.base.mean_law(system))

    def _mixed(
        self, system: System, special: RoutingLaw | None, base: RoutingLaw | None
    ) -> RoutingLaw | None:
        if special is None or base is None:
            return None
        return special.mixed_with(base, self.fraction_of(system))

    def kernel(self, system: System) -> Kernel:
        """The rule of the mixed law, or a coin in front of the two rules."""
        if self.law(system) is not None and not self.sees_origins(system):
            return super().kernel(system)
        special, base = self.policy.kernel(system), self.base.kernel(system)
        fraction = self.fraction_of(system)
        rest = 1.0 / (1.0 - fraction) if fraction < 1.0 else 0.0
        numbers = np.concatenate(([fraction, rest], special.numbers, base.numbers))
        sizes = [special.numbers.size, special.names.size]
        names = np.concatenate((sizes, special.names, base.names))
        choose = _build_choice(special.choose, base.choose)

        def memory(lengths: np.ndarray) -> np.ndarray:
            own = special.memory(lengths)
            return np.concatenate(([own.size], own, base.memory(lengths)))

        update = no_update
        if special.update is not no_update or base.update is not no_update:
            update = _build_update(special.update, base.update)
        uses_order = special.uses_order or base.uses_order
        return Kernel(choose, numbers, names, memory, update, uses_order)


@functools.cache
def _build_choice(special: Callable[..., Any], base: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled coin; one per pair of rules, not per value of their parameters."""

    @inlined
    def choose(queues, uniform, side, numbers, names, memory):
        own, own_names, own_memory = shifted(numbers, 2), shifted(names, 2), shifted(memory, 1)
        if uniform < numbers[0]:
            return special(queues, next_uniform(side), side, own, own_names, own_memory)
        rest = min((uniform - numbers[0]) * numbers[1], BELOW_ONE)
        return base(
            queues,
            rest,
            side,
            shifted(own, names[0]),
            shifted(own_names, names[1]),
            shifted(own_memory, memory[0]),
        )

    return choose


@functools.cache
def _build_update(special: Callable[..., Any], base: Callable[..., Any]) -> Callable[..., Any]:
    """Both rules remember what happens, whichever sent the job."""

    @inlined
    def update(queues, memory, server, level, up, numbers, names):
        own, own_names, own_memory = shifted(numbers, 2), shifted(names, 2), shifted(memory, 1)
        special(queues, own_memory, server, level, up, own, own_names)
        base(
            queues,
            shifted(own_memory, memory[0]),
            server,
            level,
            up,
            shifted(own, names[0]),
            shifted(own_names, names[1]),
        )

    return update
