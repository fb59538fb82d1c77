"""Engine "pauses": the system with pauses, event by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._paused import PausedSystem
from ._alias import alias_table
from ._base import Engine, Run, Window
from ._pauses_batch import PausesBatch
from ._pauses_loop import (
    AREA,
    ARRIVALS,
    CLOCK_ENTRIES,
    CURSOR,
    DEPARTURES,
    NEXT_SAMPLE,
    REFUSED,
    SINCE,
    TICK,
    PauseRates,
    run_pauses,
)
from ._sampler import EMPTY_SAMPLER, Sampler
from ._xoshiro import BLOCK, make_bank

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject


class PausesEngine(Engine):
    """The uniformised chain of the gaps; time averages of all gaps are exact."""

    name = "pauses"

    def refusal(self, subject: Subject) -> str | None:
        """Refuses everything but a system with pauses."""
        if not isinstance(subject.system, PausedSystem):
            return (
                "only a system with pauses runs on it; use regime.with_pauses(), or engine='auto'"
            )
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        shared = _Shared(*_rates(subject), plan)
        return lambda lengths, sequence: _PausesRun(shared, lengths, sequence)

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch."""
        rates = _rates(subject)
        return lambda lengths, seed, replicas: PausesBatch(*rates, lengths, seed, replicas)


def _rates(subject: Subject) -> tuple[PauseRates, float]:
    """The table of the events, and ticks per unit of time."""
    system = subject.system
    assert isinstance(system, PausedSystem)
    rates = np.concatenate((system.arrival_rates, system.service_rates))
    # Without any rate there are no ticks, and the table is never read.
    weights = rates if rates.any() else np.ones(rates.size)
    return PauseRates(*alias_table(weights)), float(rates.sum())


@dataclass(frozen=True, eq=False)
class _Shared:
    rates: PauseRates
    tick_rate: float
    plan: SamplingPlan | None


class _PausesRun(Run):
    def __init__(self, shared: _Shared, lengths: np.ndarray, sequence: Any) -> None:
        self._shared = shared
        self._gaps = np.diff(np.array(lengths, np.int64), prepend=0)
        self._bank = make_bank(sequence)
        self._counts = np.random.Generator(np.random.PCG64(sequence.spawn(1)[0]))
        self._words = np.empty(BLOCK, np.uint64)
        self._clock = np.zeros(CLOCK_ENTRIES, np.int64)
        self._clock[CURSOR] = BLOCK
        self._table = np.zeros((lengths.size, 2), np.int64)

    def lengths(self) -> np.ndarray:
        return np.cumsum(self._gaps)

    def flow(self) -> dict[str, int]:
        arrivals, refused, departures = self._clock[[ARRIVALS, REFUSED, DEPARTURES]].tolist()
        return {"arrivals": arrivals, "departures": departures, "lost": refused}

    def advance(self, duration: float) -> None:
        self._run_ticks(duration, EMPTY_SAMPLER, None)

    def average(self, duration: float) -> Window:
        plan = self._shared.plan
        assert plan is not None
        self._table[:] = 0
        sampler, collected = plan.open(8 * self._gaps.size)
        num_states = self._run_ticks(duration, sampler, collected) + 1
        pending = self._gaps * (num_states - self._table[:, SINCE])
        gaps = (self._table[:, AREA] + pending) / num_states
        means = {"lengths_ranked": np.cumsum(gaps), **plan.close(sampler, collected)}
        return Window(means)

    def _run_ticks(self, duration: float, sampler: Sampler, collected: Any) -> int:
        """As many ticks as `duration` has; returns their number."""
        num_ticks = int(self._counts.poisson(self._shared.tick_rate * duration))
        clock = self._clock
        clock[TICK] = clock[NEXT_SAMPLE] = 0
        while True:
            run_pauses(
                self._gaps,
                self._bank,
                self._words,
                clock,
                num_ticks,
                self._shared.rates,
                self._table,
                sampler,
                collected is not None,
            )
            if collected is not None:
                collected.take(sampler)
            if clock[TICK] == num_ticks and (collected is None or clock[NEXT_SAMPLE] > num_ticks):
                return num_ticks
