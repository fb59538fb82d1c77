"""Engine "calendar": from event to event, for any laws of arrivals, services and travel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._calendar_changes import PRESENT
from ._calendar_layout import layout_of, sight_kind, travel_kind
from ._calendar_loop import build_calendar_loop
from ._calendar_start import NO_SAMPLES, start_state, with_space
from ._calendar_state import (
    ACCEPTED,
    DEPARTED,
    LOST,
    PAUSE,
    SAMPLE_CURSOR,
    SENT,
    SERVICE,
    TOTAL_SUM,
    TRAVEL,
    TRAVELLING,
    WAIT,
    WAITED,
    Layout,
)
from ._calendar_supply import Supply
from ._calendar_tally import (
    class_means,
    class_sums,
    close_window,
    empty_tally,
    job_histograms,
    mean_travelling,
    open_window,
)
from ._sampler import EMPTY_SAMPLER, Sampler

if TYPE_CHECKING:
    from .._policy import Kernel
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject
    from .._system import System

# Events per server from one sample of the whole state to the next.
_STRIDE = 8
# In one window at most: their times are drawn together.
_MOST_SAMPLES = 1 << 20


class CalendarEngine(Engine):
    """Next-event simulation with general arrivals, services, travel and information.

    Time averages are exact integrals over the window, job averages are over all jobs that join a
    queue in it, by Lindley's recursion; the user's own observables are sampled, about every 8 K
    events, at times drawn uniformly in equal parts of the window.
    """

    name = "calendar"
    sees_classes = True

    def refusal(self, subject: Subject) -> str | None:
        """Refuses systems with pauses, whose events belong to ranks."""
        if subject.policy is None:
            return "a system with pauses routes no jobs; use engine='pauses'"
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        system, policy = subject.routed
        kernel = policy.kernel(system)
        loop = build_calendar_loop(
            kernel.choose,
            kernel.update,
            plan is not None,
            travel_kind(system),
            sight_kind(system),
            plan is not None and plan.classes is not None,
        )
        shared = _Shared(loop, layout_of(system), kernel, system, plan)
        return lambda lengths, sequence: _CalendarRun(shared, lengths, sequence)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all replicas have in common."""

    loop: Callable[..., None]
    layout: Layout
    kernel: Kernel
    system: System
    plan: SamplingPlan | None

    @property
    def needs_samples(self) -> bool:
        return self.plan is not None and bool(self.plan.functions or self.plan.streams is not None)

    def num_samples(self, duration: float) -> int:
        """Samples in a window of that length: about one every 8 K events, at least one."""
        events = 2.0 * self.system.arrival_rate * duration
        return int(min(max(events / (_STRIDE * self.system.num_servers), 1.0), _MOST_SAMPLES))


class _CalendarRun(Run):
    def __init__(self, shared: _Shared, lengths: np.ndarray, sequence: Any) -> None:
        self._shared = shared
        words, samples = sequence.spawn(2)
        self._sampling = np.random.Generator(np.random.PCG64(samples))
        self._supply = Supply(shared.system, sequence)
        plan = shared.plan
        num_levels = plan.num_levels if plan is not None else 1
        self._state = start_state(
            shared.layout,
            lengths,
            self._supply,
            words,
            shared.kernel,
            empty_tally(lengths.size, num_levels, None if plan is None else plan.classes),
            sight_kind(shared.system) != PRESENT,
        )
        # The clock is a sum of durations in two floats, as exact as they are.
        self._now, self._rest = 0.0, 0.0
        self._flow = {"arrivals": 0, "departures": 0, "lost": 0}

    def lengths(self) -> np.ndarray:
        return self._state.queues.lengths.copy()

    def flow(self) -> dict[str, int]:
        flow = dict(self._flow)
        if self._shared.system.travel_times is not None:
            flow["travelling"] = int(self._state.counts[TRAVELLING])
        return flow

    def advance(self, duration: float) -> None:
        if self._shared.plan is not None:
            self.average(duration)
            return
        self._tick(duration)
        self._run(EMPTY_SAMPLER)

    def average(self, duration: float) -> Window:
        plan, start = self._shared.plan, self._now
        assert plan is not None
        open_window(self._state, start)
        self._tick(duration)
        means: dict[str, Any] = {}
        if self._shared.needs_samples:
            sampler, collected = plan.open(_STRIDE)
            count = self._shared.num_samples(duration)
            times = start + (np.arange(count) + self._sampling.random(count)) * (duration / count)
            self._set_samples(np.append(times, np.inf))
            self._run(sampler, collected)
            self._set_samples(NO_SAMPLES)
            means.update(plan.close(sampler, collected))
        else:
            self._run(EMPTY_SAMPLER)
        means.update(close_window(self._state, duration))
        if plan.classes is not None:
            means.update(class_means(self._state, plan.classes, duration))
            means["throughput_by_class"] = plan.classes.throughput(means["throughput"])
        if self._shared.system.travel_times is not None:
            means["travelling"] = mean_travelling(self._state, duration)
        self._count_flow()
        travels = self._shared.system.travel_times is not None
        return Window(means, self._job_sums(), histograms=job_histograms(self._state, travels))

    def _job_sums(self) -> dict[str, Any]:
        counts, sums = self._state.counts, self._state.sums
        plan = self._shared.plan
        classes = None if plan is None else plan.classes
        return {
            **({} if classes is None else class_sums(self._state, classes)),
            "accepted": np.float64(counts[ACCEPTED]),
            "lost": np.float64(counts[LOST]),
            "waited": np.float64(counts[WAITED]),
            "wait": sums[WAIT],
            "service": sums[SERVICE],
            "travel": sums[TRAVEL],
            "events": np.float64(counts[ACCEPTED] + counts[DEPARTED]),
            "total_at_events": np.float64(counts[TOTAL_SUM]),
        }

    def _count_flow(self) -> None:
        """Jobs of the window, counted apart from the queues themselves."""
        for name, entry in (("arrivals", SENT), ("departures", DEPARTED), ("lost", LOST)):
            self._flow[name] += int(self._state.counts[entry])

    def _tick(self, duration: float) -> None:
        """Set the clock to the end of what is to be run."""
        total = self._now + duration
        added = total - self._now
        self._rest += (self._now - (total - added)) + (duration - added)
        self._now = total + self._rest
        self._rest -= self._now - total

    def _set_samples(self, times: np.ndarray) -> None:
        self._state = self._state._replace(blocks=self._state.blocks._replace(samples=times))
        self._state.counts[SAMPLE_CURSOR] = 0

    def _run(self, sampler: Sampler, collected: Any = None) -> None:
        """Go on to the time of the clock, with new numbers and more room whenever it takes them."""
        shared = self._shared
        while True:
            self._state.counts[PAUSE] = 0
            shared.loop(
                self._state,
                shared.layout,
                shared.kernel.numbers,
                shared.kernel.names,
                sampler,
                self._now,
            )
            if collected is not None:
                collected.take(sampler)
            if self._state.counts[PAUSE] == 0:
                break
            self._supply.refill(self._state.blocks, self._state.counts)
            self._state = with_space(self._state)
