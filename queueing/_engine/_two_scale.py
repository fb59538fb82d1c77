"""Engine "two_scale": only queues near the shortest leap from one special arrival to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._leap_subject import classes_of, leap_refusal, leap_subject, top_rank
from ._two_scale_average import Looks, looks_refusal, num_ranks_in_sight
from ._two_scale_batch import TwoScaleBatch, TwoScaleSubject
from ._two_scale_far import SharedLeap, WorkSpaces, num_block_words
from ._two_scale_near import MAX_RANKS, make_sight
from ._two_scale_pace import first_pace
from ._two_scale_pieces import make_pieces
from ._two_scale_steps import BOUND, StepRules, advance_alone, build_advance, make_walkers
from ._xoshiro import BANK_WORDS

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
        advance = advance_alone
        if self._shares_replicas(subject):
            advance = build_advance(SharedLeap(subject.num_servers, self.num_threads))
        common = self._common(subject, plan)
        return lambda lengths, sequence: _TwoScaleRun(common, plan, advance, lengths, sequence)

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch."""
        if self._shares_replicas(subject):
            return super().prepare_batch(subject)
        common = self._common(subject, None)
        return lambda lengths, seed, replicas: TwoScaleBatch(common, lengths, seed, replicas)

    def _shares_replicas(self, subject: Subject) -> bool:
        """Whether threads share the far queues of one replica."""
        return self.num_threads > 1 and subject.num_servers >= _MANY

    def _common(self, subject: Subject, plan: SamplingPlan | None) -> TwoScaleSubject:
        time = self.horizon if self.horizon > 0.0 else 1.0
        shared = leap_subject(subject)
        in_sight = top_rank(subject)
        if plan is not None:
            in_sight = num_ranks_in_sight(in_sight, subject.num_servers)
        rules = StepRules(
            shared.leap_system,
            make_pieces(shared.leap_system),
            self.violation_budget / time,
            -1.0 if self.reach is None else self.reach,
        )
        spaces = WorkSpaces(subject.num_servers)
        pace = first_pace(shared.leap_system, self.macro_step)
        return TwoScaleSubject(shared, rules, pace, spaces, in_sight)


class _TwoScaleRun(Run):
    def __init__(
        self,
        subject: TwoScaleSubject,
        plan: SamplingPlan | None,
        advance: Callable[..., None],
        lengths: np.ndarray,
        sequence: Any,
    ) -> None:
        self._subject = subject
        self._advance = advance
        self._sight = make_sight(subject.in_sight)
        words = sequence.spawn(1)[0].generate_state(num_block_words(lengths.size), np.uint64)
        self._walkers = make_walkers(
            subject.shared.by_class(lengths)[None],
            sequence.generate_state(BANK_WORDS, np.uint64)[None],
            words[None],
            subject.pace,
        )
        self._looks = None
        if plan is not None:
            present = self._walkers.blocks.lengths[0]
            go_on = partial(self._go_on, averages=True)
            self._looks = Looks(subject.shared, plan, self._sight, present, go_on)

    def lengths(self) -> np.ndarray:
        return self._subject.shared.by_name(self._walkers.blocks.lengths[0])

    def advance(self, duration: float) -> None:
        self._go_on(duration, averages=False)

    def _go_on(self, duration: float, *, averages: bool) -> None:
        rules, space = self._subject.rules, self._subject.spaces.own
        self._advance(self._walkers, duration, rules, space, self._sight, averages)

    def average(self, duration: float) -> Window:
        assert self._looks is not None
        return self._looks.average(duration)

    def violation_bound(self) -> float:
        return float(self._walkers.sums[0, BOUND])
