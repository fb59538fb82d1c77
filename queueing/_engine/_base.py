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
        histograms: counts of the jobs of the window, by name: in the bins of `_log_histogram`, or
            in a form that the run's `job_histograms` turns into such bins.
    """

    means: dict[str, np.ndarray]
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    weight: float = 1.0
    histograms: dict[str, np.ndarray] = field(default_factory=dict)


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

    def violation_bound(self) -> float | None:
        """A bound of the probability that this replica is no path of the system; None: it is one.

        Its mean bounds the total variation between the law of the replica and the system's.
        """
        return None

    def flow(self) -> dict[str, int]:
        """Jobs that arrived, left and were lost since the start of averaging, where known."""
        return {}

    def job_histograms(self, counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Numbers of jobs by their times, in the bins of `_log_histogram`.

        Arguments:
            counts: sums of windows' `histograms`, by name.
        Returns: by the observable's name, such as "wait".
        """
        return counts


class Engine(ABC):
    """A way to simulate; a new one is one file and one line in `ENGINES`."""

    name: ClassVar[str]
    #: Whether its runs average what `SamplingPlan.classes` asks for.
    sees_classes: ClassVar[bool] = False

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

    def configured(self, *, horizon: float, violation_budget: float, num_threads: int) -> Engine:
        """This engine, set up for one call.

        Arguments:
            horizon: the time that each replica runs.
            violation_budget: of each replica, for engines that are exact up to a bound.
            num_threads: how many threads a single replica may use.
        """
        del horizon, violation_budget, num_threads
        return self

    def window_refusal(self, subject: Subject, duration: float) -> str | None:
        """Why windows of that length are too short to average over; None if they are not."""
        del subject, duration
        return None
