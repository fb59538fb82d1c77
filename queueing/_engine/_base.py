"""What every engine offers: runs of one replica that advance, and that average as they advance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject


@dataclass(frozen=True, eq=False)
class Window:
    """Averages over one window of time of one replica.

    Attributes:
        means: averages of state variables over the window, by name.
        sums: sums over the jobs of the window, by name.
        weight: how much the means count beside those of other windows.
    """

    means: dict[str, np.ndarray]
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    weight: float = 1.0


class Run(ABC):
    """One replica on its way; its randomness is its own."""

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """(K,) int64 lengths by server (by rank for a system with pauses), a copy."""

    @abstractmethod
    def advance(self, duration: float) -> None:
        """Go on for `duration`, in the system's own clock."""

    @abstractmethod
    def average(self, duration: float) -> Window:
        """Go on for `duration` and average over it."""

    def flow(self) -> dict[str, int]:
        """Jobs that arrived, left and were lost since the start of averaging, where known."""
        return {}


class Engine(ABC):
    """A way to simulate; a new one is one file and one line in `ENGINES`."""

    name: ClassVar[str]

    @abstractmethod
    def refusal(self, subject: Subject) -> str | None:
        """Why this engine cannot simulate `subject`, with the remedy; None if it can."""

    @abstractmethod
    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run that is shared by all replicas.

        Arguments:
            subject: what to simulate.
            plan: what to sample while averaging; None if nothing will be averaged.
        """

    def check_windows(self, subject: Subject, duration: float) -> None:
        """Refuse windows too short to average over, by a ValueError with the remedy."""
        del subject, duration
