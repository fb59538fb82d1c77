"""One chunk of replicas, from the start to the last save time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._coupling import CoarseNoise
from ._delay_model import AnyModel
from ._delay_problem import AnyProblem, AnyState
from ._model import RankDiffusion
from ._noise import Noise
from ._problem import Plan, Problem, State
from ._scheme import AbstractScheme
from ._start import LawStart, PositionStart, SamplerStart
from ._time_grid import Segment
from ._truncation import free_truncation_bound
from .ensemble import jax_settings

# Replicas lie in groups of lanes. XLA vectorises along lanes and divides groups among threads.
_MANY_LANES, _FEW_LANES = 128, 16


@eqx.filter_jit
def _advance(scheme: AbstractScheme, problem, noise, state, plan: Plan) -> AnyState:
    """Steps 0 ... plan.stop - 1 of a segment."""

    def step(j, state):
        return scheme.advance(problem, noise, _watch(state), plan, j)

    state = scheme.begin(problem, noise, state, plan)
    state = _watch(lax.fori_loop(0, scheme.num_advances(problem, plan), step, state))
    return scheme.end(problem, noise, state)


def _watch(state: Any) -> Any:
    if state.peaks is None:
        return state
    peaks = jnp.maximum(state.peaks, state.positions)
    return eqx.tree_at(lambda s: s.peaks, state, peaks)


@eqx.filter_jit
def _snapshot(problem: AnyProblem, state: AnyState, observe: tuple[Callable, ...]):
    """Ranked positions (rank, group, lane), whether they are finite, and the user's observables."""
    ranked = problem.unpack(state.positions)
    finite = jnp.all(jnp.isfinite(ranked), axis=0)
    per_replica = [jax.vmap(jax.vmap(f, in_axes=1), in_axes=1)(ranked) for f in observe]
    # The two maps leave (group and lane) in the order (group, lane, ...).
    return ranked, finite, [jnp.asarray(value) for value in per_replica]


@eqx.filter_jit
def _order(problem: AnyProblem, state: AnyState):
    return problem.order(state.positions)


@dataclass(frozen=True, eq=False)
class ChunkTask:
    """What `simulate` does for one chunk: a function of a range of replica indices.

    Returns arrays by name, with the replicas as second axis: ``ranked``, ``gaps``,
    ``regulators``, ``names_ranked`` (time, replica, ...), the observables, ``failed_step``
    (replica,), the first step after which a position was not finite or -1,
    ``truncation_bound`` (rank,), and ``violation_bound`` (replica,) of a scheme that has one.
    """

    model: AnyModel
    scheme: AbstractScheme
    times: np.ndarray
    segments: tuple[Segment, ...]
    start: LawStart | SamplerStart | PositionStart
    words: tuple[int, int]
    width: int
    num_ranks: int
    observe: tuple[tuple[str, Callable], ...]
    with_regulators: bool
    noise_factor: int
    dtype: np.dtype
    keep: str
    with_names: bool = False

    @property
    def values_per_replica(self) -> int:
        """Numbers that the state of one replica holds."""
        return self.model.num_particles

    def describe(self) -> dict:
        """What a result records of the scheme."""
        return self.scheme.describe()

    @property
    def lanes(self) -> tuple[int, int]:
        """(groups, lanes) that hold `width` replicas."""
        lane = _MANY_LANES if self.width >= 4 * _MANY_LANES else _FEW_LANES
        return -(-self.width // lane), lane

    def __call__(self, replicas: range) -> dict[str, np.ndarray]:
        with jax_settings(x64=self.dtype == np.float64):
            return self._run(np.arange(replicas.start, replicas.stop, dtype=np.uint64))

    def _run(self, replicas: np.ndarray) -> dict[str, np.ndarray]:
        groups, lanes = self.lanes
        # Lanes beyond the last replica repeat it; their results are dropped.
        indices = np.pad(replicas, (0, groups * lanes - len(replicas)), mode="edge")
        ranked = self.start.positions(self.words, indices)
        problem = self._problem()
        noise = self._noise(indices.astype(np.uint32).reshape(groups, lanes))
        scheme = self._compiled_scheme()
        state = self._initial_state(problem, ranked, groups, lanes)
        recorder = _Recorder(self, len(replicas))
        steps = offset = 0
        for segment in self.segments:
            before = state
            plan = self._plan(segment, offset)
            if segment.num_steps:
                state = _advance(scheme, problem, noise, before, plan)
            if not np.all(recorder.record(problem, self._ranked(state))):
                rerun = _Rerun(scheme, problem, noise, before, plan)
                recorder.blame(rerun, steps, segment.num_steps)
            steps += segment.num_steps
            if segment.num_steps:
                offset += self._num_draws(segment.num_steps)
        if state.peaks is not None:
            assert isinstance(problem, Problem)
            recorder.record_truncation(problem, state.peaks, ranked[: len(replicas), -1])
        return recorder.arrays() | self._bounds(state)

    @property
    def _step(self):
        return jnp.asarray(float(self.scheme.step), self.dtype)

    def _compiled_scheme(self) -> AbstractScheme:
        """The scheme with its step as an array, so that another step needs no compilation."""
        return eqx.tree_at(lambda s: s.step, self.scheme, self._step)

    def _num_draws(self, num_steps: int) -> int:
        """Noise indices of a segment; a split one draws once more than it has steps."""
        return self.noise_factor * num_steps + self.scheme.extra_draws

    def _ranked(self, state: AnyState) -> AnyState:
        """The state as a snapshot reads it."""
        return state

    def _bounds(self, state: AnyState) -> dict[str, np.ndarray]:
        """Bounds (replica,) that the state accumulated."""
        return {}

    def _problem(self) -> AnyProblem:
        assert isinstance(self.model, RankDiffusion)
        is_sorted = self.with_regulators or self.scheme.keeps_order
        return Problem.from_model(self.model, self.dtype, is_sorted)

    def _noise(self, indices: np.ndarray):
        fine = Noise(
            key=jnp.asarray(self.words, jnp.uint32),
            replicas=jnp.asarray(indices),
            num_particles=self.model.num_particles,
            dtype=self.dtype,
        )
        return fine if self.noise_factor == 1 else CoarseNoise(fine, self.noise_factor)

    def _initial_state(
        self, problem: AnyProblem, ranked: np.ndarray, groups: int, lanes: int
    ) -> AnyState:
        assert isinstance(problem, Problem)
        columns = jnp.asarray(ranked.T.reshape(-1, groups, lanes), self.dtype)
        regulators = None
        if self.with_regulators:
            regulators = jnp.zeros((self.model.num_gaps, groups, lanes), self.dtype)
        positions = problem.pack(columns)
        infinite = self.model.infinite
        is_free = infinite is not None and infinite.closure == "free"
        return State(positions, regulators, positions if is_free else None)

    def _plan(self, segment: Segment, offset: int) -> Plan:
        as_real = lambda value: jnp.asarray(value, self.dtype)  # noqa: E731
        return Plan(
            first=as_real(segment.first),
            full=as_real(segment.full),
            last=as_real(segment.last),
            num_steps=jnp.asarray(segment.num_steps, jnp.int32),
            stop=jnp.asarray(segment.num_steps, jnp.int32),
            offset=jnp.asarray(offset & 0xFFFFFFFF, jnp.uint32),
        )


@dataclass(frozen=True, eq=False)
class _Rerun:
    """A segment to be run again from its start, to find where it failed."""

    scheme: AbstractScheme
    problem: AnyProblem
    noise: Noise | CoarseNoise
    start: AnyState
    plan: Plan

    def is_finite(self, stop: int) -> np.ndarray:
        """Which replicas, (group, lane), are finite after `stop` steps."""
        plan = eqx.tree_at(lambda p: p.stop, self.plan, jnp.asarray(stop, jnp.int32))
        state = _advance(self.scheme, self.problem, self.noise, self.start, plan)
        return np.asarray(_snapshot(self.problem, state, ())[1])


class _Recorder:
    """Collects the snapshots of a chunk on the host."""

    def __init__(self, task: ChunkTask, num_replicas: int):
        self._task, self._num_replicas = task, num_replicas
        self._saved: dict[str, list[np.ndarray]] = {}
        self._failed_step = np.full(num_replicas, -1, np.int64)
        self._bound: np.ndarray | None = None

    def record(self, problem: AnyProblem, state: AnyState) -> np.ndarray:
        """Save a state; returns which replicas are finite."""
        task = self._task
        functions = tuple(function for _, function in task.observe)
        ranked, finite, observed = _snapshot(problem, state, functions)
        is_finite = np.asarray(finite).reshape(-1)[: self._num_replicas]
        # A replica that failed is NaN throughout: infinities would look like positions.
        ranked = np.where(is_finite[:, None], self._by_replica(ranked[: task.num_ranks]), np.nan)
        self._save("ranked", ranked.astype(task.dtype))
        self._save("gaps", _gaps(ranked, task.model.floor).astype(task.dtype))
        if state.regulators is not None:
            self._save("regulators", self._by_replica(state.regulators))
        if task.with_names:
            names = self._by_replica(_order(problem, state)[: task.num_ranks])
            self._save("names_ranked", names.astype(np.int32))
        for (name, _), value in zip(task.observe, observed, strict=True):
            # The maps put the lanes first, then the groups.
            lanes_first = np.asarray(value)
            by_replica = np.swapaxes(lanes_first, 0, 1).reshape(-1, *lanes_first.shape[2:])
            self._save(name, by_replica[: self._num_replicas])
        return is_finite | (self._failed_step >= 0)

    def blame(self, rerun: "_Rerun", steps_before: int, num_steps: int) -> None:
        """Find, by running the segment again, the first step after which a replica failed."""
        low, high = 0, num_steps
        while low < high:
            middle = (low + high) // 2
            if np.all(self._is_finite(rerun, middle)):
                low = middle + 1
            else:
                high = middle
        failed = ~self._is_finite(rerun, low)
        self._failed_step[failed & (self._failed_step < 0)] = steps_before + low
        # Others may fail later in the segment; they are known to have failed by its end.
        late = ~self._is_finite(rerun, num_steps)
        self._failed_step[late & (self._failed_step < 0)] = steps_before + num_steps

    def record_truncation(self, problem: Problem, peaks, highest_start: np.ndarray) -> None:
        """Bound the disturbance by the particles that a free truncation leaves out."""
        by_rank = self._by_replica(problem.peaks_by_start(peaks)).T
        horizon = float(self._task.times[-1])
        assert isinstance(self._task.model, RankDiffusion)
        self._bound = free_truncation_bound(self._task.model, highest_start, by_rank, horizon)

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything that was saved."""
        arrays = {name: np.stack(values) for name, values in self._saved.items()}
        arrays["failed_step"] = self._failed_step
        if self._bound is not None:
            arrays["truncation_bound"] = self._bound
        return arrays

    def _is_finite(self, rerun: "_Rerun", stop: int) -> np.ndarray:
        finite = rerun.is_finite(stop).reshape(-1)[: self._num_replicas]
        return finite | (self._failed_step >= 0)

    def _save(self, name: str, value: np.ndarray) -> None:
        self._saved.setdefault(name, []).append(value)

    def _by_replica(self, values) -> np.ndarray:
        columns = np.asarray(values)
        return np.ascontiguousarray(columns.reshape(len(columns), -1)[:, : self._num_replicas].T)


def _gaps(ranked: np.ndarray, floor: bool) -> np.ndarray:
    return np.diff(
        ranked, axis=-1, prepend=np.zeros_like(ranked[:, :1]) if floor else ranked[:, :0]
    )
