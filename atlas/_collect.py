"""From the chunks' arrays to a Solution: paths kept or moments streamed, failures said."""

from dataclasses import dataclass

import numpy as np

from ._chunk import ChunkTask
from ._scheme import TwoScaleSplitting
from ._solution import SimulationError, SimulationInterrupted, Solution
from .ensemble import (
    Interrupted,
    StreamingMoments,
    StreamingQuantiles,
    Variable,
    check_memory,
    estimate_variables,
    run_chunks,
)

# What a chunk says of itself besides its saved states.
_NOT_SAVED = ("failed_step", "truncation_bound", "violation_bound")

_LAST_DIM = {"ranked": "rank", "gaps": "gap", "regulators": "regulator", "names_ranked": "rank"}


def check_output_memory(task: ChunkTask, num_replicas: int) -> None:
    """Refuse a run whose saved states and working arrays do not fit into memory."""
    per_state = 2 * task.num_ranks + (task.model.num_gaps if task.with_regulators else 0)
    replicas_kept = num_replicas if task.keep == "paths" else task.width
    # Chunks are joined at the end, so kept paths exist twice for a moment.
    saved = 2 * len(task.times) * replicas_kept * per_state * task.dtype.itemsize
    working = 8 * task.values_per_replica * task.width * 8
    check_memory(
        saved + working,
        f"saving {len(task.times)} times of {num_replicas} replicas with {task.num_ranks} ranks",
        "save fewer times or ranks (num_ranks), or keep='moments' with a smaller chunk",
    )


@dataclass(frozen=True, eq=False)
class _ReducedTask:
    """A chunk's arrays reduced to moments, and to histograms of the gaps."""

    task: ChunkTask

    def __call__(self, replicas: range) -> dict[str, np.ndarray]:
        arrays = self.task(replicas)
        reduced = {name: arrays.pop(name) for name in _NOT_SAVED if name in arrays}
        if "violation_bound" in reduced:
            reduced["violation_bound"] = np.asarray(np.mean(reduced["violation_bound"]))
        reduced["failed_step"] = reduced["failed_step"][reduced["failed_step"] >= 0]
        for name, values in arrays.items():
            moments = StreamingMoments.from_samples(values, axis=1)
            reduced |= {f"{name}/{k}": v for k, v in moments.to_arrays().items()}
        if self.task.keep == "quantiles":
            gaps = arrays["gaps"].astype(np.float64)
            histogram = StreamingQuantiles.empty((gaps.shape[0], gaps.shape[2])).add(gaps, axis=1)
            reduced |= {f"gaps_histogram/{k}": v for k, v in histogram.to_arrays().items()}
        return reduced


def collect(
    task: ChunkTask,
    chunks: list[range],
    attrs: dict,
    *,
    quantiles: tuple[float, ...],
    budget: float,
    by_num_ranks: bool,
    throw: bool,
    num_threads: int,
    executor,
    store,
    progress,
) -> Solution:
    """Run all chunks and make the Solution; see `simulate`."""
    keeps_paths = task.keep == "paths"

    def finish(results: list[dict[str, np.ndarray]], done: list[range]) -> Solution:
        make = _solution_of_paths if keeps_paths else _solution_of_moments
        return make(task, results, done, attrs, quantiles, budget, by_num_ranks)

    try:
        results = run_chunks(
            task if keeps_paths else _ReducedTask(task),
            chunks,
            merge=None if keeps_paths else _merge,
            progress=progress,
            num_threads=1 if executor is not None else num_threads,
            executor=executor,
            store=store,
        )
    except Interrupted as interrupt:
        partial = finish(interrupt.results, interrupt.chunks) if interrupt.chunks else None
        raise SimulationInterrupted(
            f"{interrupt}; the error's attribute `solution` holds the finished replicas", partial
        ) from interrupt
    solution = finish(results if keeps_paths else [results], chunks)
    if throw and solution.result != "successful":
        raise SimulationError(solution.result, solution)
    return solution


def _merge(first: dict, second: dict) -> dict:
    merged = {"failed_step": np.concatenate([first["failed_step"], second["failed_step"]])}
    names = {name.split("/")[0] for name in first if "/" in name}
    for name in names:
        kind = StreamingQuantiles if name == "gaps_histogram" else StreamingMoments
        merged |= _merge_kind(kind, name, first, second)
    share = second["ranked/count"] / (first["ranked/count"] + second["ranked/count"])
    for name in ("truncation_bound", "violation_bound"):
        if name in first:
            merged[name] = (1 - share) * first[name] + share * second[name]
    return merged


def _merge_kind(kind, name: str, first: dict, second: dict) -> dict[str, np.ndarray]:
    joined = kind.from_arrays(_part(first, name)).merge(kind.from_arrays(_part(second, name)))
    return {f"{name}/{key}": value for key, value in joined.to_arrays().items()}


def _part(arrays: dict, name: str) -> dict:
    prefix = name + "/"
    return {key.removeprefix(prefix): v for key, v in arrays.items() if key.startswith(prefix)}


def _solution_of_paths(task, results, done, attrs, quantiles, budget, by_num_ranks) -> Solution:
    names = [name for name in results[0] if name not in _NOT_SAVED]
    variables = {
        name: Variable(
            _dims(name, results[0][name].ndim, ("time", "replica")),
            np.concatenate([arrays[name] for arrays in results], axis=1),
        )
        for name in names
    }
    failed = np.concatenate([arrays["failed_step"] for arrays in results])
    indices = np.concatenate([np.arange(chunk.start, chunk.stop) for chunk in done])
    failures = [(int(i), int(s)) for i, s in zip(indices, failed, strict=True) if s >= 0]
    bound = None
    if "truncation_bound" in results[0]:
        weights = [len(chunk) for chunk in done]
        bound = np.average([r["truncation_bound"] for r in results], axis=0, weights=weights)
    if "violation_bound" in results[0]:
        violation = np.concatenate([arrays["violation_bound"] for arrays in results])
        variables["violation_bound"] = Variable(("replica",), violation)
    labels = {"time": task.times, "replica": indices}
    return _solution(task, variables, labels, attrs, failures, bound, budget, by_num_ranks)


def _solution_of_moments(task, results, done, attrs, quantiles, budget, by_num_ranks) -> Solution:
    arrays = results[0]
    variables: dict[str, Variable] = {}
    labels: dict[str, np.ndarray] = {"time": task.times}
    for key in [key for key in arrays if key.endswith("/mean")]:
        name = key.removesuffix("/mean")
        estimate = StreamingMoments.from_arrays(_part(arrays, name)).estimate()
        variables |= estimate_variables(name, _dims(name, estimate.value.ndim, ("time",)), estimate)
    if "gaps_histogram/counts" in arrays:
        histogram = StreamingQuantiles.from_arrays(_part(arrays, "gaps_histogram"))
        values = histogram.quantile(np.asarray(quantiles))
        variables["gaps_quantile"] = Variable(("prob", "time", "gap"), values)
        labels["prob"] = np.asarray(quantiles, dtype=np.float64)
        attrs = attrs | {"quantile_relative_error": histogram.relative_error}
    count = int(arrays["ranked/count"])
    failures = [(-1, int(step)) for step in arrays["failed_step"]]
    bound = arrays.get("truncation_bound")
    if "violation_bound" in arrays:
        variables["violation_bound"] = Variable((), np.float64(arrays["violation_bound"]))
    attrs = attrs | {"num_replicas": count}
    return _solution(task, variables, labels, attrs, failures, bound, budget, by_num_ranks)


def _solution(task, variables, labels, attrs, failures, bound, budget, by_num_ranks) -> Solution:
    result = "successful"
    if bound is not None:
        bound = bound[: task.num_ranks]
        variables["truncation_bound"] = Variable(("rank",), bound)
        checked = float(bound[-1] if by_num_ranks else bound[0])
        if checked > budget:
            rank = task.num_ranks if by_num_ranks else 1
            result = (
                f"far edge of a free truncation reached: the {rank} lowest rank(s) are disturbed "
                f"with probability up to {checked:.3g}, above truncation_budget = {budget:.3g}; "
                "raise num_particles, or lower the horizon or num_ranks."
            )
    if "violation_bound" in variables:
        result = (
            _check_violation(task, float(np.mean(variables["violation_bound"].values))) or result
        )
    if failures:
        replica, step = failures[0]
        who = f"replica {replica}" if replica >= 0 else "a replica"
        time = step * float(task.scheme.step)
        result = (
            f"{who} has a position that is not finite after step {step} (t about {time:.6g}); "
            f"{len(failures)} replica(s) failed. Take smaller drifts or positions, or "
            "dtype='float64'."
        )
    return Solution(variables, attrs | {"result": result}, labels)


def _check_violation(task: ChunkTask, violation: float) -> str | None:
    """What is wrong where far particles may have met the drifts of the ends too often, or None."""
    assert isinstance(task.scheme, TwoScaleSplitting)
    budget = task.scheme.violation_budget
    if violation <= budget:
        return None
    return (
        f"near sets too small: the law of a path may differ from that of Splitting by "
        f"{violation:.3g} in total variation, above violation_budget = {budget:.3g}; raise reach "
        f"above {task.scheme.reach:g}, or take a shorter macro_step."
    )


def _dims(name: str, ndim: int, leading: tuple[str, ...]) -> tuple[str, ...]:
    trailing = ndim - len(leading)
    if name in _LAST_DIM:
        return (*leading, _LAST_DIM[name])
    return leading + tuple(f"{name}_{axis}" for axis in range(trailing))
