"""A chunk of replicas of a long run, in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from atlas.ensemble import Seed, check_memory

from ._batch_estimates import NUM_BATCHES
from ._engine import HISTOGRAM_SIZE, QUANTILE_RELATIVE_ERROR, Engine, Run, Window, histogram_unit
from ._initial import Initial
from ._sampling_plan import SamplingPlan
from ._subject import Subject
from ._violation import VIOLATION_BOUND

# MSER-5 takes means of five: each of them is one batch.
_WINDOWS_PER_BATCH = 5
SERIES = "series_of_total"
WEIGHT = "weight_of_batch"
HISTOGRAM = "histogram_"
FLOW = (
    "num_arrivals",
    "num_departures",
    "num_lost",
    "num_travelling",
    "initial_total",
    "final_total",
)


def window_length(horizon: float, warmup: float | None) -> float:
    """The length of the windows that an engine averages over; `warmup` is None for MSER-5."""
    if warmup is None:
        return horizon / (NUM_BATCHES * _WINDOWS_PER_BATCH)
    return (horizon - warmup) / NUM_BATCHES


@dataclass(frozen=True, eq=False)
class LongRunTask:
    """What every replica does: a warm-up that is not averaged, then equal batches.

    Attributes:
        warmup, horizon: times; with `mser5` the warm-up is 0 here, and cut afterwards.
        num_ranks: ranks that are kept.
        num_histograms: histograms of jobs' times per replica, of equally many batches each.
    """

    subject: Subject
    runner: Engine
    violation_budget: float
    plan: SamplingPlan
    initial: Initial
    seed: Seed
    warmup: float
    horizon: float
    mser5: bool
    num_ranks: int
    num_histograms: int

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.runner.name

    @property
    def window(self) -> float:
        """The length of the windows that an engine averages over."""
        return window_length(self.horizon, None if self.mser5 else self.warmup)

    def prepare(self) -> None:
        """Compile once, before threads start."""
        self._start  # noqa: B018  (a cached property)

    @cached_property
    def _start(self) -> Callable[..., Run]:
        return self.runner.prepare(self.subject, self.plan)

    def __call__(self, chunk: range) -> dict[str, np.ndarray]:
        rows = [self._replica(replica) for replica in chunk]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _replica(self, replica: int) -> dict[str, np.ndarray]:
        lengths = self.initial.draw(self.seed, range(replica, replica + 1))[0]
        run = self._start(lengths, self.seed.sequence(replica))
        if self.warmup > 0.0:
            run.advance(self.warmup)
        batches, series, histograms = [], [], []
        counts: dict[str, np.ndarray] = {}
        for batch in range(NUM_BATCHES):
            windows = [run.average(self.window) for _ in range(self._windows_per_batch)]
            series += [float(window.means["lengths_ranked"].sum()) for window in windows]
            batches.append(self._reduce(windows))
            counts = _total_counts([counts, *[window.histograms for window in windows]])
            if (batch + 1) % (NUM_BATCHES // self.num_histograms) == 0:
                histograms.append(run.job_histograms(counts) if counts else {})
                counts = {}
        arrays: dict[str, Any] = {
            name: np.stack([batch[name] for batch in batches]) for name in batches[0]
        }
        for name in histograms[0]:
            arrays[HISTOGRAM + name] = np.stack([histogram[name] for histogram in histograms])
        arrays[SERIES] = np.array(series)
        arrays.update(self._flow(run, int(lengths.sum())))
        bound = run.violation_bound()
        if bound is not None:
            arrays[VIOLATION_BOUND] = np.asarray(bound)
        return arrays

    @property
    def _windows_per_batch(self) -> int:
        return _WINDOWS_PER_BATCH if self.mser5 else 1

    def _reduce(self, windows: list[Window]) -> dict[str, Any]:
        """The observables of one batch, without what is not kept."""
        weight = sum(window.weight for window in windows)
        means: dict[str, Any] = {
            name: sum(window.weight / weight * window.means[name] for window in windows)
            for name in windows[0].means
        }
        sums = {
            f"sum_{name}": np.asarray(sum(window.sums[name] for window in windows), np.float64)
            for name in windows[0].sums
        }
        ranked = means["lengths_ranked"]
        means["total"] = np.float64(ranked.sum())
        means["imbalance"] = np.float64(ranked[-1] - ranked[0])
        means["lengths_ranked"] = ranked[: self.num_ranks].copy()
        means["gaps"] = np.diff(means["lengths_ranked"], prepend=0.0)
        return {**means, **sums, WEIGHT: np.float64(weight)}

    def _flow(self, run: Run, initial_total: int) -> dict[str, Any]:
        """Exact counts of jobs; what came in is what went out, what is there and what was lost."""
        flow = run.flow()
        final_total = int(run.lengths().sum())
        counts = {"initial_total": initial_total, "final_total": final_total}
        if flow:
            inside = initial_total + flow["arrivals"] - flow["lost"] - flow["departures"]
            inside -= flow.get("travelling", 0)
            if inside != final_total:
                raise RuntimeError(
                    f"{inside} jobs should be in the system and {final_total} are: a fault of the "
                    f"engine {self.engine!r}, please report it"
                )
            counts.update({f"num_{name}": value for name, value in flow.items()})
        return {name: np.int64(value) for name, value in counts.items()}

    def describe(self) -> dict[str, Any]:
        """Attributes of the result that this task determines."""
        has_jobs = self.subject.policy is not None
        return {
            "engine": self.engine,
            "initial": self.initial.description,
            "horizon": self.horizon,
            "warmup": "mser5" if self.mser5 else self.warmup,
            "num_ranks": self.num_ranks,
            "num_levels": self.plan.num_levels,
            "by_class": self.plan.classes is not None,
            "observe": sorted(self.plan.functions),
            "histogram_unit": histogram_unit(self.subject.routed[0]) if has_jobs else 1.0,
            "quantile_relative_error": QUANTILE_RELATIVE_ERROR,
        }

    def check_memory(self, num_replicas: int) -> None:
        """Refuse batches that do not fit."""
        numbers = 3 * self.num_ranks + 4 * self.subject.num_servers + self.plan.num_levels + 16
        if self.plan.classes is not None:
            numbers += self.plan.classes.rates.size * (self.plan.num_levels + 3)
        numbers = numbers * NUM_BATCHES + 2 * HISTOGRAM_SIZE * self.num_histograms
        check_memory(
            16 * numbers * num_replicas,
            f"{num_replicas} replicas of {self.subject.num_servers} servers",
            "lower num_ranks or replicas",
        )


def _total_counts(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The sums by name; where a table grew on the way, its first axis is the longest."""
    totals: dict[str, np.ndarray] = {}
    for name in parts[-1]:
        counts = [part[name] for part in parts if name in part]
        longest = max(counts, key=len)
        totals[name] = np.zeros_like(longest)
        for count in counts:
            totals[name][: len(count)] += count
    return totals
