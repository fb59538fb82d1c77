"""What every regime offers: a system at one size, its scaling, and what is proved of its limit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._paused import PausedSystem
from .._system import System
from ._start import EmptyStart, Start


@dataclass(frozen=True)
class Scaling:
    """Units in which a regime has a limit: lengths are divided by `length`, times by `time`."""

    length: float
    time: float


class Regime(ABC):
    """One paper's scaling at one size.

    Concrete regimes are frozen dataclasses and final; a regime without a diffusion limit inherits
    the refusals here and says in `_what_is_proved` what its paper proves instead.
    """

    @property
    @abstractmethod
    def system(self) -> System | PausedSystem:
        """The system at this size."""

    @property
    @abstractmethod
    def policy(self) -> Any:
        """How arrivals are routed; None for a system with pauses."""

    @property
    @abstractmethod
    def scaling(self) -> Scaling:
        """The units of length and time."""

    @property
    @abstractmethod
    def _what_is_proved(self) -> str:
        """One clause: the limit theorem of the paper, for the refusals below."""

    @abstractmethod
    def stationary_start(self) -> Start:
        """The law from which `initial="stationary"` starts; a ValueError where there is none."""

    def limit(self, num_particles: int | None = None) -> Any:
        """The limiting diffusion as a model of `atlas`."""
        raise NotImplementedError(f"no diffusion limit here: {self._what_is_proved}")

    def limit_law(self, num_gaps: int | None = None) -> Any:
        """The stationary law of the limit's gaps, `atlas.ProductExponential`."""
        raise NotImplementedError(f"no product-form limit law here: {self._what_is_proved}")

    def with_pauses(self) -> Regime:
        """The system with pauses at this size."""
        raise NotImplementedError(f"no system with pauses here: {self._what_is_proved}")

    def initial_lengths(
        self,
        kind: str,
        *,
        replicas: int | range,
        seed: Any,
        num_ranks: int | None = None,
    ) -> np.ndarray:
        """Ranked lengths to start from.

        Arguments:
            kind: "empty" or "stationary".
            replicas: a number R, or a range of replica indices; replica i is the same in any batch.
            seed: an int, a typed JAX key or a Seed, see `atlas.ensemble.resolve_seed`.
            num_ranks: only the lowest so many ranks, a prefix of what all would be.

        Returns:
            (R, num_ranks) int64, ascending along ranks.

        Raises:
            ValueError: an unknown kind, or no stationary law at these parameters.
        """
        return self._start(kind).sample(replicas=replicas, seed=seed, num_ranks=num_ranks)

    def start_description(self, kind: str) -> str:
        """Which law `initial_lengths` draws from, in words, for results."""
        return self._start(kind).description

    def _start(self, kind: str) -> Start:
        if kind == "empty":
            return EmptyStart(self.system.num_servers)
        if kind == "stationary":
            return self.stationary_start()
        raise ValueError(f'kind is {kind!r}; give "empty" or "stationary"')
