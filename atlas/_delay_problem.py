"""A delay diffusion in the form that a compiled step reads, and the state that carries its past."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ._delay_model import DelayDiffusion
from ._noise import WORDS, from_slots, num_blocks, to_slots
from ._problem import AtlasDrift, Problem, State, atlas_drift


class DelayState(eqx.Module):
    """Positions, and what the drift has to know of the past.

    `positions`: slots (4, block, group, lane) by name. `history`: (lag, 2, *slots), entry k mod
    lag the drift by rank at both ends of step k of the grid; `latest`: that at the last grid point
    at which a step began; `count`: the number of the step that is next or under way; `fraction`:
    how much of it is done. There are no regulators and no peaks.
    """

    positions: Array
    history: Array
    latest: Array
    count: Array
    fraction: Array
    regulators: None = None
    peaks: None = None


class DelayProblem(eqx.Module):
    """A delay diffusion as arrays: particles by name in slots, drifts by rank.

    `sigmas`, `name_drifts` are by name, in slots (4, block, 1, 1); `drifts` by rank (rank,).
    """

    drifts: Array
    atlas: AtlasDrift | None
    name_drifts: Array
    sigmas: Array
    num_particles: int = eqx.field(static=True)
    floor: bool = eqx.field(static=True)
    lag: int = eqx.field(static=True)

    @classmethod
    def from_model(cls, model: DelayDiffusion, dtype, lag: int) -> "DelayProblem":
        """The arrays of `model` in the precision of the run."""
        form = atlas_drift(model)
        as_array = lambda value: jnp.asarray(value, dtype)  # noqa: E731
        as_slots = lambda value: to_slots(as_array(value)[:, None, None])  # noqa: E731
        return cls(
            drifts=as_array(model.drifts),
            atlas=None if form is None else AtlasDrift(*(as_array(value) for value in form)),
            name_drifts=as_slots(model.name_drifts),
            sigmas=as_slots(np.sqrt(model.variances)),
            num_particles=model.num_particles,
            floor=model.floor,
            lag=lag,
        )

    def begin(self, columns: Array) -> DelayState:
        """The state at time 0 from positions (particle, group, lane), the past equal to them."""
        positions = to_slots(columns)
        drift = self.drift_of(positions)
        return DelayState(
            positions=positions,
            history=jnp.broadcast_to(drift, (self.lag, 2, *drift.shape)),
            latest=drift,
            count=jnp.zeros((), jnp.int32),
            fraction=jnp.zeros((), positions.dtype),
        )

    def unpack(self, positions: Array) -> Array:
        """Slots -> (rank, group, lane) in ascending order."""
        return jnp.sort(from_slots(positions, self.num_particles), axis=0)

    def order(self, positions: Array) -> Array:
        """The particle at each rank, (rank, group, lane)."""
        return jnp.argsort(from_slots(positions, self.num_particles), axis=0)

    def drift_of(self, positions: Array) -> Array:
        """The drift by rank of each particle; tied ones share that of their ranks."""
        if self.atlas is None:
            return self._by_comparison(positions)
        lowest = self._share_of_lowest(positions)
        highest = self._share_of_lowest(-positions)
        return self.atlas.common + self.atlas.lowest * lowest - self.atlas.highest * highest

    def _share_of_lowest(self, positions: Array) -> Array:
        filled = positions
        if self.num_particles % WORDS:
            shape = (WORDS, num_blocks(self.num_particles), 1, 1)
            word, block = (lax.broadcasted_iota(jnp.int32, shape, axis) for axis in (0, 1))
            filled = jnp.where(WORDS * block + word < self.num_particles, positions, jnp.inf)
        is_lowest = (filled == jnp.min(filled, axis=(0, 1))).astype(positions.dtype)
        return is_lowest / jnp.sum(is_lowest, axis=(0, 1))

    def _by_comparison(self, positions: Array) -> Array:
        # Ranks num_below ... num_below + num_tied - 1 belong to the particles at one place.
        columns = from_slots(positions, self.num_particles)
        other = columns[None]
        num_below = jnp.sum(other < columns[:, None], axis=1)
        num_tied = jnp.maximum(jnp.sum(other == columns[:, None], axis=1), 1)
        rank = jnp.arange(self.num_particles)[None, :, None, None]
        is_own = (rank >= num_below[:, None]) & (rank < (num_below + num_tied)[:, None])
        shared = jnp.sum(is_own * self.drifts[None, :, None, None], axis=1) / num_tied
        return to_slots(shared.astype(positions.dtype))


# What a compiled run reads and carries.
AnyProblem = Problem | DelayProblem
AnyState = State | DelayState
