"""`simulate`: an ensemble of replicas of a rank-based diffusion."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import jax
import numpy as np

from ._check import check_choice, check_count, check_finite, check_flag, check_positive
from ._chunk import ChunkTask
from ._collect import check_output_memory, collect
from ._exponential_mixture import ExponentialMixture
from ._law import ProductExponential, stationary_gaps
from ._model import RankDiffusion
from ._scheme import SCHEMES, AbstractScheme
from ._solution import Solution
from ._start import prepare_start
from ._time_grid import check_times, plan_segments
from .ensemble import ChunkStore, plan_chunks, provenance, resolve_seed

# Positions of a chunk that stay in the second-level cache of a CPU core, and that fill a GPU.
_CHUNK_SIZE = {"cpu": 2**16, "other": 2**24}

_RESERVED = ("ranked", "gaps", "regulators", "names_ranked", "truncation_bound", "failed_step")


def simulate(
    model: RankDiffusion,
    scheme: AbstractScheme,
    *,
    times: Sequence[float] | np.ndarray | None = None,
    horizon: float | None = None,
    initial: str
    | ProductExponential
    | ExponentialMixture
    | Callable
    | Sequence
    | np.ndarray = "stationary",
    replicas: int | range = 1,
    key=None,
    seed=None,
    num_ranks: int | None = None,
    observe: Mapping[str, Callable] | None = None,
    regulators: bool = False,
    names: bool = False,
    keep: str = "paths",
    quantiles: Sequence[float] = (),
    noise_step: float | None = None,
    dtype="float32",
    chunk: int | None = None,
    num_threads: int | None = None,
    executor: Executor | None = None,
    store: str | os.PathLike | None = None,
    progress: bool | None = None,
    throw: bool = True,
    truncation_budget: float = 1e-3,
    max_steps: int = 10_000_000,
) -> Solution:
    """Simulate replicas of a rank-based diffusion and save their ranked states.

    Steps lie at k * scheme.step exactly; a save time in between gets shortened steps at its sides.
    Noise belongs to (seed, replica, step, particle), so a replica is the same in any batch, chunk
    or number of threads.

    Arguments:
      model, scheme: what to solve, and how.
      times: ascending save times >= 0, repeated ones allowed; or `horizon`, to save the last state.
      initial: "stationary" (the model's own law of gaps), "empty" (all at the floor), a
        `ProductExponential` or `ExponentialMixture` of gaps, ascending positions (N,) or
        (replica, N), by name in any order where the model has name drifts, or any density: a
        function sampler(key) -> positions (N,) in any order, written with jax.numpy and
        jax.random, that gets a key of its own for each replica.
      replicas: their number, or a `range` of their indices.
      key or seed: an int, a typed JAX key, or None, which draws one and stores it.
      num_ranks: how many of the lowest ranks are saved; None: all.
      observe: functions, by name, of one replica's ranked positions (N,), written with jax.numpy.
      regulators: whether to accumulate the regulators; particles are then kept sorted, so the path
        is another one.
      names: whether to save which particle has each rank, for a model with name drifts.
      keep: "paths", or "moments" to keep means and errors over replicas only, in memory that does
        not grow with the replicas; with `quantiles` also those of the gaps, within 1 %.
      noise_step: step of a finer run whose merged noise is used, `scheme.step` being a multiple.
      dtype: "float32" or "float64"; the same noise, to rounding.
      chunk: replicas computed at a time; None chooses. num_threads: chunks at a time; None: as
        many as there are cores. executor: any `concurrent.futures.Executor` instead of threads.
      store: folder in which finished chunks are kept, so that the same call after an interruption
        goes on from there.
      progress: True or False for a bar; None: on a terminal, after two seconds.
      throw: whether a numerical failure raises `SimulationError`; otherwise see `Solution.result`.
      truncation_budget: accepted probability that a particle left out by the closure "free" would
        have disturbed the saved ranks (of the lowest alone where `num_ranks` is None).
      max_steps: refuse a run of more steps.

    Returns a `Solution`. Raises ValueError for bad arguments, `SimulationError` for a numerical
    failure, `SimulationInterrupted` for Ctrl-C, with the finished replicas. Cost: one noise and
    one drift flow per particle and step, about 3 ns on two cores for `Splitting`.
    """
    _check_model_and_scheme(model, scheme)
    saved = check_times(times, horizon)
    precision = _check_dtype(dtype)
    given_key = _one_of(key, seed)
    drawn = resolve_seed(given_key)
    segments = plan_segments(float(scheme.step), saved, max_steps)
    count = model.num_particles if num_ranks is None else check_count("num_ranks", num_ranks, 1)
    check_count("num_ranks", count, 1, model.num_particles)
    kept = _check_keep(keep, quantiles)
    budget = check_positive("truncation_budget", truncation_budget)
    indices = plan_chunks(replicas, 2**32)[0]
    if chunk is not None:
        check_count("chunk", chunk)
    threads = _threads(num_threads, executor)
    width = chunk or _chunk_width(model.num_particles, len(indices), threads, executor)
    start = prepare_start(initial, model, indices, _stationary_law)
    task = ChunkTask(
        model=model,
        scheme=scheme,
        times=saved,
        segments=tuple(segments),
        start=start,
        words=drawn.words,
        width=min(width, len(indices)),
        num_ranks=count,
        observe=_check_observe(observe),
        with_regulators=_check_regulators(regulators, model),
        noise_factor=_noise_factor(scheme, noise_step, segments, regulators),
        dtype=precision,
        keep=kept,
        with_names=_check_names(names, model, kept),
    )
    check_output_memory(task, len(indices))
    attrs = {
        **model.describe(),
        **scheme.describe(),
        "initial": start.describe(),
        "replicas_start": indices.start,
        "dtype": precision.name,
        "noise_step": None if noise_step is None else float(noise_step),
        "regulators_kept": bool(regulators),
        "names_kept": bool(names),
        "num_ranks": count,
        **drawn.to_attrs(),
        **provenance(),
    }
    return collect(
        task,
        plan_chunks(indices, width),
        attrs,
        quantiles=tuple(quantiles),
        budget=budget,
        by_num_ranks=num_ranks is not None,
        throw=check_flag("throw", throw),
        num_threads=threads,
        executor=executor,
        store=_open_store(store, attrs, saved, kept, task, given_key),
        progress=progress,
    )


def _check_model_and_scheme(model, scheme) -> None:
    if not isinstance(model, RankDiffusion):
        raise ValueError(
            f"model = {model!r} is no RankDiffusion; make one, for example with reflected_atlas."
        )
    if not isinstance(scheme, AbstractScheme):
        known = ", ".join(f"{known.__name__}(step=...)" for known in SCHEMES)
        raise ValueError(f"scheme = {scheme!r} is no scheme object; pass one of {known}.")
    refusal = scheme.refusal(model)
    if refusal is not None:
        raise ValueError(
            f"scheme = {type(scheme).__name__} cannot solve this model: {refusal} can."
        )


def _stationary_law(model: RankDiffusion) -> ProductExponential | ExponentialMixture:
    try:
        return stationary_gaps(model)
    except ValueError as error:
        raise ValueError(
            f"initial = 'stationary' needs a law in closed form: {error} Or pass positions."
        ) from error


def _check_dtype(dtype) -> np.dtype:
    try:
        precision = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"dtype = {dtype!r} is unknown; pass 'float32' or 'float64'.") from error
    check_choice("dtype", precision.name, ("float32", "float64"))
    return precision


def _check_regulators(regulators, model: RankDiffusion) -> bool:
    if check_flag("regulators", regulators) and model.has_names:
        raise ValueError(
            "regulators = True is not there for a model with name drifts, whose particles are not "
            "kept sorted; leave it out."
        )
    return bool(regulators)


def _check_names(names, model: RankDiffusion, kept: str) -> bool:
    if not check_flag("names", names):
        return False
    if not model.has_names:
        raise ValueError(
            "names = True, but the particles of this model are exchangeable and not told apart; "
            "give it name_drifts."
        )
    if kept != "paths":
        raise ValueError("names = True needs keep='paths'; names have no mean.")
    return True


def _one_of(key, seed):
    if key is not None and seed is not None:
        raise ValueError(
            f"key = {key!r} and seed = {seed!r}: pass one of them; they mean the same."
        )
    return seed if key is None else key


def _check_keep(keep, quantiles) -> str:
    check_choice("keep", keep, ("paths", "moments"))
    for prob in quantiles:
        if not 0 <= check_finite("quantiles", prob) <= 1:
            raise ValueError(f"quantiles holds {prob}; probabilities lie in [0, 1].")
    if len(quantiles) and keep == "paths":
        raise ValueError(
            "quantiles are streamed with keep='moments'; with paths take np.quantile of them."
        )
    return "quantiles" if len(quantiles) else keep


def _check_observe(observe) -> tuple[tuple[str, Callable], ...]:
    if observe is None:
        return ()
    if not isinstance(observe, Mapping):
        raise ValueError(f"observe = {observe!r} must map names to functions of ranked positions.")
    for name, function in observe.items():
        if not isinstance(name, str) or not name.isidentifier() or name in _RESERVED:
            raise ValueError(
                f"observe has the name {name!r}; pass an identifier not in {_RESERVED}."
            )
        if not callable(function):
            raise ValueError(
                f"observe[{name!r}] = {function!r} is no function of ranked positions."
            )
    return tuple(observe.items())


def _threads(num_threads, executor) -> int:
    if executor is not None:
        return check_count("num_threads", 1 if num_threads is None else num_threads)
    if num_threads is None:
        return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1
    return check_count("num_threads", num_threads)


def _chunk_width(num_particles: int, num_replicas: int, threads: int, executor) -> int:
    size = _CHUNK_SIZE["cpu" if jax.default_backend() == "cpu" else "other"]
    width = max(size // num_particles, 64)
    if threads > 1 or executor is not None:
        width = min(width, max(64, -(-num_replicas // max(threads, 2))))
    return width


def _noise_factor(scheme: AbstractScheme, noise_step, segments, regulators: bool) -> int:
    if noise_step is None:
        return 1
    step = float(scheme.step)
    fine = check_positive("noise_step", noise_step, "pass the step of the finer run")
    factor = round(step / fine)
    if factor < 1 or abs(factor * fine - step) > 1e-9 * step:
        raise ValueError(
            f"noise_step = {fine} must divide the step {step}; pass step / m for a whole m."
        )
    if any(s.num_steps and (s.first != step or s.last != step) for s in segments):
        raise ValueError(
            f"noise_step = {fine} couples full steps only; take save times that are multiples of "
            f"the step {step}."
        )
    if regulators and factor > 1 and scheme.extra_draws:
        raise ValueError(
            f"noise_step = {fine} with regulators is not defined for {type(scheme).__name__}, "
            "whose flows end inside fine ones; take BridgeEuler, or no regulators."
        )
    return factor


def _open_store(store, attrs: dict, times: np.ndarray, kept: str, task: ChunkTask, given_key):
    if store is None:
        return None
    if given_key is None:
        raise ValueError(
            "store needs a key or a seed that is given, so that the same call can find its chunks."
        )
    if task.observe:
        raise ValueError(
            "store cannot tell one observe function from another; save positions and observe them "
            "afterwards."
        )
    settings = {**attrs, "times": times.tolist(), "keep": kept, "start": task.start.fingerprint()}
    return ChunkStore(store, settings)
