"""Engine "markov": event by event, for exponential servers of any rates, with or without buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._event_loop import LOST, NEXT_SAMPLE, TICK, EventRates, build_event_loop, event_rates
from ._ranked_queues import rank_queues, with_room
from ._sampler import EMPTY_SAMPLER, Sampler
from ._tally import (
    ACCEPTED,
    AREA,
    FOUND,
    RANK_COLUMNS,
    SERVED,
    SERVER_COLUMNS,
    WAITED,
    ZERO_TICKS,
    close_window,
)
from ._xoshiro import BLOCK, make_bank

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Room in the table of levels at the first call of the loop, and at later ones: a queue gains at most
# one job per tick, and a short run should not pay for a long table.
_FIRST_ROOM = 1 << 9
_LAST_ROOM = 1 << 16


class MarkovEngine(Engine):
    """The uniformised chain on the ranked-queues structure; every observable is seen exactly."""

    name = "markov"

    def refusal(self, subject: Subject) -> str | None:
        """Refuses what is no Markov chain of queue lengths under a policy."""
        if subject.policy is None:
            return "a system with pauses routes no jobs; use engine='pauses'"
        if not subject.system.is_markov:
            return f"service is {subject.system.service!r}; give service=Exponential()"
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        kernel = subject.policy.kernel(subject.system)
        shared = _Shared(
            build_event_loop(kernel.choose, plan is not None),
            event_rates(subject.system),
            kernel.numbers,
            kernel.names,
            subject.system.arrival_rate + subject.system.total_service_rate,
            subject.system.service_rates,
            plan,
        )
        return lambda lengths, sequence: _MarkovRun(shared, lengths, sequence)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all replicas have in common."""

    loop: Any
    rates: EventRates
    numbers: np.ndarray
    names: np.ndarray
    tick_rate: float
    service_rates: np.ndarray
    plan: SamplingPlan | None


class _MarkovRun(Run):
    def __init__(self, shared: _Shared, lengths: np.ndarray, sequence: Any) -> None:
        self._shared = shared
        self._queues = rank_queues(lengths, _FIRST_ROOM)
        self._room = _FIRST_ROOM
        self._bank = make_bank(sequence)
        # How many ticks a window has is drawn apart from what happens in them.
        self._counts = np.random.Generator(np.random.PCG64(sequence.spawn(1)[0]))
        self._words = np.empty(BLOCK, np.uint64)
        self._clock = np.array([0, BLOCK, 0, 0], np.int64)
        size = lengths.size if shared.plan is not None else 0
        self._ranks = np.zeros((size, RANK_COLUMNS), np.int64)
        self._servers = np.zeros((size, SERVER_COLUMNS), np.int64)
        self._flow = {"arrivals": 0, "departures": 0, "lost": 0}

    def lengths(self) -> np.ndarray:
        return self._queues.lengths.copy()

    def flow(self) -> dict[str, int]:
        return dict(self._flow)

    def advance(self, duration: float) -> None:
        if self._shared.plan is not None:
            self.average(duration)
            return
        self._run_ticks(self._num_ticks(duration), EMPTY_SAMPLER)

    def average(self, duration: float) -> Window:
        plan = self._shared.plan
        assert plan is not None
        num_ticks = self._num_ticks(duration)
        self._ranks[:], self._servers[:] = 0, 0
        self._clock[LOST] = 0
        # A window of N ticks has N + 1 states; given N each is held equally long in the mean.
        sampler, collected = plan.open(4 * self._queues.lengths.size)
        self._run_ticks(num_ticks, sampler, collected)
        num_states = num_ticks + 1
        close_window(self._ranks, self._queues.lengths[self._queues.order], num_states)
        close_window(self._servers, self._queues.lengths, num_states)
        self._count_flow()
        means = {
            "lengths_ranked": self._ranks[:, AREA] / num_states,
            "idle_servers": self._ranks[:, ZERO_TICKS].sum() / num_states,
            "lengths": self._servers[:, AREA] / num_states,
            "utilisation": 1.0 - self._servers[:, ZERO_TICKS] / num_states,
            **plan.close(sampler, collected),
        }
        return Window(means, self._job_sums(duration))

    def _job_sums(self, duration: float) -> dict[str, Any]:
        accepted = self._servers[:, ACCEPTED]
        with np.errstate(divide="ignore", invalid="ignore"):
            waits = np.where(
                self._servers[:, FOUND] > 0, self._servers[:, FOUND] / self._shared.service_rates, 0
            )
            services = np.where(accepted > 0, accepted / self._shared.service_rates, 0)
        return {
            "duration": np.float64(duration),
            "accepted": accepted.sum(),
            "lost": self._clock[LOST].copy(),
            "waited": self._servers[:, WAITED].sum(),
            "wait": waits.sum(),
            "service": services.sum(),
            "served": self._servers[:, SERVED].copy(),
        }

    def _count_flow(self) -> None:
        lost = int(self._clock[LOST])
        self._flow["arrivals"] += int(self._servers[:, ACCEPTED].sum()) + lost
        self._flow["departures"] += int(self._servers[:, SERVED].sum())
        self._flow["lost"] += lost

    def _num_ticks(self, duration: float) -> int:
        return int(self._counts.poisson(self._shared.tick_rate * duration))

    def _run_ticks(self, num_ticks: int, sampler: Sampler, collected: Any = None) -> None:
        """Ticks of one window; whenever the sampler is full, its states are handed over."""
        shared, clock = self._shared, self._clock
        clock[TICK], clock[NEXT_SAMPLE] = 0, 0
        while True:
            self._queues, room = with_room(self._queues, self._room)
            self._room = min(2 * self._room, _LAST_ROOM)
            end = min(num_ticks, int(clock[TICK]) + room)
            shared.loop(
                self._queues,
                self._bank,
                self._words,
                clock,
                end,
                shared.rates,
                shared.numbers,
                shared.names,
                self._ranks,
                self._servers,
                sampler,
            )
            if collected is not None:
                collected.take(sampler)
            if clock[TICK] == num_ticks and (sampler.stride == 0 or clock[NEXT_SAMPLE] > num_ticks):
                break
