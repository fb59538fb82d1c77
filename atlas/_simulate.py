"""`simulate`: an ensemble of replicas of a rank-based diffusion."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import jax
import numpy as np

from ._check import check_choice, check_count, check_finite, check_flag, check_positive
from ._chunk import ChunkTask
from ._collect import check_output_memory, collect
from ._delay_chunk import DelayChunkTask, values_per_replica
from ._delay_model import AnyModel, DelayDiffusion
from ._delay_scheme import DelayedBridge
from ._exponential_mixture import ExponentialMixture
from ._farthest import farthest_position
from ._law import ProductExponential, stationary_gaps
from ._model import RankDiffusion
from ._scheme import SCHEMES, AbstractScheme, TwoScaleSplitting
from ._solution import Solution
from ._start import prepare_start
from ._time_grid import check_times, plan_segments
from ._two_scale_chunk import MANY_PARTICLES, TwoScaleChunkTask
from .ensemble import ChunkStore, check_path, plan_chunks, provenance, resolve_seed

# Positions of a chunk that stay in the second-level cache of a CPU core, and that fill a GPU.
_CHUNK_SIZE = {"cpu": 2**16, "other": 2**24}

# Rounding of the farthest position that float32 may have, in units of the noise of a step.
_MAX_ROUNDING = 0.01

# Fine steps whose noise a coarse one may merge.
_MOST_MERGED = 2**20

_RESERVED = (
    "ranked",
    "gaps",
    "regulators",
    "names_ranked",
    "truncation_bound",
    "violation_bound",
    "failed_step",
    "gaps_quantile",
    "time",
    "replica",
    "rank",
    "gap",
    "regulator",
    "prob",
)
_OBSERVED = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
_OBSERVED += ("float32", "float64")


def simulate(
    model: RankDiffusion | DelayDiffusion,
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
    dtype="auto",
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

    A `DelayDiffusion` is solved by `DelayedBridge`; its past before time 0 is its start.

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
      dtype: "float32" or "float64", the same noise, to rounding; "auto" takes float32 unless it
        rounds the positions, as far from 0 as they get in the run, by more than 1 % of a step's
        noise.
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
    check_choice("dtype", _dtype_name(dtype), ("auto", "float32", "float64"))
    given_key = _one_of(key, seed)
    drawn = resolve_seed(given_key)
    segments = plan_segments(float(scheme.step), saved, max_steps)
    count = model.num_particles if num_ranks is None else check_count("num_ranks", num_ranks, 1)
    check_count("num_ranks", count, 1, model.num_particles)
    kept = _check_keep(keep, quantiles)
    budget = check_positive("truncation_budget", truncation_budget)
    indices = plan_chunks(replicas, 2**32)[0]
    threads = _threads(num_threads, executor)
    width = _chunk_width(chunk, model, scheme, len(indices), threads, executor)
    start = prepare_start(initial, model, indices, _stationary_law)
    precision = _choose_precision(dtype, start.highest(drawn.words), saved[-1], model, scheme)
    task = _task_class(model, scheme)(
        model=model,
        scheme=scheme,
        times=saved,
        segments=tuple(segments),
        start=start,
        words=drawn.words,
        width=min(width, len(indices)),
        num_ranks=count,
        observe=_check_observe(observe, model.num_particles),
        with_regulators=_check_regulators(regulators, model, scheme),
        noise_factor=_noise_factor(scheme, noise_step, segments, regulators),
        dtype=precision,
        keep=kept,
        with_names=_check_names(names, model, kept),
    )
    check_output_memory(task, len(indices))
    attrs = {
        **model.describe(),
        **task.describe(),
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
    if not isinstance(model, AnyModel):
        raise ValueError(
            f"model = {model!r} is no RankDiffusion or DelayDiffusion; make one, for example with "
            "reflected_atlas."
        )
    if not isinstance(scheme, AbstractScheme):
        known = ", ".join(f"{known.__name__}(step=...)" for known in (*SCHEMES, DelayedBridge))
        raise ValueError(f"scheme = {scheme!r} is no scheme object; pass one of {known}.")
    if isinstance(model, DelayDiffusion):
        if isinstance(scheme, DelayedBridge):
            return
        raise ValueError(
            f"scheme = {type(scheme).__name__} does not know the past, and this model has the "
            f"delay {model.delay}; pass DelayedBridge, or model.without_delay() for delay 0."
        )
    refusal = scheme.refusal(model)
    if refusal is not None:
        raise ValueError(
            f"scheme = {type(scheme).__name__} cannot solve this model: {refusal} can."
        )


def _state_size(model: AnyModel, scheme: AbstractScheme) -> int:
    if isinstance(model, DelayDiffusion):
        return values_per_replica(model.num_particles, model.lag(float(scheme.step)))
    return model.num_particles


def _stationary_law(model: AnyModel) -> ProductExponential | ExponentialMixture:
    if isinstance(model, DelayDiffusion):
        raise ValueError(
            "initial = 'stationary' needs a law in closed form, and none is known with a delay; "
            "pass positions, or a law of gaps such as stationary_gaps(model.without_delay())."
        )
    try:
        return stationary_gaps(model)
    except ValueError as error:
        raise ValueError(
            f"initial = 'stationary' needs a law in closed form: {error} Or pass positions."
        ) from error


def _dtype_name(dtype):
    if isinstance(dtype, str):
        return dtype
    try:
        return np.dtype(dtype).name
    except TypeError as error:
        raise ValueError(
            f"dtype = {dtype!r} is unknown; pass 'auto', 'float32' or 'float64'."
        ) from error


def _choose_precision(
    dtype, highest: float, horizon: float, model: AnyModel, scheme: AbstractScheme
) -> np.dtype:
    name = _dtype_name(dtype)
    farthest = farthest_position(model, highest, float(horizon))
    noise = np.sqrt(np.min(model.variances) * float(scheme.step))
    spacing = farthest * float(np.finfo(np.float32).eps)
    is_coarse = spacing > _MAX_ROUNDING * noise
    if name == "float32" and is_coarse and isinstance(scheme, TwoScaleSplitting):
        raise ValueError(
            f"dtype = 'float32' tells positions near {farthest:.6g} apart by {spacing:.3g}, and "
            f"the noise of a step is {noise:.3g}; pass 'float64' or 'auto'."
        )
    if name == "auto":
        name = "float64" if is_coarse else "float32"
    return np.dtype(name)


def _check_regulators(regulators, model: AnyModel, scheme: AbstractScheme) -> bool:
    if check_flag("regulators", regulators) and not scheme.has_regulators:
        raise ValueError(
            f"regulators = True, but {type(scheme).__name__} does not see every push; pass "
            f"Splitting(step={float(scheme.step)})."
        )
    if check_flag("regulators", regulators) and model.has_names:
        raise ValueError(
            "regulators = True is not there for a model with names, whose particles are not kept "
            "sorted; leave it out."
        )
    return bool(regulators)


def _check_names(names, model: AnyModel, kept: str) -> bool:
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
    if isinstance(quantiles, str) or np.ndim(quantiles) != 1:
        raise ValueError(f"quantiles = {quantiles!r} must be a sequence of probabilities.")
    for prob in quantiles:
        if not 0 <= check_finite("quantiles", prob) <= 1:
            raise ValueError(f"quantiles holds {prob}; probabilities lie in [0, 1].")
    if len(quantiles) and keep == "paths":
        raise ValueError(
            "quantiles are streamed with keep='moments'; with paths take np.quantile of them."
        )
    return "quantiles" if len(quantiles) else keep


def _check_observe(observe, num_particles: int) -> tuple[tuple[str, Callable], ...]:
    if observe is None:
        return ()
    if not isinstance(observe, Mapping):
        raise ValueError(f"observe = {observe!r} must map names to functions of ranked positions.")
    for name, function in observe.items():
        stem, _, number = str(name).rpartition("_")
        is_axis = number.isdecimal() and stem in observe
        is_taken = name in _RESERVED or str(name).endswith(("_std_error", "_dof")) or is_axis
        if not isinstance(name, str) or not name.isidentifier() or is_taken:
            raise ValueError(
                f"observe has the name {name!r}; pass an identifier not in {_RESERVED}, that does "
                "not end in _std_error or _dof, nor is another's with a number."
            )
        if not callable(function):
            raise ValueError(
                f"observe[{name!r}] = {function!r} is no function of ranked positions."
            )
        try:
            value = jax.eval_shape(function, jax.ShapeDtypeStruct((num_particles,), np.float32))
        except (TypeError, IndexError, jax.errors.JAXTypeError) as error:
            raise ValueError(
                f"observe[{name!r}] fails on ranked positions of shape ({num_particles},): "
                f"{str(error).splitlines()[0]} Write it with jax.numpy, without branches on values."
            ) from error
        _check_observed(name, value)
    return tuple(observe.items())


def _check_observed(name: str, value) -> None:
    """Refuse what is not one array of numbers that a result can hold."""
    dtype, size = getattr(value, "dtype", None), getattr(value, "size", 0)
    if str(dtype) not in _OBSERVED or size == 0:
        raise ValueError(
            f"observe[{name!r}] returns {value!r}; return one array, not empty, of bool, integer, "
            "float32 or float64 values: jnp.stack a list or a tuple."
        )


def _threads(num_threads, executor) -> int:
    if executor is not None:
        return check_count("num_threads", 1 if num_threads is None else num_threads)
    if num_threads is None:
        return (os.cpu_count() or 1) if jax.default_backend() == "cpu" else 1
    return check_count("num_threads", num_threads)


def _task_class(model: AnyModel, scheme: AbstractScheme) -> type[ChunkTask]:
    if isinstance(model, DelayDiffusion):
        return DelayChunkTask
    return TwoScaleChunkTask if isinstance(scheme, TwoScaleSplitting) else ChunkTask


def _chunk_width(
    chunk, model: AnyModel, scheme: AbstractScheme, num_replicas: int, threads: int, executor
) -> int:
    if chunk is not None:
        return check_count("chunk", chunk)
    size = _CHUNK_SIZE["cpu" if jax.default_backend() == "cpu" else "other"]
    # On two scales the particles of one replica fill the lanes, otherwise replicas do.
    by_itself = isinstance(scheme, TwoScaleSplitting) and model.num_particles >= MANY_PARTICLES
    fewest = 1 if by_itself else 64
    width = max(size // _state_size(model, scheme), fewest)
    if threads > 1 or executor is not None:
        width = min(width, max(fewest, -(-num_replicas // max(threads, 2))))
    return width


def _noise_factor(scheme: AbstractScheme, noise_step, segments, regulators: bool) -> int:
    if noise_step is None:
        return 1
    step = float(scheme.step)
    fine = check_positive("noise_step", noise_step, "pass the step of the finer run")
    if not scheme.couples_steps:
        raise ValueError(
            f"noise_step = {fine}, but {type(scheme).__name__} has no noise that is common to "
            f"steps of two lengths; pass Splitting(step={step}), or leave noise_step out."
        )
    ratio = step / fine
    if ratio > _MOST_MERGED:
        raise ValueError(
            f"noise_step = {fine} divides the step {step} into {ratio:.3g} parts; pass at least "
            f"step / {_MOST_MERGED} = {step / _MOST_MERGED}."
        )
    factor = round(ratio)
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
    num_draws = factor * sum(s.num_steps + scheme.extra_draws for s in segments)
    if num_draws > 2**32:
        raise ValueError(
            f"noise_step = {fine} takes {num_draws} steps, and noise repeats after 2^32; pass a "
            "longer one, or shorten the run."
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
    return ChunkStore(check_path("store", store), settings)
