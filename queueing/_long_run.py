"""`long_run`: averages over time and over jobs, with standard errors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from atlas.ensemble import Estimate, Variable

from ._batch_estimates import NUM_BATCHES, Batches, replica_variables, warmup_cuts
from ._checks import check_integer, check_nonnegative, check_positive
from ._engine import choose_engine
from ._ensemble import check_num_ranks, describe, open_store, plan_ensemble, speed_classes
from ._event_budget import bounded
from ._initial import resolve_initial
from ._job_quantiles import grouped_histograms, num_histograms
from ._long_run_task import FLOW, HISTOGRAM, SERIES, WEIGHT, LongRunTask, window_length
from ._observables import CLASS_STATES, JOB_DIMS, STATE_DIMS, check_observe
from ._results import QUANTILE_NAMES, LongRun, UnstableError
from ._sampling_plan import SamplingPlan
from ._simulate import DEFAULT_LEVELS
from ._stability import doubt, instability
from ._subject import Subject, resolve_subject
from ._violation import (
    DEFAULT_BUDGET,
    check_violation_budget,
    refuse_violations,
    violation_results,
)

# Job averages as ratios of sums over jobs.
_RATIOS = {
    "prob_wait": (("waited",), ("accepted",)),
    "prob_loss": (("lost",), ("accepted", "lost")),
    "wait": (("wait",), ("accepted",)),
    "time_to_service": (("travel", "wait"), ("accepted",)),
    "response": (("wait", "service"), ("accepted",)),
    "wait_by_class": (("class_wait",), ("class_accepted",)),
    "response_by_class": (("class_wait", "class_service"), ("class_accepted",)),
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
    by_class: bool = False,
    observe: Mapping[str, Callable[[np.ndarray], Any]] | None = None,
    violation_budget: float = DEFAULT_BUDGET,
    progress: bool | None = None,
    throw: bool = True,
) -> LongRun:
    """Average a system over a long time; no paths, memory that does not grow with the horizon.

    State variables are averaged over time, job variables over accepted jobs.  Errors come from
    replicas and from batch means, pooled: 20 batches per replica, joined to about 20 groups over
    all replicas.

    Arguments:
        system_or_regime, policy, initial, replicas, chunk, num_threads, executor, store, seed, key,
            engine, num_levels, violation_budget, progress: as in `simulate`.
        horizon: the length of each replica in the system's own clock, warm-up included.
        warmup: "mser5", which cuts at most half by the number of jobs (each replica by the mean of
            the others); or the time that is not averaged, below the horizon (0 for none).
        num_ranks: how many of the lowest ranks are kept.
        by_class: whether to average the servers of each service rate apart too, exactly, at one
            more addition per event: `occupancy_by_class` (speed_class, level), and
            `lengths_by_class`, `utilisation_by_class`, `throughput_by_class` (speed_class), all
            per server of the class, the slowest first.  Engines "markov" and "calendar", which
            then has `wait_by_class` and `response_by_class` too.
        observe: the user's observables, name -> function of the ranked lengths (K,), averaged over
            states about every 8 K events; compiled by `numba.njit` they cost about nothing.
        throw: whether to refuse a system whose queues grow for ever, and a run that exceeds its
            violation budget; otherwise the averages are those of this horizon, and
            `attrs["result"]` says so.

    Returns: `LongRun`.

    Warns: where it is not known whether the system is stable: under JIQ and IdleOneFirst at unequal
        service rates, see there.

    Raises: ValueError that names the argument, its value and the remedy;
        `UnstableError` (a ValueError); `ViolationBoundError`; `RunInterrupted` on Ctrl-C.

    Source: batch means [Schmeiser1982]; MSER-5 [White1997].

    Cost: as `simulate`, plus about 4 ns per event ("markov"): time averages of every rank are
    exact.  "leap" averages the states that arrivals by rank find, which see time averages (PASTA).
    """
    subject = resolve_subject(system_or_regime, policy)
    length = check_positive("horizon", horizon, remedy="a finite time > 0, warm-up included")
    cut = _check_warmup(warmup, length)
    chosen = bounded(choose_engine(engine, subject, window_length(length, cut)), subject, length)
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
    open_question = doubt(subject)
    if problem is None and open_question is not None:
        warnings.warn(open_question, stacklevel=2)
    budget = check_violation_budget(violation_budget)
    levels = check_integer("num_levels", num_levels, minimum=1, remedy="an int >= 1")
    functions = check_observe(observe)
    task = LongRunTask(
        subject=subject,
        runner=chosen.configured(
            horizon=length, violation_budget=budget, num_threads=ensemble.threads_per_replica
        ),
        violation_budget=budget,
        plan=SamplingPlan(
            subject.num_servers,
            subject.policy is not None,
            levels,
            subject.streams,
            functions,
            speed_classes(by_class, subject, levels, sees=chosen.sees_classes),
        ),
        initial=resolve_initial(initial, subject, ensemble.indices),
        seed=ensemble.seed,
        warmup=0.0 if cut is None else cut,
        horizon=length,
        mser5=cut is None,
        num_ranks=check_num_ranks(num_ranks, subject.num_servers),
        # A store may be gone on with by a run of any number of replicas.
        num_histograms=num_histograms(1 if store is not None else len(ensemble.indices)),
    )
    task.check_memory(len(ensemble.indices))
    attrs = {
        **describe(subject, ensemble),
        **task.describe(),
        "result": "successful" if problem is None else f"unstable: {problem}",
    }

    def finish(arrays: dict[str, np.ndarray], indices: range) -> LongRun:
        return _make_result(task, arrays, indices, attrs)

    settings = {**attrs, "violation_budget": budget}
    chunks = open_store(store, subject, ensemble, settings, task.initial.fingerprint)
    result = ensemble.run(task, finish, chunks)
    refuse_violations(result, throw)
    return result


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
    bounds, verdict = violation_results(arrays, task.violation_budget)
    cuts = warmup_cuts(series) if task.mser5 else np.zeros(len(indices), np.int64)
    batches = Batches(cuts, weights)
    variables = {name: Variable(("replica",), arrays.pop(name)) for name in FLOW if name in arrays}
    variables.update(bounds)
    length = (task.horizon - task.warmup) / NUM_BATCHES
    variables["warmup_cut"] = Variable(("replica",), task.warmup + length * cuts)
    variables.update(_histogram_variables(arrays, cuts))
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
    attrs = {
        **attrs,
        **verdict,
        "num_groups": batches.num_groups,
        "unavailable": _reasons(task, variables),
        "no_quantiles": _quantile_reasons(task, variables),
    }
    coordinates = {"replica": np.array(indices)}
    if "tied_block_drift" in variables:
        coordinates["bound"] = np.arange(task.subject.num_servers)
    if "wait_by_class" in variables or "occupancy_by_class" in variables:
        coordinates["speed_class"] = np.unique(task.subject.routed[0].service_rates)
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
    if "wait" in sums:
        # Engines without travel do not speak of it.
        sums.setdefault("travel", np.zeros_like(sums["wait"]))
    for name, (above, below) in _RATIOS.items():
        if not all(part in sums for part in (*above, *below)):
            continue
        numerators = np.sum([sums[part] for part in above], axis=0)
        denominators = np.sum([sums[part] for part in below], axis=0)
        if batches.has_any(denominators):
            estimate = batches.ratio(numerators, denominators)
            variables.update(replica_variables(name, JOB_DIMS[name], estimate))
    return variables


def _histogram_variables(arrays: dict[str, np.ndarray], cuts: np.ndarray) -> dict[str, Variable]:
    """Histograms of jobs' times, taken out of `arrays`: of every replica its groups in turn."""
    names = [name for name in arrays if name.startswith(HISTOGRAM)]
    grouped = {name: grouped_histograms(arrays.pop(name), cuts) for name in names}
    return {
        f"{name[len(HISTOGRAM) :]}_histogram": Variable(
            ("group", "bin"), counts.reshape(-1, counts.shape[-1])
        )
        for name, counts in grouped.items()
    }


def _quantile_reasons(task: LongRunTask, variables: dict[str, Variable]) -> dict[str, str]:
    """Why there are no quantiles of a job's times."""
    if task.engine in ("leap", "two_scale", "pauses"):
        return dict.fromkeys(QUANTILE_NAMES, f"engine {task.engine!r} follows no single jobs")
    reasons = _reasons(task, variables)
    return {name: reasons[name] for name in QUANTILE_NAMES if name in reasons}


def _reasons(task: LongRunTask, variables: dict[str, Variable]) -> dict[str, str]:
    """Why known observables are not in the result."""
    reasons = {
        "scaled_gaps": "it needs a regime's unit of length; read gaps",
        "prob_tie": "it needs at least two servers",
        "travelling": "nobody is on the way without travel_times",
        "tied_block_drift": "it needs servers of one rate, no buffer and a policy by ranks",
    }
    if task.subject.policy is None:
        about_jobs = "the system with pauses refuses events instead of routing jobs"
    elif task.subject.routed[0].arrival_rate == 0.0:
        about_jobs = "it averages over jobs and arrival_rate is 0"
    elif task.engine in ("leap", "two_scale"):
        about_jobs = (
            f"engine {task.engine!r} does not see it at unequal service rates; use engine='markov'"
        )
    else:
        about_jobs = "a replica had no accepted job; raise horizon"
    reasons.update(dict.fromkeys([*_RATIOS, "messages_per_job"], about_jobs))
    if about_jobs.startswith("a replica"):
        by_class = (
            "it needs jobs in each class of 2 to 256 service rates > 0 and engine 'markov', or "
            "engine 'calendar' with by_class=True"
        )
        reasons.update({name: by_class for name in _RATIOS if name.endswith("_by_class")})
    if task.engine != "markov":
        reasons["total_at_events"] = f"engine {task.engine!r} does not average over single events"
    reasons.update(dict.fromkeys(["lengths", "utilisation", "throughput"], about_jobs))
    reasons.update(dict.fromkeys(CLASS_STATES, "it needs by_class=True"))
    reasons.update(dict.fromkeys(FLOW, f"engine {task.engine!r} leaps over arrivals uncounted"))
    return {name: reason for name, reason in reasons.items() if name not in variables}


def _dims(task: LongRunTask, name: str, ndim: int) -> tuple[str, ...]:
    if name in task.plan.functions:
        return tuple(f"{name}_{axis}" for axis in range(ndim))
    return STATE_DIMS[name]
