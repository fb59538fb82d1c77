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
from atlas.ensemble import Seed, Variable, check_memory, plan_chunks

from ._checks import check_integer
from ._engine import Batch, BatchedEngine, Engine, choose_engine
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
from ._observables import CLASS_STATES, STATE_DIMS, check_observe
from ._results import Snapshots
from ._state_view import StateTable, StateView
from ._subject import Subject, resolve_subject
from ._violation import (
    DEFAULT_BUDGET,
    VIOLATION_BOUND,
    check_violation_budget,
    refuse_violations,
    violation_results,
)

DEFAULT_LEVELS = 32
# Replicas are simulated in blocks of at most so many, and of so many lengths at all times.
_BLOCK_REPLICAS = 1 << 10
_BLOCK_LENGTHS = 1 << 19


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

    Cost: about 20 us and 30 ns per server to start a replica; then "markov" about 10 ns per event,
    "leap" about 3 us and 2 to 4 ns per server for every arrival that is routed by rank, "two_scale"
    less than 1 us for each of these, and 3 ns per server a few times at most in the time in which
    low ranks change.
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
        view=StateView(
            num_ranks=check_num_ranks(num_ranks, subject.num_servers),
            keeps_servers=num_ranks is None and named,
            num_levels=levels,
            classes=speed_classes(by_class, subject, levels, sees=named),
            observe=check_observe(observe),
        ),
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
    view: StateView

    @property
    def engine(self) -> str:
        """The engine's name."""
        return self.runner.name

    def prepare(self) -> None:
        """Compile once, before threads start."""
        self._start  # noqa: B018  (a cached property)

    @cached_property
    def _start(self) -> Callable[..., Batch]:
        return self.runner.prepare_batch(self.subject)

    def __call__(self, chunk: range) -> dict[str, np.ndarray]:
        blocks = [self._block(replicas) for replicas in self._blocks(chunk)]
        return {name: np.concatenate([each[name] for each in blocks]) for name in blocks[0]}

    def _blocks(self, chunk: range) -> list[range]:
        """Parts of a chunk whose states fit into a cache, more or less."""
        if isinstance(self.runner, BatchedEngine):
            return [chunk]
        most = _BLOCK_LENGTHS // (self.times.size * self.subject.num_servers)
        return plan_chunks(chunk, min(max(1, most), _BLOCK_REPLICAS))

    def _block(self, replicas: range) -> dict[str, np.ndarray]:
        lengths = self.initial.draw(self.seed, replicas)
        batch = self._start(lengths, self.seed, replicas)
        table = StateTable(self.view, len(replicas) * self.times.size)
        for rows, states in batch.states(np.diff(self.times, prepend=0.0)):
            table.put(rows, states)
        shape = (len(replicas), self.times.size)
        arrays = {
            name: column.reshape(*shape, *column.shape[1:])
            for name, column in table.columns.items()
        }
        bounds = batch.violation_bounds()
        return arrays if bounds is None else {**arrays, VIOLATION_BOUND: bounds}

    def describe(self) -> dict[str, Any]:
        """Attributes of the result that this task determines."""
        scaling = self.subject.scaling
        return {
            "engine": self.engine,
            "initial": self.initial.description,
            "num_ranks": self.view.num_ranks,
            "num_levels": self.view.num_levels,
            "by_class": self.view.classes is not None,
            "observe": sorted(self.view.observe),
            "length_scale": float("nan") if scaling is None else float(scaling.length),
        }

    def check_memory(self, num_replicas: int) -> None:
        """Refuse a result that does not fit."""
        numbers = 3 * self.view.num_ranks + self.view.num_levels + 8
        numbers += self.subject.num_servers if self.view.keeps_servers else 0
        if self.view.classes is not None:
            numbers += self.view.classes.rates.size * (self.view.num_levels + 2)
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
            if not self.view.keeps_servers:
                unavailable["lengths"] = (
                    "only ranks are kept, because of num_ranks or because the engine knows no more"
                )
            variables = {
                name: Variable(("time", "replica", *self._dims(name, values.ndim - 2)), values)
                for name, values in arrays.items()
            }
            if self.view.classes is None:
                unavailable.update(dict.fromkeys(CLASS_STATES, "it needs by_class=True"))
            coordinates = {"time": self.times, "replica": np.array(indices)}
            if self.view.classes is not None:
                coordinates["speed_class"] = self.view.classes.rates
            known = {"result": "successful", **attrs, **verdict, "unavailable": unavailable}
            return Snapshots({**variables, **bounds}, known, coordinates)

        return make

    def _dims(self, name: str, ndim: int) -> tuple[str, ...]:
        if name in self.view.observe:
            return tuple(f"{name}_{axis}" for axis in range(ndim))
        return STATE_DIMS[name]
