"""Engine "markov": event by event, for exponential servers of any rates, with any buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._event_loop import (
    ACCEPTED,
    CLOCK_ENTRIES,
    CURSOR,
    FOUND_IDLE,
    LOST,
    NEXT_SAMPLE,
    TICK,
    TOTAL,
    TOTAL_SUM,
    EventRates,
    build_event_loop,
    event_rates,
)
from ._ranked_queues import rank_queues, with_room
from ._sampler import EMPTY_SAMPLER, Sampler
from ._tally import (
    AREA,
    FOUND,
    RANK_COLUMNS,
    SERVED,
    SERVER_COLUMNS,
    ZERO_TICKS,
    close_window,
)
from ._xoshiro import BLOCK, make_bank

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Room in the table of levels at the first call of the loop, and at later ones: a queue gains at
# most one job per tick, and a short run should not pay for a long table.
_FIRST_ROOM = 1 << 9
_LAST_ROOM = 1 << 16
# Ticks per server from one sample of the whole state to the next: about 1 ns per tick.
_STRIDE = 8


class MarkovEngine(Engine):
    """The uniformised chain on the ranked-queues structure.

    Time averages of all ranks and of the idle servers are exact integrals over the window, job
    averages are over all its jobs; what needs whole states is sampled every 8 K ticks.
    """

    name = "markov"

    def refusal(self, subject: Subject) -> str | None:
        """Refuses what is no Markov chain of queue lengths under a policy."""
        if subject.policy is None:
            return "a system with pauses routes no jobs; use engine='pauses'"
        system, _ = subject.routed
        if not system.is_markov:
            return f"service is {system.service!r}; give service=Exponential()"
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        system, policy = subject.routed
        kernel = policy.kernel(system)
        shared = _Shared(
            build_event_loop(kernel.choose, plan is not None),
            event_rates(system),
            kernel.numbers,
            kernel.names,
            system.arrival_rate + system.total_service_rate,
            system.service_rates,
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
        self._clock = np.zeros(CLOCK_ENTRIES, np.int64)
        self._clock[CURSOR], self._clock[TOTAL] = BLOCK, lengths.sum()
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
        self._clock[[ACCEPTED, LOST, FOUND_IDLE, TOTAL_SUM]] = 0
        before = self._queues.lengths.copy()
        # A window of N ticks has N + 1 states; given N each is held equally long in the mean.
        sampler, collected = plan.open(_STRIDE * self._queues.lengths.size)
        self._run_ticks(num_ticks, sampler, collected)
        num_states = num_ticks + 1
        close_window(self._ranks, self._queues.lengths[self._queues.order], num_states)
        self._count_flow()
        means = {
            "lengths_ranked": self._ranks[:, AREA] / num_states,
            "idle_servers": self._ranks[:, ZERO_TICKS].sum() / num_states,
            "throughput": self._servers[:, SERVED] / duration,
            **plan.close(sampler, collected),
        }
        return Window(means, self._job_sums(before))

    def _job_sums(self, before: np.ndarray) -> dict[str, Any]:
        rates = self._shared.service_rates
        found, served = self._servers[:, FOUND], self._servers[:, SERVED]
        accepted = served + self._queues.lengths - before
        num_accepted = self._clock[ACCEPTED]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Given what it finds, a job waits the services of those before it, in the mean.
            waits = np.where(found > 0, found / rates, 0.0).sum()
            services = np.where(accepted > 0, accepted / rates, 0.0).sum()
        return {
            "accepted": np.float64(num_accepted),
            "lost": np.float64(self._clock[LOST]),
            "waited": np.float64(num_accepted - self._clock[FOUND_IDLE]),
            "wait": waits,
            "service": services,
            "events": np.float64(num_accepted + served.sum()),
            "total_at_events": np.float64(self._clock[TOTAL_SUM]),
        }

    def _count_flow(self) -> None:
        """Jobs of the window, counted apart from the queues themselves."""
        departures = int(self._servers[:, SERVED].sum())
        accepted, lost = int(self._clock[ACCEPTED]), int(self._clock[LOST])
        self._flow["arrivals"] += accepted + lost
        self._flow["departures"] += departures
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
