"""One chunk of replicas on two scales: how large the macro step and the near sets have to be."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._chunk import ChunkTask
from ._delay_problem import AnyProblem, AnyState
from ._law import stationary_gaps
from ._model import RankDiffusion
from ._near_set import TwoScaleProblem
from ._noise import from_slots, to_slots
from ._problem import Problem, State, atlas_drift
from ._ranking import ranked_from_gaps
from ._scheme import Splitting, TwoScaleSplitting
from ._scheme._two_scale_splitting import MANY_PARTICLES, TwoScaleState

_MIN_CAPACITY = 128
_MAX_FINE = 4096

# Nanoseconds, as measured on one core; only their ratios matter.
_PER_FAR = 20.0
_PER_NEAR, _PER_STEP = 15.0, 1e4
_PER_PARTICLE = 5.0


@dataclass(frozen=True, eq=False)
class TwoScaleChunkTask(ChunkTask):
    """As `ChunkTask`, for `TwoScaleSplitting`.

    Near sets have a fixed number of slots. Each replica gets twice as many as before, from the
    beginning, until its own near set has always had room, whatever the others need, so that its
    numbers do not depend on the batch. Where two scales would cost more than one and the macro step
    was not given, all particles are near. `capacity`: the slots, or 0 to find them.
    """

    capacity: int = 0

    @property
    def lanes(self) -> tuple[int, int]:
        """Each replica by itself: particles lie along lanes."""
        return self.width, 1

    @cached_property
    def num_fine(self) -> int:
        """Steps in a macro step, 0 where all particles are near all the time."""
        step, macro_step = float(self.scheme.step), self._two_scale.macro_step
        if macro_step is not None:
            return max(1, round(macro_step / step))
        return _balanced_num_fine(self._model, step, self._two_scale.reach)

    def describe(self) -> dict:
        """What a result records of the scheme."""
        macro_step = self.num_fine * float(self.scheme.step)
        return super().describe() | {"macro_step": macro_step if self.num_fine else None}

    @property
    def _two_scale(self) -> TwoScaleSplitting:
        assert isinstance(self.scheme, TwoScaleSplitting)
        return self.scheme

    @property
    def _model(self) -> RankDiffusion:
        assert isinstance(self.model, RankDiffusion)
        return self.model

    def _run(self, replicas: np.ndarray) -> dict[str, np.ndarray]:
        if self.capacity:
            return super()._run(replicas)
        if self.num_fine == 0:
            return self._one_scale()._run(replicas) | {"violation_bound": np.zeros(len(replicas))}
        ranked = self.start.positions(self.words, replicas)
        length = self.num_fine * float(self.scheme.step)
        counts = count_near(self._model, ranked, length, self._two_scale.reach)
        wanted = np.array([_capacity(count, self.model.num_particles) for count in counts])
        together = 1 if self.model.num_particles >= MANY_PARTICLES else len(replicas)
        parts = []
        for capacity in np.unique(wanted):
            rows = np.flatnonzero(wanted == capacity)
            for batch in np.array_split(rows, -(-rows.size // together)):
                parts += self._with_room(replicas, ranked, batch, int(capacity))
        return _join(parts, len(replicas))

    def _one_scale(self) -> ChunkTask:
        shared = {field.name: getattr(self, field.name) for field in fields(ChunkTask)}
        shared["scheme"] = Splitting(step=float(self.scheme.step))
        return ChunkTask(**shared)

    def _with_room(
        self, replicas: np.ndarray, ranked: np.ndarray, rows: np.ndarray, capacity: int
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        """Results of the given rows, in parts, each at the first capacity that is enough."""
        while rows.size:
            # Batches of few different sizes, because each is compiled.
            width = 1 << (rows.size - 1).bit_length()
            padded = np.pad(rows, (0, width - rows.size), mode="edge")
            start = _KnownStart(ranked[padded])
            task = replace(self, capacity=capacity, width=width, start=start)
            part = _take(task._run(replicas[padded]), np.arange(rows.size))
            # What is not finite is said as a failure, not cured by room.
            has_room = np.isfinite(part["violation_bound"]) | (part["failed_step"] >= 0)
            yield rows[has_room], _take(part, has_room)
            rows, capacity = rows[~has_room], 2 * capacity

    def _problem(self) -> TwoScaleProblem:
        problem = Problem.from_model(self._model, self.dtype, is_sorted=False)
        return TwoScaleProblem.of(problem, self.num_fine, self._two_scale.reach, self.capacity)

    def _compiled_scheme(self) -> TwoScaleSplitting:
        # Without what the problem holds already, so that other values need no other compilation.
        return eqx.tree_at(lambda s: s.step, TwoScaleSplitting(step=1.0), self._step)

    def _initial_state(
        self, problem: AnyProblem, ranked: np.ndarray, groups: int, lanes: int
    ) -> TwoScaleState:
        state = super()._initial_state(problem, ranked, groups, lanes)
        assert isinstance(state, State)
        violation = jnp.zeros(groups * lanes, self.dtype)
        return TwoScaleState(state.positions, None, state.peaks, violation)

    def _num_draws(self, num_steps: int) -> int:
        """The near set draws once more in each macro step."""
        return num_steps + num_steps // self.num_fine + 1

    def _ranked(self, state: AnyState) -> AnyState:
        # NumPy sorts many particles ten times faster than XLA does on a CPU.
        columns = from_slots(state.positions, self.model.num_particles)
        is_on_cpu = jax.default_backend() == "cpu"
        ranked = np.sort(np.asarray(columns), axis=0) if is_on_cpu else jnp.sort(columns, axis=0)
        return eqx.tree_at(lambda s: s.positions, state, to_slots(jnp.asarray(ranked)))

    def _bounds(self, state: AnyState) -> dict[str, np.ndarray]:
        assert isinstance(state, TwoScaleState)
        return {"violation_bound": np.asarray(state.violation, np.float64)}


class _KnownStart:
    """Positions that were drawn before."""

    def __init__(self, ranked: np.ndarray):
        self._ranked = ranked

    def positions(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        return self._ranked


def count_near(model: RankDiffusion, ranked: np.ndarray, length: float, reach: float):
    """How many particles are near over a macro step of that length, for each row of positions.

    Arguments: `ranked`, ascending, (replica, rank). Returns (replica,).
    """
    form = atlas_drift(model)
    assert form is not None
    common, lowest, highest = form
    width = reach * np.sqrt(model.variances[0] * length) + abs(common) * length
    low = np.full(len(ranked), -np.inf)
    high = np.full(len(ranked), np.inf)
    if lowest > 0:
        low = ranked[:, 0] + lowest * length + width
    if model.floor and common != 0:
        low = np.maximum(low, width)
    if highest > 0:
        high = ranked[:, -1] - highest * length - width
    return np.sum((ranked < low[:, None]) | (ranked > high[:, None]), axis=1)


def _capacity(count: int, num_particles: int) -> int:
    """Slots for a near set that holds `count` particles at first: a power of two."""
    wanted = min(1.3 * count + 6 * np.sqrt(count) + 8, num_particles)
    return max(_MIN_CAPACITY, 1 << int(np.ceil(np.log2(wanted))))


def _balanced_num_fine(model: RankDiffusion, step: float, reach: float) -> int:
    """Steps in a macro step for which a unit of time costs least: a power of two, or 0 for one
    scale."""
    try:
        means = stationary_gaps(model).mean
    except ValueError:
        # Nothing is known of the law; of many particles a few hundred steps are never far off.
        return 256 if model.num_particles >= MANY_PARTICLES else 0
    typical = ranked_from_gaps(means, model.floor)[None]

    def cost(num_fine: int) -> float:
        length = num_fine * step
        count = int(count_near(model, typical, length, reach)[0])
        near = _PER_STEP + _PER_NEAR * _capacity(count, model.num_particles)
        return _PER_FAR * model.num_particles / length + near / step

    best = min((1 << k for k in range(_MAX_FINE.bit_length())), key=cost)
    return best if cost(best) < _PER_PARTICLE * model.num_particles / step else 0


def _take(part: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, np.ndarray]:
    return {
        name: values if name == "truncation_bound" else values[_by_replica(name, rows)]
        for name, values in part.items()
    }


def _by_replica(name: str, rows: np.ndarray) -> tuple:
    """The index of rows along the axis of the replicas."""
    return (rows,) if name in ("failed_step", "violation_bound") else (slice(None), rows)


def _join(parts: list[tuple[np.ndarray, dict[str, np.ndarray]]], count: int):
    """The arrays of all replicas in their order."""
    joined: dict[str, np.ndarray] = {}
    for rows, part in parts:
        for name, values in part.items():
            if name == "truncation_bound":
                joined[name] = joined.get(name, 0.0) + values * (rows.size / count)
                continue
            if name not in joined:
                shape = list(values.shape)
                shape[len(_by_replica(name, rows)) - 1] = count
                joined[name] = np.empty(shape, values.dtype)
            joined[name][_by_replica(name, rows)] = values
    return joined
