"""Running chunks of replicas in turn, in threads or on any executor, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from ._checks import check_integer
from ._chunk_store import ChunkStore

Task = Callable[[range], Any]
Save = Callable[[range, Any], Any]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run; what was finished is kept.

    Attributes:
        results: the results of the finished chunks in order, or `[merged]` if they were merged.
        chunks: those chunks.
        num_chunks: how many there were to be.
    """

    def __init__(self, results: list[Any], chunks: list[range], num_chunks: int) -> None:
        super().__init__(f"interrupted after {len(chunks)} of {num_chunks} chunks")
        self.results = results
        self.chunks = chunks
        self.num_chunks = num_chunks


def run_chunks(
    task: Task,
    chunks: Sequence[range],
    *,
    merge: Callable[[Any, Any], Any] | None = None,
    progress: bool | None = None,
    num_threads: int = 1,
    executor: Executor | None = None,
    store: ChunkStore | None = None,
) -> Any:
    """The results of `task` for each chunk, in the order of `chunks` however they were run.

    Arguments:
        task: a function of a `range` of replica indices, thread-safe if `num_threads` > 1 and
            picklable for executors of processes (which must be spawned, not forked).
        chunks: from `plan_chunks`.
        merge: merge(first, second) of successive results; then only the merged one is kept, and
            memory does not grow with the number of chunks. Always in the order of chunks.
        progress: a bar on stderr, if that is a terminal: True at once, None after two seconds,
            False never.
        num_threads: chunks that run at the same time in this process.
        executor: a `concurrent.futures.Executor` instead of threads; it stays open.
        store: finished chunks are kept there, and not run again; `task` must then return a dict of
            arrays.
    Returns: the list of results, or with `merge` the merged result.
    Raises: `Interrupted` on Ctrl-C, once the chunks that are running elsewhere have ended; any
        error of `task`, with a note that names the replicas.
    """
    plan = _checked_plan(chunks)
    workers = _checked_workers(num_threads, executor)
    _check_progress(progress)
    if not callable(task):
        raise ValueError(f"task must be a function of a range, got {task!r}")
    collected = _InOrder(plan, merge)
    bar = tqdm(
        total=len(plan),
        unit="chunk",
        disable=True if progress is False else None,
        delay=0.0 if progress else 2.0,
    )
    finished = _finished(task, plan, workers, executor, store)
    try:
        with bar:
            for index, result in finished:
                collected.add(index, result)
                bar.update()
    except KeyboardInterrupt as interrupt:
        _drain(finished, interrupt, collected)
        results, done = collected.finished()
        raise Interrupted(results, done, len(plan)) from interrupt
    results, _ = collected.finished()
    return results if merge is None else results[0]


class _InOrder:
    """Results that arrive in any order, kept or merged in the order of chunks.

    Ctrl-C may come between any two of its steps: nothing is then lost, and a result that comes
    again is not counted twice.
    """

    def __init__(self, plan: list[range], merge: Callable[[Any, Any], Any] | None) -> None:
        self._plan = plan
        self._merge = merge
        self._waiting: dict[int, Any] = {}
        # What was merged, and of how many: replaced in one assignment, so that they agree.
        self._merged: tuple[list[Any], int] = ([], 0)
        self._order: list[int] = []

    def add(self, index: int, result: Any) -> None:
        self._waiting[index] = result
        while self._merge is not None and self._merged[1] in self._waiting:
            self._take(self._merged[1])

    def finished(self) -> tuple[list[Any], list[range]]:
        if self._merge is None:
            order = sorted(self._waiting)
            return [self._waiting[i] for i in order], [self._plan[i] for i in order]
        # Up to here they were merged without a gap: what lies before has come again.
        for index in sorted(i for i in self._waiting if i >= self._merged[1]):
            self._take(index)
        results, count = self._merged
        return results, [self._plan[i] for i in self._order[:count]]

    def _take(self, index: int) -> None:
        assert self._merge is not None
        results, count = self._merged
        result = self._waiting[index]
        merged = self._merge(results[0], result) if results else result
        self._order[count:] = [index]
        self._merged = ([merged], count + 1)
        del self._waiting[index]


def _drain(
    finished: Generator[tuple[int, Any], None, None],
    interrupt: KeyboardInterrupt,
    collected: _InOrder,
) -> None:
    """Start no more chunks, and collect those that are running, wherever Ctrl-C came."""
    try:
        collected.add(*finished.throw(interrupt))
        for index, result in finished:
            collected.add(index, result)
    except KeyboardInterrupt:
        # The same one, when all are collected; or another: then there is no more waiting.
        pass


def _finished(
    task: Task,
    plan: list[range],
    num_threads: int,
    executor: Executor | None,
    store: ChunkStore | None,
) -> Generator[tuple[int, Any], None, None]:
    missing = []
    for index, chunk in enumerate(plan):
        stored = None if store is None else store.get(chunk)
        if stored is None:
            missing.append(index)
        else:
            yield index, stored
    save = _as_it_is if store is None else store.save
    if executor is None and num_threads == 1:
        yield from _in_this_thread(task, plan, missing, save)
    else:
        yield from _in_futures(task, plan, missing, save, num_threads, executor)


def _as_it_is(chunk: range, result: Any) -> Any:
    del chunk
    return result


def _in_this_thread(
    task: Task, plan: list[range], missing: list[int], save: Save
) -> Generator[tuple[int, Any], None, None]:
    for index in missing:
        with _naming(plan[index]):
            result = task(plan[index])
        yield index, save(plan[index], result)


def _in_futures(
    task: Task,
    plan: list[range],
    missing: list[int],
    save: Save,
    num_threads: int,
    executor: Executor | None,
) -> Generator[tuple[int, Any], None, None]:
    pool = ThreadPoolExecutor(num_threads) if executor is None else executor
    # Futures hold their results: each is forgotten as soon as it has been taken.
    pending: dict[Future[Any], int] = {}
    try:
        try:
            for index in missing:
                pending[pool.submit(task, plan[index])] = index
            for future in as_completed(list(pending)):
                index = pending[future]
                with _naming(plan[index]):
                    result = future.result()
                yield index, save(plan[index], result)
                del pending[future]
        except KeyboardInterrupt:
            running = {f: i for f, i in pending.items() if not f.cancel()}
            for future in as_completed(running):
                if future.exception() is None:
                    index = running[future]
                    yield index, save(plan[index], future.result())
            raise
    finally:
        for future in pending:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=True)


@contextmanager
def _naming(chunk: range) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        error.add_note(f"in replicas {chunk.start} to {chunk.stop - 1}")
        raise


def _checked_plan(chunks: Sequence[range]) -> list[range]:
    plan = list(chunks)
    for chunk in plan:
        if not isinstance(chunk, range) or len(chunk) == 0:
            raise ValueError(f"chunks must be non-empty ranges from plan_chunks, got {chunk!r}")
    if not plan:
        raise ValueError("chunks must hold at least one range, got none")
    return plan


def _checked_workers(num_threads: int, executor: Executor | None) -> int:
    workers = check_integer("num_threads", num_threads, 1)
    if executor is not None and not isinstance(executor, Executor):
        raise ValueError(
            f"executor must be a concurrent.futures.Executor instance or None, got {executor!r}"
        )
    # The pool says how it starts processes in no other way.
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise ValueError(
            "executor forks its processes, which then wait for ever for threads of JAX and numba "
            "that were not forked: pass ProcessPoolExecutor(mp_context="
            "multiprocessing.get_context('spawn'))"
        )
    if executor is not None and workers > 1:
        raise ValueError(
            f"num_threads must be 1 with an executor, got {workers}: it has its own workers"
        )
    return workers


def _check_progress(progress: bool | None) -> None:
    if progress is not None and not isinstance(progress, bool):
        raise ValueError(f"progress must be True, False or None, got {progress!r}")
