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
    IDLE_MOMENT,
    LOST,
    NEXT_SAMPLE,
    SHORTEST,
    TICK,
    TOTAL,
    TOTAL_SUM,
    EventRates,
    build_event_loop,
    event_rates,
    make_targets,
)
from ._found_lengths import RateGroups, group_rates
from ._log_histogram import histogram_unit
from ._markov_batch import BatchRules, MarkovBatch
from ._ranked_queues import rank_queues, with_room, write_ranked
from ._sampler import EMPTY_SAMPLER, Sampler
from ._tally import FOUND, SERVED, SERVER_COLUMNS, level_row
from ._xoshiro import BLOCK, make_bank

if TYPE_CHECKING:
    from .._policy import Kernel
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Room in the table of levels at the first call of the loop, and at later ones: a queue gains at
# most one job per tick, and a short run should not pay for a long table.
_FIRST_ROOM = 1 << 9
_LAST_ROOM = 1 << 16
# Servers have 22 bits, in draws of a uniform one and in packed tables.
_MOST_SERVERS = 1 << 22
# Ticks per server from one sample of the whole state to the next: about 1 ns per tick.
_STRIDE = 8


class MarkovEngine(Engine):
    """The uniformised chain on the ranked-queues structure.

    Time averages of all ranks and of the idle servers are exact integrals over the window, job
    averages are over all its jobs; what needs whole states is sampled every 8 K ticks.
    """

    name = "markov"
    sees_classes = True

    def refusal(self, subject: Subject) -> str | None:
        """Refuses what is no Markov chain of queue lengths under a policy."""
        if subject.policy is None:
            return "a system with pauses routes no jobs; use engine='pauses'"
        system, _ = subject.routed
        if system.num_servers >= _MOST_SERVERS:
            return f"it has {system.num_servers} servers; give fewer than {_MOST_SERVERS}"
        if not system.is_markov:
            return f"{system.beyond_lengths}, or use engine='calendar'"
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        shared = _share(subject, plan)
        return lambda lengths, sequence: _MarkovRun(shared, lengths, sequence)

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch."""
        shared = _share(subject, None)
        rules = BatchRules(
            shared.kernel,
            shared.rates,
            shared.tick_rate,
            lambda lengths, sequence: _MarkovRun(shared, lengths, sequence),
        )
        return lambda lengths, seed, replicas: MarkovBatch(rules, lengths, seed, replicas)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all replicas have in common."""

    loop: Any
    rates: EventRates
    kernel: Kernel
    tick_rate: float
    service_rates: np.ndarray
    buffer: int | None
    groups: RateGroups
    plan: SamplingPlan | None


def _share(subject: Subject, plan: SamplingPlan | None) -> _Shared:
    system, policy = subject.routed
    kernel = policy.kernel(system)
    return _Shared(
        build_event_loop(
            kernel.choose,
            kernel.update,
            kernel.uses_order,
            plan is not None,
            plan is not None and plan.classes is not None,
        ),
        event_rates(system),
        kernel,
        system.arrival_rate + system.total_service_rate,
        system.service_rates,
        system.buffer,
        group_rates(system.service_rates, histogram_unit(system)),
        plan,
    )


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
        self._targets = make_targets()
        self._clock[CURSOR], self._clock[TOTAL] = BLOCK, lengths.sum()
        self._clock[SHORTEST] = lengths.min()
        self._memory = shared.kernel.memory(self._queues.lengths)
        size = lengths.size if shared.plan is not None else 0
        self._moments = np.zeros(size, np.int64)
        self._servers = np.zeros((size, SERVER_COLUMNS), np.int64)
        self._found = np.zeros((0, shared.groups.rates.size), np.int64)
        self._cells, self._class_of = np.zeros((0, 0), np.int64), np.zeros(0, np.int64)
        if shared.plan is not None and shared.plan.classes is not None:
            classes = shared.plan.classes
            self._cells, self._class_of = classes.cells(np.int64), classes.class_of
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
        for table in (self._moments, self._servers, self._found, self._cells):
            table[:] = 0
        self._clock[[ACCEPTED, LOST, FOUND_IDLE, IDLE_MOMENT, TOTAL_SUM]] = 0
        before = self._queues.lengths.copy()
        # A window of N ticks has N + 1 states; given N each is held equally long in the mean.
        sampler, collected = plan.open(_STRIDE * self._queues.lengths.size)
        self._run_ticks(num_ticks, sampler, collected)
        num_states = num_ticks + 1
        self._count_flow()
        lengths = self._queues.lengths
        ranked = np.empty_like(lengths)
        write_ranked(self._queues, self._clock[SHORTEST], self._shared.kernel.uses_order, ranked)
        num_idle = np.count_nonzero(lengths == 0)
        means = {
            "lengths_ranked": ranked - self._moments / num_states,
            "idle_servers": num_idle - self._clock[IDLE_MOMENT] / num_states,
            "throughput": self._servers[:, SERVED] / duration,
            **plan.close(sampler, collected),
        }
        if plan.classes is not None:
            reached = plan.classes.reached(lengths) - self._cells[:, 1:] / num_states
            means.update(plan.classes.means(reached))
            means["throughput_by_class"] = plan.classes.throughput(means["throughput"])
        return Window(means, self._job_sums(before), histograms={"found": self._found.copy()})

    def job_histograms(self, counts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self._shared.groups.histograms(counts["found"])

    def _job_sums(self, before: np.ndarray) -> dict[str, Any]:
        rates = self._shared.service_rates
        found, served = self._servers[:, FOUND], self._servers[:, SERVED]
        accepted = served + self._queues.lengths - before
        num_accepted = self._clock[ACCEPTED]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Given what it finds, a job waits the services of those before it, in the mean.
            waits = np.where(found > 0, found / rates, 0.0)
            services = np.where(accepted > 0, accepted / rates, 0.0)
        by_class = {}
        if self._shared.groups.has_classes:
            sums = {"accepted": accepted, "wait": waits, "service": services}
            by_class = {f"class_{key}": self._shared.groups.sum(sums[key]) for key in sums}
        return {
            **by_class,
            "accepted": np.float64(num_accepted),
            "lost": np.float64(self._clock[LOST]),
            "waited": np.float64(num_accepted - self._clock[FOUND_IDLE]),
            "wait": waits.sum(),
            "service": services.sum(),
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
        rule = (shared.kernel.numbers, shared.kernel.names, self._memory)
        clock[TICK], clock[NEXT_SAMPLE] = 0, 0
        while True:
            self._queues, room = with_room(self._queues, self._room, shared.buffer)
            self._room = min(2 * self._room, max(_LAST_ROOM, _STRIDE * self._queues.lengths.size))
            if shared.plan is not None:
                self._found = self._with_rows(self._found, self._queues.first.size)
            end = min(num_ticks, int(clock[TICK]) + room)
            shared.loop(
                self._queues,
                self._bank,
                self._words,
                self._targets,
                clock,
                end,
                shared.rates,
                rule,
                (
                    self._moments,
                    self._servers,
                    self._found,
                    shared.groups.group_of,
                    self._cells,
                    self._class_of,
                ),
                sampler,
            )
            if collected is not None:
                collected.take(sampler)
            if clock[TICK] == num_ticks and (sampler.stride == 0 or clock[NEXT_SAMPLE] > num_ticks):
                break

    def _with_rows(self, found: np.ndarray, num_levels: int) -> np.ndarray:
        """The table of found lengths with a row for every length below `num_levels`."""
        highest = min(num_levels, self._shared.rates.buffer + 1)
        missing = level_row(highest) + 1 - found.shape[0]
        return found if missing <= 0 else np.pad(found, ((0, missing), (0, 0)))
