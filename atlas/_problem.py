"""A model in the form that a compiled step reads, and the state that the step carries."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ._delay_model import AnyModel
from ._model import RankDiffusion
from ._noise import WORDS, from_slots, num_blocks, to_slots
from ._ranked_slots import sort_slots


class Plan(eqx.Module):
    """The steps from one save time to the next.

    Full steps of length `full` on the grid k * step; the first and the last may be shorter, where
    a save time is no multiple of the step. `stop` <= `num_steps` cuts the run short, and `offset`
    is the number of noise indices used before.
    """

    first: Float[Array, ""]
    full: Float[Array, ""]
    last: Float[Array, ""]
    num_steps: Array
    stop: Array
    offset: Array

    def length(self, j):
        """Length of step `j`, 0 ... num_steps - 1."""
        inner = jnp.where(j == self.num_steps - 1, self.last, self.full)
        return jnp.where(j == 0, self.first, inner)

    def flow_length(self, j):
        """Length of the diffusion flow `j` = 0 ... num_steps: half of each adjoining step."""
        before = jnp.where(j > 0, self.length(j - 1), 0)
        after = jnp.where(j < self.num_steps, self.length(j), 0)
        return (before + after) / 2


class State(eqx.Module):
    """Positions, and on request the regulators l_k and the highest value of each particle so far.

    `positions`: slots (4, block, group, lane); `regulators`: (regulator, group, lane) or None;
    `peaks`: as `positions`, or None.
    """

    positions: Array
    regulators: Array | None
    peaks: Array | None


class AtlasDrift(eqx.Module):
    """Rank drifts of the form common + lowest 1{rank 1} - highest 1{rank N}, the latter >= 0."""

    common: Array
    lowest: Array
    highest: Array


def atlas_drift(model: AnyModel) -> tuple[float, float, float] | None:
    """(common, lowest, highest) if the drifts have the form of `AtlasDrift`, otherwise None."""
    drifts = model.drifts
    if drifts.size == 1:
        return float(drifts[0]), 0.0, 0.0
    if drifts.size == 2:
        common = float(np.clip(0.0, drifts[1], drifts[0])) if drifts[0] >= drifts[1] else np.nan
    else:
        common = float(drifts[1]) if np.all(drifts[1:-1] == drifts[1]) else np.nan
    lowest, highest = drifts[0] - common, common - drifts[-1]
    if not (lowest >= 0 and highest >= 0):
        return None
    return common, float(lowest), float(highest)


class Collisions(eqx.Module):
    """Shares of the push l_k that parts ranks k-1 and k (k = 0: the floor), in slots.

    `up`: of l_k, by which rank k rises, 1 for the floor; `down`: of l_{k+1}, by which rank k sinks.
    """

    up: Array
    down: Array


class Problem(eqx.Module):
    """A rank-based diffusion as arrays.

    Positions lie in slots (4, block, group, lane) in one of three ways: by name where particles
    have drifts of their own; in ascending order (`is_sorted`), rank 4 j + w at [w, j] and +inf in
    the slots beyond, which rank drifts of a general form, rank variances and regulators need;
    otherwise particles keep their slots, no sorting is done, and drifts have the form of
    `AtlasDrift`. `drifts`, `sigmas` are by rank, in slots (4, block, 1, 1), as `name_drifts` is by
    name.
    """

    drifts: Array
    sigmas: Array
    atlas: AtlasDrift | None
    name_drifts: Array | None
    collisions: Collisions
    num_particles: int = eqx.field(static=True)
    floor: bool = eqx.field(static=True)
    has_equal_variances: bool = eqx.field(static=True)
    has_lowest: bool = eqx.field(static=True)
    has_highest: bool = eqx.field(static=True)
    is_sorted: bool = eqx.field(static=True)

    @classmethod
    def from_model(cls, model: RankDiffusion, dtype, is_sorted: bool):
        """The arrays of `model` in the precision of the run."""
        form = atlas_drift(model)
        needs_order = form is None or not model.has_equal_variances
        as_array = lambda value: jnp.asarray(value, dtype)  # noqa: E731
        as_slots = lambda value: to_slots(as_array(value)[:, None, None])  # noqa: E731
        half = np.full(model.num_particles - 1, 0.5)
        q_minus = half if model.q_minus is None else model.q_minus
        q_plus = half if model.q_plus is None else model.q_plus
        return cls(
            drifts=as_slots(model.drifts),
            sigmas=as_slots(np.sqrt(model.variances)),
            atlas=None if form is None else AtlasDrift(*(as_array(value) for value in form)),
            name_drifts=None if model.name_drifts is None else as_slots(model.name_drifts),
            collisions=Collisions(
                up=as_slots(np.concatenate([[float(model.floor)], q_plus])),
                down=as_slots(np.concatenate([q_minus, [0.0]])),
            ),
            num_particles=model.num_particles,
            floor=model.floor,
            has_equal_variances=model.has_equal_variances,
            has_lowest=form is not None and form[1] > 0,
            has_highest=form is not None and form[2] > 0,
            is_sorted=not model.has_names and (is_sorted or needs_order),
        )

    def least(self, values: Array) -> Array:
        """The minimum over particles of values in the layout of the positions."""
        return jnp.min(values, axis=(0, 1))

    def total(self, values: Array) -> Array:
        """The sum over particles of values in the layout of the positions."""
        return jnp.sum(values, axis=(0, 1))

    def pack(self, columns: Array) -> Array:
        """(rank, group, lane) in ascending order, or by name -> the layout of the positions."""
        slots = to_slots(columns)
        return self.fill_empty_slots(slots, jnp.inf) if self.is_sorted else slots

    def unpack(self, positions: Array) -> Array:
        """The layout of the positions -> (rank, group, lane) in ascending order."""
        by_particle = from_slots(positions, self.num_particles)
        return by_particle if self.is_sorted else jnp.sort(by_particle, axis=0)

    def order(self, positions: Array) -> Array:
        """The particle at each rank, (rank, group, lane), of positions that are not sorted."""
        return jnp.argsort(from_slots(positions, self.num_particles), axis=0)

    def sort(self, positions: Array) -> Array:
        """Positions that are kept sorted, put in order after a flow."""
        return sort_slots(self.fill_empty_slots(positions, jnp.inf))

    def fill_empty_slots(self, positions: Array, value) -> Array:
        """Positions with `value` in the slots that hold no particle, for minima over particles."""
        if self.num_particles % WORDS == 0:
            return positions
        return jnp.where(self._particle_index() < self.num_particles, positions, value)

    def drift_of(self, positions: Array) -> Array:
        """The drift by rank and name of each particle, of the positions that a step starts from."""
        return self.drifts if self.is_sorted else self._drift_of_unsorted(positions, _one_hot)

    def drift_of_predicted(self, predicted: Array) -> Array:
        """As `drift_of`, of positions in any order that were computed within the step."""
        return self._drift_of_unsorted(predicted, _one_hot_by_index)

    def sigma_of(self, positions: Array) -> Array:
        """The standard deviation of each particle, in the layout of the positions."""
        if self.is_sorted:
            return self.sigmas
        if self.has_equal_variances:
            return self.sigmas[0, 0]
        return self._by_rank(self.sigmas, positions)

    def peaks_by_start(self, peaks: Array) -> Array:
        """The highest value that each rank can have reached, (rank, group, lane).

        Rank m stays below the highest of the m particles that started lowest.
        """
        return lax.cummax(from_slots(peaks, self.num_particles), axis=0)

    def _by_rank(self, values: Array, positions: Array) -> Array:
        ranks = jnp.argsort(self.order(positions), axis=0)
        by_rank = from_slots(values, self.num_particles)[:, 0, 0]
        return to_slots(by_rank[ranks])

    def _drift_of_unsorted(self, positions: Array, one_hot) -> Array:
        if self.atlas is None:
            drift = self._by_rank(self.drifts, positions)
        else:
            drift = jnp.broadcast_to(self.atlas.common, positions.shape)
            index = self._particle_index()
            if self.has_lowest:
                filled = self.fill_empty_slots(positions, jnp.inf)
                drift = drift + self.atlas.lowest * one_hot(filled, index)
            if self.has_highest:
                filled = self.fill_empty_slots(-positions, jnp.inf)
                drift = drift - self.atlas.highest * one_hot(filled, index)
        return drift if self.name_drifts is None else drift + self.name_drifts

    def _particle_index(self) -> Array:
        shape = (WORDS, num_blocks(self.num_particles), 1, 1)
        return lax.broadcasted_iota(jnp.int32, shape, 0) + WORDS * lax.broadcasted_iota(
            jnp.int32, shape, 1
        )


def _one_hot(positions: Array, index: Array) -> Array:
    """1 at the lowest particle, 0 elsewhere."""
    # One particle only, also where several are tied at the floor: they are exchangeable.
    value = jnp.min(positions, axis=(0, 1))
    candidates = jnp.where(positions == value, index, index.size)
    lowest = jnp.min(candidates, axis=(0, 1))
    return (index == lowest).astype(positions.dtype)


def _one_hot_by_index(positions: Array, index: Array) -> Array:
    """As `_one_hot`, slower, for positions that are not in memory.

    XLA computes those again wherever they are used, and rounds them in other ways, so no value
    need be equal to the least.
    """
    words, blocks, *lanes = positions.shape
    lowest = jnp.argmin(positions.reshape(words * blocks, *lanes), axis=0)
    return (lowest == (index % WORDS) * blocks + index // WORDS).astype(positions.dtype)
