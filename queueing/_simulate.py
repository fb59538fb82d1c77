"""`simulate`: queue lengths of an ensemble of replicas at given times."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from atlas import check_times
from atlas.ensemble import Seed, Variable, check_memory

from ._checks import check_integer
from ._engine import BatchedEngine, Engine, ServerClasses, choose_engine
from ._ensemble import (
    MAX_CHUNKS,
    check_num_ranks,
    describe,
    open_store,
    plan_ensemble,
    speed_classes,
)
from ._event_budget import bounded
from ._initial import Initial, resolve_initial
from ._observables import CLASS_STATES, STATE_DIMS, StateFunction, check_observe
from ._results import Snapshots
from ._subject import Subject, resolve_subject
from ._violation import (
    DEFAULT_BUDGET,
    VIOLATION_BOUND,
    check_violation_budget,
    refuse_violations,
    violation_results,
)

DEFAULT_LEVELS = 32


def simulate(
    system_or_regime: Any,
    policy: Any = None,
    *,
    times: Sequence[float] | np.ndarray | None = None,
    horizon: float | None = None,
    initial: Any = "empty",
    replicas: int | range = 1,
    chunk: int | None = None,
    num_threads: int | None = None,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
    seed: Any = None,
    key: Any = None,
    engine: str = "auto",
    num_ranks: int | None = None,
    num_levels: int = DEFAULT_LEVELS,
    by_class: bool = False,
    observe: Mapping[str, Callable[[np.ndarray], Any]] | None = None,
    violation_budget: float = DEFAULT_BUDGET,
    progress: bool | None = None,
    throw: bool = True,
) -> Snapshots:
    """Simulate replicas exactly in law and save their queue lengths at given times.

    Arguments:
        system_or_regime: a regime, a `System` with a policy, or a `PausedSystem`.
        policy: the policy of a `System`; None otherwise.
        times: ascending save times >= 0 in the system's own clock, repeated ones allowed; or
            `horizon`, to save the state then only.
        initial: "empty", "stationary" (regimes), a law of the gaps, or lengths of shape (K,) or
            (replica, K).
        replicas: their number, or a `range` of their indices; replica i is the same in any batch.
        chunk: replicas per unit of work; None chooses.  It does not change the numbers.
        num_threads: chunks at a time, None for one per core; "two_scale" has some left for the
            servers of a single large replica.  It does not change the numbers.
        executor: any `concurrent.futures.Executor` instead of threads.
        store: folder in which finished chunks are kept, so that the same call goes on from there.
        seed, key: an int or a typed JAX key; None draws one, which the result keeps.
        engine: "markov", "leap", "two_scale", "pauses", "calendar", "batched" (wide batches on a
            graphics processor; never chosen for you) or "auto": "pauses" for a system with
            pauses; "leap" where it is at least four times cheaper than events, and then
            "two_scale" from 2 000 servers on; else "markov", or "calendar" for what is no Markov
            chain of lengths.
        num_ranks: how many of the lowest ranks are kept; None: all, and lengths by server too.
        num_levels: levels of `occupancy`.
        by_class: whether to keep `occupancy_by_class` (speed_class, level), `lengths_by_class` and
            `utilisation_by_class` too, means over the servers of each service rate, slowest first.
        observe: the user's observables, name -> function of the ranked lengths (K,).
        violation_budget: for "two_scale", how far in total variation the law of each replica's
            path may be from the system's; what is spent of it is `violation_bound` (replica).
        progress: True or False for a bar; None: on a terminal, after two seconds.
        throw: whether to raise if the budget is exceeded; else `attrs["result"]` says so.

    Returns: `Snapshots`.

    Raises: ValueError that names the argument, its value and the remedy;
        `ViolationBoundError`; `RunInterrupted` on Ctrl-C, with the replicas that were finished.

    Cost: "markov" about 10 ns per event; "leap" about 3 us and 2 to 4 ns per server for every
    arrival that is routed by rank; "two_scale" less than 1 us for each of these, and 3 ns per
    server a few times at most in the time in which low ranks change.
    """
    subject = resolve_subject(system_or_regime, policy)
    saved = check_times(times, horizon)
    chosen = bounded(choose_engine(engine, subject), subject, float(saved[-1]))
    budget = check_violation_budget(violation_budget)
    ensemble = plan_ensemble(
        replicas=replicas,
        chunk=chunk,
        num_threads=num_threads,
        executor=executor,
        seed=seed,
        key=key,
        progress=progress,
        max_chunks=1 if isinstance(chosen, BatchedEngine) else MAX_CHUNKS,
    )
    if not isinstance(throw, bool):
        raise ValueError(f"throw is {throw!r}; give True or False")
    levels = check_integer("num_levels", num_levels, minimum=1, remedy="an int >= 1")
    named = keeps_servers(chosen, subject)
    task = SnapshotTask(
        subject=subject,
        runner=chosen.configured(
            horizon=float(saved[-1]),
            violation_budget=budget,
            num_threads=ensemble.threads_per_replica,
        ),
        violation_budget=budget,
        times=saved,
        initial=resolve_initial(initial, subject, ensemble.indices),
        seed=ensemble.seed,
        num_ranks=check_num_ranks(num_ranks, subject.num_servers),
        keeps_servers=num_ranks is None and named,
        num_levels=levels,
        classes=speed_classes(by_class, subject, levels, sees=named),
        observe=check_observe(observe),
    )
    task.check_memory(len(ensemble.indices))
    if isinstance(chosen, BatchedEngine):
        chosen.check_memory(subject, max(len(part) for part in ensemble.chunks))
    attrs = {**describe(subject, ensemble), **task.describe()}
    settings = {**attrs, "times": saved.tolist(), "violation_budget": budget}
    chunks = open_store(store, subject, ensemble, settings, task.initial.fingerprint)
    result = ensemble.run(task, task.finish(attrs), chunks)
    refuse_violations(result, throw)
    return result


def keeps_servers(engine: Engine, subject: Subject) -> bool:
    """Whether the engine knows which server has how many jobs."""
    return not isinstance(engine, BatchedEngine) or engine.keeps_servers(subject)


@dataclass(frozen=True, eq=False)
class SnapshotTask:
    """A chunk of replicas, as arrays with replicas leading."""

    subject: Subject
    runner: Engine
    violation_budget: float
    times: np.ndarray
    initial: Initial
    seed: Seed
    num_ranks: int
    keeps_servers: bool
    num_levels: int
    classes: ServerClasses | None
    observe: dict[str, StateFunction]

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.runner.name

    def prepare(self) -> None:
        """Compile once, before threads start."""
        self._start  # noqa: B018  (a cached property)

    @cached_property
    def _start(self) -> Callable[..., Any]:
        return self.runner.prepare(self.subject, None)

    def __call__(self, chunk: range) -> dict[str, np.ndarray]:
        if isinstance(self.runner, BatchedEngine):
            return self._together(chunk)
        rows = [self._replica(replica) for replica in chunk]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _together(self, chunk: range) -> dict[str, np.ndarray]:
        """The whole chunk on an engine that advances it as one batch."""
        lengths = np.stack([self.initial.draw(self.seed, replica) for replica in chunk])
        batch = self._start(lengths, self.seed, chunk)
        saved = []
        for duration in np.diff(self.times, prepend=0.0):
            if duration > 0.0:
                batch.advance(float(duration))
            rows = [self._observe(row) for row in batch.lengths()]
            saved.append({name: np.stack([row[name] for row in rows]) for name in rows[0]})
        return {name: np.stack([row[name] for row in saved], axis=1) for name in saved[0]}

    def _replica(self, replica: int) -> dict[str, np.ndarray]:
        lengths = self.initial.draw(self.seed, replica)
        run = self._start(lengths, self.seed.sequence(replica))
        saved = []
        for duration in np.diff(self.times, prepend=0.0):
            if duration > 0.0:
                run.advance(float(duration))
            saved.append(self._observe(run.lengths()))
        arrays = {name: np.stack([row[name] for row in saved]) for name in saved[0]}
        bound = run.violation_bound()
        return arrays if bound is None else {**arrays, VIOLATION_BOUND: np.asarray(bound)}

    def _observe(self, lengths: np.ndarray) -> dict[str, Any]:
        ranked = self._ranked(lengths)
        levels = np.arange(1, self.num_levels + 1)
        shorter = np.searchsorted(ranked, levels)
        values = {
            "lengths_ranked": ranked[: self.num_ranks],
            "total": lengths.sum(),
            "imbalance": lengths.max() - ranked[0],
            "idle_servers": np.searchsorted(ranked, 1),
            "occupancy": 1.0 - shorter / lengths.size,
        }
        if self.keeps_servers:
            values["lengths"] = lengths
        if self.classes is not None:
            values.update(self.classes.means(self.classes.reached(lengths)))
        if ranked.size > 1:
            values["prob_tie"] = np.float64(ranked[0] == ranked[1])
        values.update({name: function.value(ranked) for name, function in self.observe.items()})
        return values

    def _ranked(self, lengths: np.ndarray) -> np.ndarray:
        """Ascending lengths; of many queues only the lowest, if these show all that is kept."""
        count = max(self.num_ranks, 2)
        if self.observe or 4 * count > lengths.size:
            return np.sort(lengths)
        lowest = np.sort(np.partition(lengths, count - 1)[:count])
        return lowest if lowest[-1] > self.num_levels else np.sort(lengths)

    def describe(self) -> dict[str, Any]:
        """Attributes of the result that this task determines."""
        scaling = self.subject.scaling
        return {
            "engine": self.engine,
            "initial": self.initial.description,
            "num_ranks": self.num_ranks,
            "num_levels": self.num_levels,
            "by_class": self.classes is not None,
            "observe": sorted(self.observe),
            "length_scale": float("nan") if scaling is None else float(scaling.length),
        }

    def check_memory(self, num_replicas: int) -> None:
        """Refuse a result that does not fit."""
        numbers = 3 * self.num_ranks + self.num_levels + 8
        numbers += self.subject.num_servers if self.keeps_servers else 0
        if self.classes is not None:
            numbers += self.classes.rates.size * (self.num_levels + 2)
        check_memory(
            16 * numbers * num_replicas * self.times.size,
            f"{num_replicas} replicas at {self.times.size} times",
            "lower num_ranks, replicas or the number of times",
        )

    def finish(self, attrs: dict[str, Any]) -> Callable[[dict[str, np.ndarray], range], Snapshots]:
        """The function that makes the result of the joined arrays."""

        def make(arrays: dict[str, np.ndarray], indices: range) -> Snapshots:
            bounds, verdict = violation_results(arrays, self.violation_budget)
            arrays = {name: np.swapaxes(values, 0, 1) for name, values in arrays.items()}
            arrays["gaps"] = np.diff(arrays["lengths_ranked"], axis=-1, prepend=0)
            unavailable = {}
            if self.subject.scaling is not None:
                arrays["scaled_gaps"] = arrays["gaps"] / self.subject.scaling.length
            else:
                unavailable["scaled_gaps"] = "it needs a regime's unit of length; read gaps"
            if not self.keeps_servers:
                unavailable["lengths"] = (
                    "only ranks are kept, because of num_ranks or because the engine knows no more"
                )
            variables = {
                name: Variable(("time", "replica", *self._dims(name, values.ndim - 2)), values)
                for name, values in arrays.items()
            }
            if self.classes is None:
                unavailable.update(dict.fromkeys(CLASS_STATES, "it needs by_class=True"))
            coordinates = {"time": self.times, "replica": np.array(indices)}
            if self.classes is not None:
                coordinates["speed_class"] = self.classes.rates
            known = {"result": "successful", **attrs, **verdict, "unavailable": unavailable}
            return Snapshots({**variables, **bounds}, known, coordinates)

        return make

    def _dims(self, name: str, ndim: int) -> tuple[str, ...]:
        if name in self.observe:
            return tuple(f"{name}_{axis}" for axis in range(ndim))
        return STATE_DIMS[name]
