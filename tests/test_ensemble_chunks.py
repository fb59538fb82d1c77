"""Chunks of replicas: the same results in turn, in threads and in processes, and after Ctrl-C."""

import io
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from atlas.ensemble import Interrupted, plan_chunks, run_chunks


def sums(chunk: range) -> tuple[int, float]:
    """A picklable task whose result shows its replicas and its random numbers."""
    return chunk.start, sum(np.random.default_rng(i).normal() for i in chunk)


def late_first(chunk: range) -> int:
    """Finishes out of order: the first chunk last."""
    time.sleep(0.1 if chunk.start == 0 else 0.0)
    return chunk.start


@pytest.mark.parametrize("chunk", [1, 3, 10, 11, 10**6])
@pytest.mark.parametrize("replicas", [10, np.int64(10), range(10), range(5, 15)])
def test_chunks_are_the_replicas_in_order(replicas, chunk):
    chunks = plan_chunks(replicas, chunk)
    expected = list(replicas) if isinstance(replicas, range) else list(range(10))
    assert [i for part in chunks for i in part] == expected
    assert all(len(part) == chunk for part in chunks[:-1])
    assert all(isinstance(part, range) for part in chunks)


@pytest.mark.parametrize(
    ("replicas", "chunk", "error", "message"),
    [
        (0, 1, ValueError, "replicas must be at least 1, got 0"),
        (-4, 1, ValueError, "replicas must be at least 1, got -4"),
        (10**15, 1, ValueError, "replicas must be at most"),
        (True, 1, ValueError, "replicas must be an integer, got the bool"),
        (2.0, 1, ValueError, "replicas must be an integer, got 2.0"),
        ([1, 2], 1, ValueError, "replicas must be an integer"),
        (range(0), 1, ValueError, "non-empty range"),
        (range(-1, 4), 1, ValueError, r"within \[0, 4294967296\), got range\(-1, 4\)"),
        (range(0, 8, 2), 1, ValueError, "range of step 1"),
        (range(5, 2, -1), 1, ValueError, "range of step 1"),
        (10, 0, ValueError, "chunk must be at least 1, got 0"),
        (10, 2.5, ValueError, "chunk must be an integer, got 2.5"),
    ],
)
def test_impossible_plans_are_refused(replicas, chunk, error, message):
    with pytest.raises(error, match=message):
        plan_chunks(replicas, chunk)


def test_results_are_the_same_however_they_are_run():
    chunks = plan_chunks(23, 4)
    alone = run_chunks(sums, chunks)
    assert [start for start, _ in alone] == [0, 4, 8, 12, 16, 20]
    assert run_chunks(sums, chunks, num_threads=3) == alone
    with ThreadPoolExecutor(2) as executor:
        assert run_chunks(sums, chunks, executor=executor) == alone
        assert run_chunks(sums, chunks, executor=executor) == alone
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert run_chunks(sums, chunks, executor=executor) == alone


def test_results_and_merges_keep_the_order_of_chunks():
    chunks = plan_chunks(6, 1)
    assert run_chunks(late_first, chunks, num_threads=3) == [0, 1, 2, 3, 4, 5]
    merged = run_chunks(lambda c: f"{late_first(c)}", chunks, merge=str.__add__, num_threads=3)
    assert merged == "012345"
    assert run_chunks(sums, chunks[:1], merge=max) == sums(chunks[0])


def test_merged_results_are_not_kept():
    """One merged result and one new one are alive at any time, however many chunks there are."""
    alive = []

    class Counted:
        def __init__(self):
            alive.append(self)

        def merge(self, other):
            alive.remove(other)
            return self

    largest = 0

    def task(chunk):
        nonlocal largest
        result = Counted()
        largest = max(largest, len(alive))
        return result

    run_chunks(task, plan_chunks(50, 1), merge=Counted.merge)
    assert largest == 2


@pytest.mark.parametrize("num_threads", [1, 2])
def test_an_error_names_the_replicas_of_its_chunk(num_threads):
    def task(chunk):
        if 7 in chunk:
            raise FloatingPointError("unstable")
        return chunk.start

    with pytest.raises(FloatingPointError) as caught:
        run_chunks(task, plan_chunks(12, 3), num_threads=num_threads)
    assert caught.value.__notes__ == ["in replicas 6 to 8"]


def test_an_error_leaves_later_chunks_undone():
    done = []

    def task(chunk):
        if chunk.start == 0:
            raise ValueError("first")
        time.sleep(0.01)
        done.append(chunk.start)

    with pytest.raises(ValueError, match="first"):
        run_chunks(task, plan_chunks(100, 1), num_threads=2)
    assert len(done) < 20


def test_ctrl_c_keeps_the_finished_chunks():
    def task(chunk):
        if chunk.start == 9:
            signal.raise_signal(signal.SIGINT)
        return sums(chunk)

    chunks = plan_chunks(30, 3)
    with pytest.raises(Interrupted, match="after 3 of 10 chunks") as caught:
        run_chunks(task, chunks)
    assert caught.value.chunks == chunks[:3]
    assert caught.value.results == run_chunks(sums, chunks[:3])
    assert caught.value.num_chunks == 10
    assert isinstance(caught.value, KeyboardInterrupt)


def test_ctrl_c_keeps_what_was_merged():
    def task(chunk):
        if chunk.start == 3:
            raise KeyboardInterrupt
        return f"{chunk.start}"

    with pytest.raises(Interrupted) as caught:
        run_chunks(task, plan_chunks(5, 1), merge=str.__add__)
    assert caught.value.results == ["012"]
    assert len(caught.value.chunks) == 3
    with pytest.raises(Interrupted) as caught:
        run_chunks(lambda chunk: task(range(3, 4)), plan_chunks(5, 1), merge=str.__add__)
    assert (caught.value.results, caught.value.chunks) == ([], [])


class Pool(ThreadPoolExecutor):
    """Threads that tell when the task submitted last has been cancelled, and after how many
    submissions Ctrl-C is to come."""

    def __init__(self, num_threads, *, last, press_after=None):
        super().__init__(num_threads)
        self.cancelled = threading.Event()
        self._last = last
        self._press_after = press_after
        self._submitted = 0

    def submit(self, task, chunk):
        if self._submitted == self._press_after:
            raise KeyboardInterrupt
        self._submitted += 1
        future = super().submit(task, chunk)
        if chunk == self._last:
            future.add_done_callback(lambda done: done.cancelled() and self.cancelled.set())
        return future


def test_ctrl_c_waits_for_running_threads_and_starts_no_more(monkeypatch):
    """Two chunks are at work when the signal comes, and end when no other can start."""
    chunks, begun, started = plan_chunks(20, 1), [], threading.Barrier(3)
    pool = Pool(2, last=chunks[-1])
    monkeypatch.setattr("atlas.ensemble._run_chunks.ThreadPoolExecutor", lambda num_threads: pool)

    def task(chunk):
        begun.append(chunk.start)
        if chunk.start in (4, 5):
            started.wait(60.0)
            assert pool.cancelled.wait(60.0)
        return sums(chunk)

    def press():
        started.wait(60.0)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Interrupted) as caught:
        run_chunks(task, chunks, num_threads=2)
    presser.join()
    assert caught.value.chunks == chunks[:6]
    assert caught.value.results == [sums(chunk) for chunk in chunks[:6]]
    assert sorted(begun) == list(range(6))


def test_ctrl_c_while_chunks_are_submitted_waits_for_those_that_run():
    chunks = plan_chunks(20, 1)
    pool = Pool(2, last=chunks[7], press_after=8)
    at_work = threading.Barrier(2)

    def task(chunk):
        at_work.wait(60.0)
        assert pool.cancelled.wait(60.0)
        return sums(chunk)

    with pytest.raises(Interrupted) as caught, pool:
        run_chunks(task, chunks, executor=pool)
    assert caught.value.chunks == chunks[:2]
    assert caught.value.results == [sums(chunk) for chunk in chunks[:2]]


@pytest.mark.parametrize("merge", [None, tuple.__add__])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_between_two_results_waits_for_running_threads_too(monkeypatch, merge, moment):
    """At the first result, before it is kept or after: it is there once, and the others too."""
    chunks, at_work, pressed = plan_chunks(3, 1), threading.Barrier(3), threading.Event()

    def task(chunk):
        at_work.wait(60.0)
        assert chunk.start != 1 or pressed.wait(60.0)
        return (sums(chunk),)

    def press(collected, index, result):
        monkeypatch.undo()
        pressed.set()
        if moment == "after":
            collected.add(index, result)
        raise KeyboardInterrupt

    monkeypatch.setattr("atlas.ensemble._run_chunks._InOrder.add", press)
    with pytest.raises(Interrupted) as caught:
        run_chunks(task, chunks, num_threads=3, merge=merge)
    assert caught.value.chunks == chunks
    expected = [(sums(chunk),) for chunk in chunks]
    assert caught.value.results == (expected if merge is None else [sum(expected, ())])


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, progress) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    run_chunks(sums, plan_chunks(4, 2), progress=progress)
    return stream.getvalue()


@pytest.mark.parametrize("progress", [True, False, None])
def test_progress_is_silent_without_a_terminal(monkeypatch, progress):
    assert shown(monkeypatch, io.StringIO(), progress) == ""


def test_progress_shows_on_a_terminal_if_asked_or_slow(monkeypatch):
    assert "2/2" in shown(monkeypatch, Terminal(), True)
    assert shown(monkeypatch, Terminal(), False) == ""
    assert "2/2" not in shown(monkeypatch, Terminal(), None)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"num_threads": 0}, ValueError, "num_threads must be at least 1, got 0"),
        ({"num_threads": 1.5}, ValueError, "num_threads must be an integer"),
        ({"executor": "threads"}, ValueError, "executor must be a concurrent.futures.Executor"),
        ({"executor": ThreadPoolExecutor}, ValueError, "Executor instance"),
        ({"progress": "yes"}, ValueError, "progress must be True, False or None, got 'yes'"),
        ({"chunks": []}, ValueError, "at least one range"),
        ({"chunks": [3]}, ValueError, "non-empty ranges from plan_chunks, got 3"),
        ({"chunks": [range(0)]}, ValueError, "non-empty ranges"),
        ({"task": "sums"}, ValueError, "task must be a function of a range, got 'sums'"),
    ],
)
def test_bad_input_is_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        run_chunks(**{"task": sums, "chunks": plan_chunks(2, 1), **settings})


def test_an_executor_has_its_own_number_of_workers():
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="num_threads must be 1"):
        run_chunks(sums, plan_chunks(2, 1), executor=pool, num_threads=2)
