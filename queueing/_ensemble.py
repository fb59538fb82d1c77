"""Settings that `simulate` and `long_run` share, and how their replicas are run."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from atlas.ensemble import (
    ChunkStore,
    Interrupted,
    Result,
    Seed,
    check_path,
    plan_chunks,
    provenance,
    resolve_seed,
    run_chunks,
)

from ._checks import check_integer
from ._content import content_digest
from ._engine import ServerClasses, server_classes_by_rate
from ._results import RunInterrupted
from ._subject import Subject

AnyResult = TypeVar("AnyResult", bound=Result)

# A chunk is what progress, interruption and threads count in.
MAX_CHUNKS = 64


class ReplicaTask(Protocol):
    """Work on a chunk of replicas; picklable until it is prepared."""

    def prepare(self) -> None:
        """Compile once, before threads start."""

    def __call__(self, chunk: range) -> dict[str, np.ndarray]:
        """Arrays with replicas leading."""
        ...


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Replicas, their seed and the workers that run them.

    Attributes:
        indices: the replicas.
        seed: of all of them.
        is_seed_given: whether the caller gave it.
        chunks: successive ranges of the indices.
        num_threads: chunks at a time.
        threads_per_replica: how many threads a replica may use for itself.
        executor, progress: see `atlas.ensemble.run_chunks`.
    """

    indices: range
    seed: Seed
    is_seed_given: bool
    chunks: list[range]
    num_threads: int
    threads_per_replica: int
    executor: Executor | None
    progress: bool | None

    def run(
        self,
        task: ReplicaTask,
        finish: Callable[[dict[str, np.ndarray], range], AnyResult],
        store: ChunkStore | None,
    ) -> AnyResult:
        """`finish` of the joined arrays (replicas leading) of all chunks.

        Raises: `RunInterrupted` on Ctrl-C, with the result of the chunks that were finished.
        """
        if self.executor is None:
            task.prepare()
        try:
            results = run_chunks(
                task,
                self.chunks,
                progress=self.progress,
                num_threads=self.num_threads,
                executor=self.executor,
                store=store,
            )
        except Interrupted as interrupt:
            kept = _leading(interrupt.chunks, self.chunks)
            result = None
            if kept:
                last = kept[-1].stop
                joined = _join(interrupt.results[: len(kept)])
                result = finish(joined, range(self.indices.start, last))
            raise RunInterrupted(str(interrupt), result) from interrupt
        return finish(_join(results), self.indices)


def plan_ensemble(
    *,
    replicas: int | range,
    chunk: int | None,
    num_threads: int | None,
    executor: Executor | None,
    seed: Any,
    key: Any,
    progress: bool | None,
    max_chunks: int = MAX_CHUNKS,
) -> Ensemble:
    """The ensemble that the caller asks for, errors name the argument; at most `max_chunks`, where
    `chunk` is None."""
    if seed is not None and key is not None:
        raise ValueError(f"seed = {seed!r} and key = {key!r}: give one of them, they mean the same")
    given = key if seed is None else seed
    indices = plan_chunks(replicas, 2**32)[0]
    planned = plan_chunks(indices, -(-len(indices) // max_chunks) if chunk is None else chunk)
    if num_threads is None:
        available = os.cpu_count() or 1
        threads = 1 if executor is not None else min(available, len(planned))
    else:
        available = threads = check_integer(
            "num_threads", num_threads, minimum=1, remedy="an int >= 1, or None"
        )
    return Ensemble(
        indices,
        resolve_seed(given),
        given is not None,
        planned,
        threads,
        1 if executor is not None else max(1, available // len(planned)),
        executor,
        progress,
    )


def describe(subject: Subject, ensemble: Ensemble) -> dict[str, Any]:
    """Attributes of a result: what was simulated, from which seed, by which versions."""
    regime = subject.regime
    return {
        "system": _text(subject.system),
        "policy": "none" if subject.policy is None else _text(subject.policy),
        "regime": "none" if regime is None else _text(regime),
        "num_servers": subject.num_servers,
        "replicas_start": ensemble.indices.start,
        **ensemble.seed.to_attrs(),
        **provenance("cpu"),
    }


def open_store(
    store: str | os.PathLike[str] | None,
    subject: Subject,
    ensemble: Ensemble,
    attrs: dict[str, Any],
    start: str,
) -> ChunkStore | None:
    """The folder of finished chunks, tied to everything that determines a replica.

    Arguments:
        store: the folder, or None.
        subject: what is simulated.
        ensemble: whose seed must have been given.
        attrs: of the result, without what is known after the run only.
        start: the fingerprint of the initial lengths.
    """
    if store is None:
        return None
    if attrs["observe"]:
        raise ValueError(
            "store cannot tell one observe function from another; leave out observe or the store"
        )
    if not ensemble.is_seed_given:
        raise ValueError("store needs a seed that is given, so that the same call finds its chunks")
    content = content_digest((subject.system, subject.policy))
    settings = {**attrs, "start": start, "content": content}
    return ChunkStore(check_path("store", store), settings)


def check_num_ranks(num_ranks: int | None, num_servers: int) -> int:
    """How many ranks are kept."""
    if num_ranks is None:
        return num_servers
    remedy = f"an int from 1 to {num_servers}, or None for all"
    count = check_integer("num_ranks", num_ranks, minimum=1, remedy=remedy)
    if count > num_servers:
        raise ValueError(f"num_ranks is {count}; give {remedy}")
    return count


def speed_classes(
    by_class: Any, subject: Subject, num_levels: int, *, sees: bool
) -> ServerClasses | None:
    """The classes that the caller wants to have averaged, None for none.

    Arguments:
        by_class: whether the caller does.
        sees: whether the engine that was chosen can.
    """
    if not isinstance(by_class, bool):
        raise ValueError(f"by_class is {by_class!r}; give True or False")
    if not by_class:
        return None
    if subject.policy is None:
        raise ValueError("by_class is True, but ranks with pauses are no servers; give False")
    if not sees:
        raise ValueError(
            "by_class is True, but the engine does not follow every change of every server; give "
            "engine='markov' or 'calendar', or by_class=False"
        )
    return server_classes_by_rate(subject.routed[0].service_rates, num_levels)


def _leading(done: list[range], planned: list[range]) -> list[range]:
    """The finished chunks up to the first that is missing, so that replicas are successive."""
    count = 0
    while count < len(done) and done[count] == planned[count]:
        count += 1
    return done[:count]


def _join(results: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([part[name] for part in results]) for name in results[0]}


def _text(value: Any) -> str:
    with np.printoptions(threshold=16, precision=17):
        return repr(value)
