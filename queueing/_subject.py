"""What the caller passes, a regime or a system and a policy, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._paused import PausedSystem
from ._policy import Policy, check_policy
from ._rank_streams import RankStreams
from ._regime import Regime, Scaling
from ._system import System


@dataclass(frozen=True, eq=False)
class Subject:
    """What is simulated.

    Attributes:
        system: a System or a PausedSystem.
        policy: its policy, None for a system with pauses.
        regime: the regime it came from, or None.
    """

    system: System | PausedSystem
    policy: Policy | None
    regime: Regime | None

    @property
    def num_servers(self) -> int:
        """The number K of servers."""
        return self.system.num_servers

    @property
    def routed(self) -> tuple[System, Policy]:
        """The system and its policy, of what routes jobs: not of a system with pauses."""
        assert isinstance(self.system, System)
        assert self.policy is not None
        return self.system, self.policy

    @property
    def buffer(self) -> int | None:
        """Most jobs at a server, or None."""
        return self.system.buffer if isinstance(self.system, System) else None

    @property
    def scaling(self) -> Scaling | None:
        """The regime's units, None without a regime."""
        return None if self.regime is None else self.regime.scaling

    @property
    def streams(self) -> RankStreams | None:
        """Uniform and ranked streams, where the identities of such systems hold, else None.

        They need servers of one rate, no buffer, exponential services, and a policy that treats
        servers alike.
        """
        if isinstance(self.system, PausedSystem):
            return None
        system, policy = self.routed
        law = policy.law(system)
        if law is None or system.buffer is not None:
            return None
        is_plain = system.is_markov and system.is_exchangeable and system.service_rates[0] > 0.0
        if not is_plain or (law.by_server != law.by_server[0]).any():
            return None
        rates = system.arrival_rate * law.by_rank
        return RankStreams(system.arrival_rate * law.by_server[0], rates, system.service_rates[0])


def resolve_subject(system_or_regime: Any, policy: Any) -> Subject:
    """The Subject of a regime, of a system with pauses, or of a system under a policy.

    Raises: ValueError that names the argument and the remedy.
    """
    if isinstance(system_or_regime, Regime):
        if policy is not None:
            raise ValueError(
                f"policy is {policy!r} beside a regime, which brings its own; leave it out"
            )
        regime = system_or_regime
        if isinstance(regime.system, System):
            check_policy(regime.policy, regime.system)
        return Subject(regime.system, regime.policy, regime)
    if isinstance(system_or_regime, PausedSystem):
        if policy is not None:
            raise ValueError(
                f"policy is {policy!r}, but a system with pauses has none; leave it out"
            )
        return Subject(system_or_regime, None, None)
    if not isinstance(system_or_regime, System):
        raise ValueError(
            f"system_or_regime is {system_or_regime!r}; give a System, PausedSystem or Regime"
        )
    return Subject(system_or_regime, check_policy(policy, system_or_regime), None)
