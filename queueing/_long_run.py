"""`long_run`: averages over time and over jobs, with standard errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from atlas.ensemble import Estimate, Variable

from ._batch_estimates import NUM_BATCHES, Batches, replica_variables, warmup_cuts
from ._checks import check_integer, check_nonnegative, check_positive
from ._engine import ENGINES, choose_engine
from ._ensemble import check_num_ranks, describe, open_store, plan_ensemble
from ._initial import resolve_initial
from ._long_run_task import FLOW, SERIES, WEIGHT, LongRunTask
from ._observables import STATE_DIMS, check_observe
from ._results import LongRun, UnstableError
from ._sampling_plan import SamplingPlan
from ._simulate import DEFAULT_LEVELS
from ._stability import instability
from ._subject import Subject, resolve_subject

# Job averages as ratios of sums over jobs.
_RATIOS = {
    "prob_wait": (("waited",), ("accepted",)),
    "prob_loss": (("lost",), ("accepted", "lost")),
    "wait": (("wait",), ("accepted",)),
    "time_to_service": (("wait",), ("accepted",)),
    "response": (("wait", "service"), ("accepted",)),
    "total_at_events": (("total_at_events",), ("events",)),
}


def long_run(
    system_or_regime: Any,
    policy: Any = None,
    *,
    horizon: float,
    warmup: str | float = "mser5",
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
    observe: Mapping[str, Callable[[np.ndarray], Any]] | None = None,
    progress: bool | None = None,
    throw: bool = True,
) -> LongRun:
    """Average a system over a long time; no paths, memory that does not grow with the horizon.

    State variables are averaged over time, job variables over accepted jobs.  Errors come from
    replicas and from batch means, pooled: 20 batches per replica, joined to about 20 groups over
    all replicas.

    Arguments:
        system_or_regime, policy, initial, replicas, chunk, num_threads, executor, store, seed, key,
            engine, num_levels, progress: as in `simulate`.
        horizon: the length of each replica in the system's own clock, warm-up included.
        warmup: "mser5", which cuts at most half by the number of jobs (each replica by the mean of
            the others); or the time that is not averaged, below the horizon (0 for none).
        num_ranks: how many of the lowest ranks are kept.
        observe: the user's observables, name -> function of the ranked lengths (K,), averaged over
            states about every 8 K events; compiled by `numba.njit` they cost about nothing.
        throw: whether to refuse a system whose queues grow for ever; otherwise the averages are
            those of this horizon, and `attrs["result"]` says so.

    Returns: `LongRun`.

    Raises: ValueError that names the argument, its value and the remedy;
        `UnstableError` (a ValueError); `RunInterrupted` on Ctrl-C.

    Source: batch means [Schmeiser1982]; MSER-5 [White1997].

    Cost: as `simulate`, plus about 4 ns per event ("markov"): time averages of every rank are
    exact.  "leap" averages the states that arrivals by rank find, which see time averages (PASTA).
    """
    subject = resolve_subject(system_or_regime, policy)
    chosen = choose_engine(engine, subject)
    length = check_positive("horizon", horizon, remedy="a finite time > 0, warm-up included")
    cut = _check_warmup(warmup, length)
    ensemble = plan_ensemble(
        replicas=replicas,
        chunk=chunk,
        num_threads=num_threads,
        executor=executor,
        seed=seed,
        key=key,
        progress=progress,
    )
    problem = instability(subject)
    if not isinstance(throw, bool):
        raise ValueError(f"throw is {throw!r}; give True or False")
    if problem is not None and throw:
        raise UnstableError(f"{problem}; or pass throw=False to average over this horizon")
    levels = check_integer("num_levels", num_levels, minimum=1, remedy="an int >= 1")
    functions = check_observe(observe)
    task = LongRunTask(
        subject=subject,
        engine=chosen.name,
        plan=SamplingPlan(
            subject.num_servers,
            subject.policy is not None,
            levels,
            subject.streams,
            functions,
        ),
        initial=resolve_initial(initial, subject, ensemble.indices),
        seed=ensemble.seed,
        warmup=0.0 if cut is None else cut,
        horizon=length,
        mser5=cut is None,
        num_ranks=check_num_ranks(num_ranks, subject.num_servers),
    )
    ENGINES[chosen.name].check_windows(subject, task.window)
    task.check_memory(len(ensemble.indices))
    attrs = {
        **describe(subject, ensemble),
        "engine": chosen.name,
        "initial": task.initial.description,
        "horizon": length,
        "warmup": "mser5" if cut is None else cut,
        "num_ranks": task.num_ranks,
        "num_levels": levels,
        "observe": sorted(functions),
        "result": "successful" if problem is None else f"unstable: {problem}",
    }

    def finish(arrays: dict[str, np.ndarray], indices: range) -> LongRun:
        return _make_result(task, arrays, indices, attrs)

    return ensemble.run(task, finish, open_store(store, ensemble, attrs, task.initial.fingerprint))


def _check_warmup(warmup: Any, horizon: float) -> float | None:
    """The time to leave out, None for "mser5"."""
    remedy = f"'mser5', or a time >= 0 below the horizon {horizon:.6g}"
    if isinstance(warmup, str):
        if warmup != "mser5":
            raise ValueError(f"warmup is {warmup!r}; give {remedy}")
        return None
    cut = check_nonnegative("warmup", warmup, remedy=remedy)
    if cut >= horizon:
        raise ValueError(f"warmup is {warmup!r}; give {remedy}")
    return cut


def _make_result(
    task: LongRunTask, arrays: dict[str, np.ndarray], indices: range, attrs: dict[str, Any]
) -> LongRun:
    """The result of all replicas: warm-up cut, values and errors per replica, exact counts."""
    series, weights = arrays.pop(SERIES), arrays.pop(WEIGHT)
    cuts = warmup_cuts(series) if task.mser5 else np.zeros(len(indices), np.int64)
    batches = Batches(cuts, weights)
    variables = {name: Variable(("replica",), arrays.pop(name)) for name in FLOW if name in arrays}
    length = (task.horizon - task.warmup) / NUM_BATCHES
    variables["warmup_cut"] = Variable(("replica",), task.warmup + length * cuts)
    sums = {name[4:]: arrays.pop(name) for name in list(arrays) if name.startswith("sum_")}
    for name, values in arrays.items():
        dims = _dims(task, name, values.ndim - 2)
        estimate = batches.mean(values)
        variables.update(replica_variables(name, dims, estimate))
        if name == "gaps" and task.subject.scaling is not None:
            scale = task.subject.scaling.length
            scaled = Estimate(estimate.value / scale, estimate.std_error / scale, estimate.dof)
            variables.update(replica_variables("scaled_gaps", dims, scaled))
    variables.update(_job_variables(task.subject, sums, batches))
    unavailable = _reasons(task, variables)
    attrs = {**attrs, "num_groups": batches.num_groups, "unavailable": unavailable}
    coordinates = {"replica": np.array(indices)}
    if "tied_block_drift" in variables:
        coordinates["bound"] = np.arange(task.subject.num_servers)
    return LongRun(variables, attrs, coordinates)


def _job_variables(
    subject: Subject, sums: dict[str, np.ndarray], batches: Batches
) -> dict[str, Variable]:
    """Averages over jobs, where there were any."""
    variables = {}
    if subject.policy is not None:
        system, policy = subject.routed
        messages = np.float64(policy.messages_per_job(system))
        variables["messages_per_job"] = Variable((), messages)
        variables["messages_per_job_std_error"] = Variable((), np.float64(0.0))
        variables["messages_per_job_dof"] = Variable((), np.float64(np.inf))
    for name, (above, below) in _RATIOS.items():
        if not all(part in sums for part in (*above, *below)):
            continue
        numerators = np.sum([sums[part] for part in above], axis=0)
        denominators = np.sum([sums[part] for part in below], axis=0)
        if batches.has_any(denominators):
            estimate = batches.ratio(numerators, denominators)
            variables.update(replica_variables(name, (), estimate))
    return variables


def _reasons(task: LongRunTask, variables: dict[str, Variable]) -> dict[str, str]:
    """Why known observables are not in the result."""
    reasons = {
        "scaled_gaps": "it needs a regime's unit of length; read gaps",
        "prob_tie": "it needs at least two servers",
        "tied_block_drift": "it needs servers of one rate, no buffer and a policy by ranks",
    }
    if task.subject.policy is None:
        about_jobs = "the system with pauses refuses events instead of routing jobs"
    elif task.subject.routed[0].arrival_rate == 0.0:
        about_jobs = "it averages over jobs and arrival_rate is 0"
    elif task.engine == "leap":
        about_jobs = "engine 'leap' does not see it at unequal service rates; use engine='markov'"
    else:
        about_jobs = "a replica had no accepted job; raise horizon"
    reasons.update(dict.fromkeys([*_RATIOS, "messages_per_job"], about_jobs))
    if task.engine != "markov":
        reasons["total_at_events"] = f"engine {task.engine!r} does not average over single events"
    reasons.update(dict.fromkeys(["lengths", "utilisation", "throughput"], about_jobs))
    reasons.update(dict.fromkeys(FLOW, f"engine {task.engine!r} leaps over arrivals uncounted"))
    return {name: reason for name, reason in reasons.items() if name not in variables}


def _dims(task: LongRunTask, name: str, ndim: int) -> tuple[str, ...]:
    if name in task.plan.functions:
        return tuple(f"{name}_{axis}" for axis in range(ndim))
    return STATE_DIMS[name]
