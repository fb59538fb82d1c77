"""What every engine offers: replicas seen at given times, and single ones that are averaged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from atlas.ensemble import Seed

    from .._sampling_plan import SamplingPlan
    from .._subject import Subject


# Looking at several states at once is cheaper, as long as they fit into a cache.
_LENGTHS_SEEN_TOGETHER = 1 << 15


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


class Batch(ABC):
    """A block of replicas on their way; the numbers of each are its own, whatever the others."""

    @abstractmethod
    def states(self, durations: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The lengths of all R replicas after each of the durations, one after the other.

        Arguments:
            durations: (T,) >= 0, in the system's own clock.
        Yields: which rows of a table (R T, K), replicas before times, and these rows (S, K) int64:
            lengths by server where the engine knows servers, else by rank.
        """

    def violation_bounds(self) -> np.ndarray | None:
        """(R,) as `Run.violation_bound`."""
        return None


class Together(Batch):
    """Replicas that advance together."""

    @abstractmethod
    def lengths(self) -> np.ndarray:
        """(R, K) int64 lengths, by server where the engine knows servers, else by rank; a copy."""

    @abstractmethod
    def advance(self, duration: float) -> None:
        """Go on for `duration`, in the system's own clock."""

    def states(self, durations: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        for k, duration in enumerate(durations):
            if duration > 0.0:
                self.advance(float(duration))
            yield slice(k, None, durations.size), self.lengths()


class OneByOne(Batch):
    """Replicas that run one after the other.

    Arguments:
        start: as of `Engine.prepare`.
        lengths: (R, K) to start from.
        seed: of all.
        replicas: their indices.
    """

    def __init__(
        self,
        start: Callable[[np.ndarray, np.random.SeedSequence], Run],
        lengths: np.ndarray,
        seed: Seed,
        replicas: range,
    ) -> None:
        self._start = start
        self._lengths = lengths
        self._seed = seed
        self._replicas = replicas
        self._bounds: list[float | None] = []

    def states(self, durations: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        row, most = 0, max(1, _LENGTHS_SEEN_TOGETHER // self._lengths.shape[1])
        for lengths, replica in zip(self._lengths, self._replicas, strict=True):
            run = self._start(lengths, self._seed.sequence(replica))
            for first in range(0, durations.size, most):
                seen = []
                for duration in durations[first : first + most].tolist():
                    if duration > 0.0:
                        run.advance(duration)
                    seen.append(run.lengths())
                yield slice(row, row + len(seen)), np.stack(seen)
                row += len(seen)
            self._bounds.append(run.violation_bound())

    def violation_bounds(self) -> np.ndarray | None:
        bounds = [bound for bound in self._bounds if bound is not None]
        return np.array(bounds) if bounds else None


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

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch that is shared by all blocks."""
        start = self.prepare(subject, None)
        return lambda lengths, seed, replicas: OneByOne(start, lengths, seed, replicas)

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
