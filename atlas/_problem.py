"""A model in the form that a compiled step reads, and the state that the step carries."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ._model import RankDiffusion
from ._noise import WORDS, from_slots, num_blocks, to_slots


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

    `positions`: slots (4, block, group, lane), or (rank, group, lane) where ranks are kept sorted;
    `regulators`: (regulator, group, lane) or None; `peaks`: as `positions`, or None.
    """

    positions: Array
    regulators: Array | None
    peaks: Array | None


class AtlasDrift(eqx.Module):
    """Rank drifts of the form common + lowest 1{rank 1} - highest 1{rank N}, the latter >= 0."""

    common: Array
    lowest: Array
    highest: Array


def atlas_drift(model: RankDiffusion) -> tuple[float, float, float] | None:
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


class Problem(eqx.Module):
    """A rank-based diffusion as arrays.

    `is_sorted`: whether positions are kept in ascending order after every flow, which rank
    drifts of a general form, rank variances and regulators need; otherwise particles keep their
    slots, no sorting is done, and drifts have the form of `AtlasDrift`.
    """

    drifts: Float[Array, " rank"]
    sigmas: Float[Array, " rank"]
    atlas: AtlasDrift | None
    num_particles: int = eqx.field(static=True)
    floor: bool = eqx.field(static=True)
    has_lowest: bool = eqx.field(static=True)
    has_highest: bool = eqx.field(static=True)
    is_sorted: bool = eqx.field(static=True)

    @classmethod
    def from_model(cls, model: RankDiffusion, dtype, is_sorted: bool):
        """The arrays of `model` in the precision of the run."""
        form = atlas_drift(model)
        is_sorted = is_sorted or form is None or not model.has_equal_variances
        as_array = lambda value: jnp.asarray(value, dtype)  # noqa: E731
        return cls(
            drifts=as_array(model.drifts),
            sigmas=as_array(np.sqrt(model.variances)),
            atlas=None if form is None else AtlasDrift(*(as_array(value) for value in form)),
            num_particles=model.num_particles,
            floor=model.floor,
            has_lowest=form is not None and form[1] > 0,
            has_highest=form is not None and form[2] > 0,
            is_sorted=is_sorted,
        )

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes of the particles in the layout of the positions."""
        return (0,) if self.is_sorted else (0, 1)

    def pack(self, ranked: Array) -> Array:
        """(rank, group, lane) in ascending order -> the layout of the positions."""
        return ranked if self.is_sorted else to_slots(ranked)

    def unpack(self, positions: Array) -> Array:
        """The layout of the positions -> (rank, group, lane) in ascending order."""
        if self.is_sorted:
            return positions
        return jnp.sort(from_slots(positions, self.num_particles), axis=0)

    def arrange(self, draws: Array) -> Array:
        """Noise in slots -> the layout of the positions."""
        return from_slots(draws, self.num_particles) if self.is_sorted else draws

    def fill_empty_slots(self, positions: Array, value) -> Array:
        """Positions with `value` in the slots that hold no particle, for minima over particles."""
        if self.is_sorted or self.num_particles % WORDS == 0:
            return positions
        return jnp.where(self._particle_index() < self.num_particles, positions, value)

    def rank_drifts(self, positions: Array) -> Array:
        """The drift of each particle by its rank, in the layout of the positions."""
        if self.is_sorted:
            return self.drifts[:, None, None]
        assert self.atlas is not None
        index = self._particle_index()
        drift = jnp.broadcast_to(self.atlas.common, positions.shape)
        if self.has_lowest:
            filled = self.fill_empty_slots(positions, jnp.inf)
            drift = drift + self.atlas.lowest * self._one_hot(filled, index, jnp.min)
        if self.has_highest:
            filled = self.fill_empty_slots(positions, -jnp.inf)
            drift = drift - self.atlas.highest * self._one_hot(filled, index, jnp.max)
        return drift

    def peaks_by_start(self, peaks: Array) -> Array:
        """The highest value that each rank can have reached, (rank, group, lane).

        Rank m stays below the highest of the m particles that started lowest.
        """
        by_start = peaks if self.is_sorted else from_slots(peaks, self.num_particles)
        return lax.cummax(by_start, axis=0)

    def rank_sigmas(self) -> Array:
        """The standard deviation of each particle, in the layout of the positions."""
        return self.sigmas[:, None, None] if self.is_sorted else self.sigmas[0]

    def _one_hot(self, positions: Array, index: Array, extreme) -> Array:
        # One particle only, also where several are tied at the floor: they are exchangeable.
        value = extreme(positions, axis=self.axes)
        candidates = jnp.where(positions == value, index, self.num_particles)
        return (index == jnp.min(candidates, axis=self.axes)).astype(positions.dtype)

    def _particle_index(self) -> Array:
        shape = (WORDS, num_blocks(self.num_particles), 1, 1)
        return lax.broadcasted_iota(jnp.int32, shape, 0) + WORDS * lax.broadcasted_iota(
            jnp.int32, shape, 1
        )
