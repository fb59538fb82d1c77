"""Engine "two_scale": only queues near the shortest leap from one special arrival to the next."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._leap_subject import LeapSubject, classes_of, leap_refusal, leap_subject, top_rank
from ._two_scale_average import Looks, looks_refusal, num_ranks_in_sight
from ._two_scale_near import MAX_RANKS, make_sight
from ._two_scale_pieces import Pieces, make_pieces
from ._two_scale_steps import MacroSteps, StepRules

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# From so many servers on, threads share the far queues of one replica.
_MANY = 100_000
# Each class of servers needs tables of its own.
_MOST_CLASSES = 16


@dataclass(frozen=True)
class TwoScaleEngine(Engine):
    """Leaps on two scales of time, exact up to a bound that is accumulated and kept in budget.

    Over a macro step the few queues near the shortest leap between the arrivals of the stream that
    is routed by rank; all others leap once. `_two_scale_steps` says when that is a path of the
    chain, and bounds the probability that it is not: the total variation between the law of a
    replica's path and the chain's is at most the mean of `Run.violation_bound`, and that at most
    the budget.

    Attributes:
        violation_budget: of one replica over `horizon`.
        horizon: the time over which the budget is spent.
        num_threads: how many threads share one replica of 100 000 servers or more.
        macro_step: a fixed length of macro steps; None: chosen, and adapted on the way.
        reach: of the near set, in standard deviations of a queue's move, whatever the budget;
            None: as far as the budget demands.
    """

    violation_budget: float = 1e-9
    horizon: float = 1.0
    num_threads: int = 1
    macro_step: float | None = None
    reach: float | None = None

    name = "two_scale"

    def configured(
        self, *, horizon: float, violation_budget: float, num_threads: int
    ) -> TwoScaleEngine:
        """This engine for replicas of that length, budget and number of threads."""
        return replace(
            self, horizon=horizon, violation_budget=violation_budget, num_threads=num_threads
        )

    def refusal(self, subject: Subject) -> str | None:
        """Refuses what leaping does, and special arrivals to high ranks."""
        refused = leap_refusal(subject)
        if refused is not None:
            return refused
        num_classes = len(classes_of(subject)[0])
        if num_classes > _MOST_CLASSES:
            return (
                f"servers come in {num_classes} pairs of arrival and service rates, of at most "
                f"{_MOST_CLASSES}; use engine='leap'"
            )
        rank, most = top_rank(subject), min(MAX_RANKS, (subject.num_servers + 1) // 2)
        if rank > most:
            return (
                f"jobs are routed to ranks up to {rank} of {subject.num_servers}, of which only "
                f"the lowest {most} may be; use engine='leap'"
            )
        return None

    def window_refusal(self, subject: Subject, duration: float) -> str | None:
        """Refuses windows in which hardly any special arrival looks at the lowest ranks."""
        return looks_refusal(subject, duration)

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        num_threads = self.num_threads if subject.num_servers >= _MANY else 1
        # The caller's thread is one of them.
        pool = ThreadPoolExecutor(num_threads - 1) if num_threads > 1 else None
        time = self.horizon if self.horizon > 0.0 else 1.0
        rules = StepRules(self.violation_budget / time, self.macro_step, self.reach, num_threads)
        shared = leap_subject(subject)
        pieces = make_pieces(shared.leap_system)
        in_sight = top_rank(subject)
        if plan is not None:
            in_sight = num_ranks_in_sight(in_sight, subject.num_servers)
        return lambda lengths, sequence: _TwoScaleRun(
            shared, pieces, rules, pool, in_sight, plan, lengths, sequence
        )


class _TwoScaleRun(Run):
    def __init__(
        self,
        shared: LeapSubject,
        pieces: Pieces,
        rules: StepRules,
        pool: Executor | None,
        in_sight: int,
        plan: SamplingPlan | None,
        lengths: np.ndarray,
        sequence: Any,
    ) -> None:
        self._shared = shared
        self._sight = make_sight(in_sight)
        self._steps = MacroSteps(
            shared.leap_system, pieces, rules, shared.by_class(lengths), sequence, pool
        )
        self._looks = None if plan is None else Looks(shared, plan, self._sight, self._steps)

    def lengths(self) -> np.ndarray:
        return self._shared.by_name(self._steps.blocks.lengths)

    def advance(self, duration: float) -> None:
        self._steps.advance(duration, self._sight, False)

    def average(self, duration: float) -> Window:
        assert self._looks is not None
        return self._looks.average(duration)

    def violation_bound(self) -> float:
        return self._steps.bound
