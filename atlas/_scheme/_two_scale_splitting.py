"""Splitting on two scales: fine steps at the ends of the system, one long step in between."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import erfc
from jaxtyping import Array

from .._check import check_positive
from .._drift_flow import atlas_levels, flow_to_levels
from .._near_set import (
    NearSet,
    TwoScaleProblem,
    find_near,
    fold,
    from_rows,
    particle_index,
    row_normals,
    rows_shape,
    to_rows,
)
from .._noise import STREAM_NEAR, STREAM_NORMAL, Noise
from .._problem import Plan, State, atlas_drift
from ._base import NEEDS_ONE_VARIANCE, NEEDS_SYMMETRY, AbstractScheme

# Of so many particles one replica after the other is computed, each vectorised by itself.
MANY_PARTICLES = 4096

# Steps in a macro step are counted in 32 bits.
MAX_FINE_STEPS = 2**30


def _check_macro_step(macro_step) -> float | None:
    remedy = "pass a multiple of step in units of time, or None to have it chosen"
    return None if macro_step is None else check_positive("macro_step", macro_step, remedy)


def _check_reach(reach) -> float:
    return check_positive("reach", reach, "pass standard deviations of a macro step, such as 8")


def _check_budget(budget) -> float:
    return check_positive("violation_budget", budget, "pass an accepted probability")


class TwoScaleState(State):
    """Positions and peaks in rows (replica, 4, row, lane) while a segment is advanced.

    `violation`: (replica,), the bound so far; infinite once the near set had no room.
    """

    violation: Array


class TwoScaleSplitting(AbstractScheme):
    """`Splitting` for very many particles: only those near the ends feel the rank drifts.

    Over a macro step H the particles in the near set

        x_i < min + b H + reach sigma sqrt(H) ,   and mirrored at the top if the highest has a drift
        (and, beside a common drift, x_i < reach sigma sqrt(H) at a floor),

    are stepped by `Splitting`, and every other particle makes one exact step
    |x + drift H + sigma sqrt(H) Z|, drift being what all have in common. With M the largest level
    up to which the drift flow filled the lowest in that macro step, and M' the least to which it
    cut the highest, the law of a path differs in total variation from that of `Splitting` by at
    most

        B = E sum over macro steps and far particles of
            2 PhiBar((x_i - M)^+ / (sigma sqrt H)) + 2 PhiBar((M' - x_i)^+ / (sigma sqrt H)) ,

    PhiBar the normal tail, by the reflection principle. The sum is kept for each replica as
    ``violation_bound`` of the result; its mean over replicas above `violation_budget` is a failure
    of the run. Weak order 3/2 as `Splitting`.

    Arguments: `step` of the near set; `macro_step` H, a multiple of it, or None, which balances the
    two parts' costs; `reach`, 8 keeps the bound below 1e-9 in stationarity; `violation_budget`.
    Solves models with equal variances and symmetric collisions whose drifts are one common value
    apart from the lowest and the highest rank; it shows no regulators and takes no `noise_step`.
    Cost: about 20 ns a particle and macro step, and 20 ns a near particle and step on one core.
    The formulas are our derivation.
    """

    macro_step: float | None = eqx.field(static=True, converter=_check_macro_step, default=None)
    reach: float = eqx.field(static=True, converter=_check_reach, default=8.0)
    violation_budget: float = eqx.field(static=True, converter=_check_budget, default=1e-9)

    def __check_init__(self):
        if self.macro_step is None:
            return
        step = float(self.step)
        ratio = self.macro_step / step
        if ratio > MAX_FINE_STEPS:
            raise ValueError(
                f"macro_step = {self.macro_step} is {ratio:.3g} times step = {step}; pass at most "
                f"{MAX_FINE_STEPS} times, or None to have it chosen."
            )
        count = round(ratio)
        if count < 1 or abs(count * step - self.macro_step) > 1e-9 * self.macro_step:
            raise ValueError(
                f"macro_step = {self.macro_step} must be a multiple of step = {step}; pass "
                f"{max(count, 1) * step}, or None to have it chosen."
            )

    order: ClassVar[float] = 1.5
    has_regulators: ClassVar[bool] = False
    couples_steps: ClassVar[bool] = False

    def refusal(self, model):
        if not model.has_symmetric_collisions:
            return NEEDS_SYMMETRY
        if not model.has_equal_variances:
            return NEEDS_ONE_VARIANCE
        if model.has_names:
            return "particles have drifts of their own; Splitting"
        if atlas_drift(model) is None:
            return "ranks between the lowest and the highest have drifts of their own; Splitting"
        return None

    def num_advances(self, problem: TwoScaleProblem, plan: Plan):
        """Macro steps that cover the steps up to `plan.stop`."""
        return -(-plan.stop // problem.num_fine)

    def begin(self, problem: TwoScaleProblem, noise: Noise, state: TwoScaleState, plan: Plan):
        return _with_layout(state, lambda slots: to_rows(slots, rows_shape(problem.num_particles)))

    def end(self, problem: TwoScaleProblem, noise: Noise, state: TwoScaleState) -> TwoScaleState:
        shape, count = noise.replicas.shape, problem.num_particles
        return _with_layout(state, lambda rows: from_rows(rows, count, shape))

    def advance(self, problem: TwoScaleProblem, noise: Noise, state: TwoScaleState, plan, j):
        """Macro step `j` of the segment, for each replica by itself."""
        macro = _MacroStep.of(problem, noise.key, plan, j)
        arguments = (noise.replicas.reshape(-1), state.positions, state.peaks)
        if problem.num_particles < MANY_PARTICLES:
            positions, peaks, violation = jax.vmap(macro)(*arguments)
        else:
            positions, peaks, violation = lax.map(lambda one: macro(*one), arguments)
        return TwoScaleState(positions, None, peaks, state.violation + violation)

    def describe(self) -> dict:
        """What a result records of the scheme."""
        budget = {"reach": self.reach, "violation_budget": self.violation_budget}
        return super().describe() | {"macro_step": self.macro_step} | budget


def _with_layout(state: TwoScaleState, change) -> TwoScaleState:
    peaks = None if state.peaks is None else change(state.peaks)
    return TwoScaleState(change(state.positions), None, peaks, state.violation)


class _MacroStep(eqx.Module):
    """Steps first ... stop - 1 of a segment, which last `length` altogether."""

    problem: TwoScaleProblem
    key: Array
    plan: Plan
    first: Array
    stop: Array
    length: Array
    draw: Array

    @classmethod
    def of(cls, problem: TwoScaleProblem, key: Array, plan: Plan, j):
        num_fine = problem.num_fine
        first = j * num_fine
        stop = jnp.minimum(first + num_fine, plan.stop)
        length = plan.full * (stop - first)
        length = length + jnp.where(first == 0, plan.first - plan.full, 0)
        ends_last = (stop == plan.num_steps) & (plan.num_steps > 1)
        length = length + jnp.where(ends_last, plan.last - plan.full, 0)
        # The near set draws once more than it has steps.
        draw = plan.offset + (first + j).astype(jnp.uint32)
        return cls(problem, key, plan, first, stop, length, draw)

    def __call__(self, replica, x: Array, peaks: Array | None):
        """Positions and peaks (4, row, lane) after the macro step, and its part of the bound."""
        problem = self.problem
        scale = problem.sigmas[0, 0, 0, 0] * jnp.sqrt(self.length)
        is_particle = particle_index(x.shape) < problem.num_particles
        is_near = self._is_near(x, is_particle, scale)
        index, count = find_near(is_near, problem.capacity)
        shape = rows_shape(problem.capacity)
        near = NearSet.of(problem, count)
        start = x.reshape(-1).at[index].get(mode="fill", fill_value=0).reshape(shape)
        moved, tops, levels = self._step_near(near, replica, start, peaks is not None)
        z = row_normals(self.key, replica, x.shape, self.draw, STREAM_NORMAL)
        far = x + self._common * self.length + scale * z.astype(x.dtype)
        far = jnp.abs(far) if problem.floor else far
        violation = self._violation(x, is_particle & ~is_near, levels, scale)
        violation = jnp.where(count > problem.capacity, jnp.inf, violation)
        if peaks is not None:
            # Far particles are not watched within the step: higher than this none gets.
            margin = problem.reach / 2 * scale
            peaks = jnp.maximum(peaks, jnp.maximum(x, far) + jnp.where(is_near, -jnp.inf, margin))
            before = peaks.reshape(-1).at[index].get(mode="fill", fill_value=0).reshape(shape)
            peaks = _put(peaks, index, jnp.maximum(tops, before))
        return _put(far, index, moved), peaks, violation

    @property
    def _common(self) -> Array:
        assert self.problem.atlas is not None
        return self.problem.atlas.common

    def _is_near(self, x: Array, is_particle: Array, scale) -> Array:
        problem, atlas, length = self.problem, self.problem.atlas, self.length
        assert atlas is not None
        width = problem.reach * scale + jnp.abs(atlas.common) * length
        low, high = -jnp.inf, jnp.inf
        if problem.has_lowest:
            least = jnp.min(jnp.where(is_particle, x, jnp.inf))
            low = least + atlas.lowest * length + width
        if problem.floor:
            low = jnp.where(atlas.common == 0, low, jnp.maximum(low, width))
        if problem.has_highest:
            most = jnp.max(jnp.where(is_particle, x, -jnp.inf))
            high = most - atlas.highest * length - width
        return is_particle & ((x < low) | (x > high))

    def _step_near(self, near: NearSet, replica, x: Array, has_tops: bool):
        """`Splitting` of the near set: positions, the highest of each, and the extreme levels."""
        plan, first, num_steps = self.plan, self.first, self.stop - self.first
        sigma = near.sigmas[0, 0, 0, 0]

        def step(j, carry):
            x, tops, low, high = carry
            # Flow 0 comes before the first step, and flow j after the drift of step j - 1.
            before = jnp.where(j > 0, plan.length(first + j - 1), 0)
            after = jnp.where(j < num_steps, plan.length(first + j), 0)
            levels = atlas_levels(near, x, before)
            low = jnp.where(j > 0, jnp.maximum(low, levels[0]), low)
            high = jnp.where(j > 0, jnp.minimum(high, levels[1]), high)
            draw = self.draw + jnp.asarray(j, jnp.uint32)
            z = row_normals(self.key, replica, x.shape, draw, STREAM_NEAR)
            scale = sigma * jnp.sqrt((before + after) / 2)
            x = flow_to_levels(near, x, before, levels) + scale * z.astype(x.dtype)
            x = jnp.abs(x) if near.floor else x
            return x, None if tops is None else jnp.maximum(tops, x), low, high

        inf = jnp.asarray(jnp.inf, x.dtype)
        start = (x, x if has_tops else None, -inf, inf)
        x, tops, low, high = lax.fori_loop(0, num_steps + 1, step, start)
        if near.floor:
            low = jnp.where(self._common == 0, low, jnp.maximum(low, 0))
        return x, tops, (low, high)

    def _violation(self, x: Array, is_far: Array, levels, scale):
        """Bound on the probability that a far particle meets a level within the macro step."""
        low, high = levels
        drift, root = self._common * self.length, scale * jnp.sqrt(jnp.asarray(2, x.dtype))
        chance = jnp.zeros((), x.dtype)
        if self.problem.has_lowest or self.problem.floor:
            depth = jnp.maximum(x + jnp.minimum(drift, 0) - low, 0)
            chance = chance + erfc(depth / root)
        if self.problem.has_highest:
            depth = jnp.maximum(high - x - jnp.maximum(drift, 0), 0)
            chance = chance + erfc(depth / root)
        return fold(jnp.where(is_far, chance, 0), jnp.add)


def _put(rows: Array, index: Array, values: Array) -> Array:
    flat = rows.reshape(-1).at[index].set(values.reshape(-1), mode="drop")
    return flat.reshape(rows.shape)
