"""The near set of one replica: the particles at the ends, which are stepped finely.

Particles of one replica lie in rows (4, row, lane), the order of its slots: particle
4 (row num_lanes + lane) + word. XLA on a CPU vectorises along lanes if their number is a constant
and there are several rows, so a system of one replica is folded into rows, too.
"""

from dataclasses import fields
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ._noise import WORDS, from_slots, normals_from, num_blocks, philox4x32
from ._problem import Problem

_MIN_LANES, _MAX_LANES = 16, 128
# Particles of which the near ones are counted together; it divides the particles of a pair of rows.
_GROUP = 64


class TwoScaleProblem(Problem):
    """A rank-based diffusion of which the ends are stepped finely; see `TwoScaleSplitting`.

    `num_fine`: steps in a macro step; `reach`: how far the near set reaches, in standard deviations
    of a macro step; `capacity`: slots for particles that are near, a power of two >= 128.
    """

    num_fine: Array
    reach: Array
    capacity: int = eqx.field(static=True)

    @classmethod
    def of(cls, problem: Problem, num_fine: int, reach: float, capacity: int):
        """`problem`, to be solved on these scales."""
        dtype = problem.sigmas.dtype
        scales: dict[str, Any] = {
            "num_fine": jnp.asarray(num_fine, jnp.int32),
            "reach": jnp.asarray(reach, dtype),
        }
        return cls(**_fields_of(problem), **scales, capacity=capacity)

    def unpack(self, positions: Array) -> Array:
        """Slots -> (rank, group, lane), of positions that were put in order for a snapshot."""
        return from_slots(positions, self.num_particles)


class NearSet(Problem):
    """The near particles of one replica as a problem: the first `count` of `num_particles` slots.

    Reductions halve arrays row by row, which XLA on a CPU vectorises, and in a fixed order.
    """

    count: Array

    @classmethod
    def of(cls, problem: TwoScaleProblem, count: Array):
        """The near set of `problem` that holds `count` particles."""
        values = _fields_of(problem)
        values["num_particles"] = problem.capacity
        return cls(**values, count=count)

    def fill_empty_slots(self, positions: Array, value) -> Array:
        """Positions with `value` in the slots that hold no particle."""
        return jnp.where(slot_index(positions.shape) < self.count, positions, value)

    def least(self, values: Array) -> Array:
        """The minimum over the slots."""
        return fold(values, jnp.minimum)

    def total(self, values: Array) -> Array:
        """The sum over the slots."""
        return fold(values, jnp.add)


def _fields_of(problem: Problem) -> dict[str, Any]:
    return {field.name: getattr(problem, field.name) for field in fields(Problem)}


def rows_shape(num_particles: int) -> tuple[int, int, int]:
    """(4, row, lane) that holds `num_particles`; at least two rows, an even number."""
    lanes = _MIN_LANES
    while lanes < _MAX_LANES and 2 * WORDS * lanes < num_particles:
        lanes *= 2
    pairs = -(-num_blocks(num_particles) // (2 * lanes))
    return WORDS, 2 * pairs, lanes


def to_rows(slots: Array, shape: tuple[int, int, int]) -> Array:
    """Slots (4, block, group, lane) -> (replica, 4, row, lane), zeros behind the last block."""
    words, blocks = slots.shape[:2]
    columns = jnp.moveaxis(slots.reshape(words, blocks, -1), -1, 0)
    padded = jnp.pad(columns, ((0, 0), (0, 0), (0, shape[1] * shape[2] - blocks)))
    return padded.reshape(-1, *shape)


def from_rows(rows: Array, num_particles: int, replicas: tuple[int, ...]) -> Array:
    """The inverse of `to_rows`; `replicas` is (group, lane)."""
    blocks = num_blocks(num_particles)
    columns = rows.reshape(rows.shape[0], WORDS, -1)[:, :, :blocks]
    return jnp.moveaxis(columns, 0, -1).reshape(WORDS, blocks, *replicas)


def slot_index(shape: tuple[int, ...]) -> Array:
    """0, 1, 2, ... in the order of memory."""
    words, rows, lanes = shape
    iota = [lax.broadcasted_iota(jnp.int32, (words, rows, lanes), axis) for axis in range(3)]
    return (iota[0] * rows + iota[1]) * lanes + iota[2]


def particle_index(shape: tuple[int, ...]) -> Array:
    """The particle in each place of rows."""
    _, rows, lanes = shape
    words = lax.broadcasted_iota(jnp.int32, shape, 0)
    return words + WORDS * (slot_index(shape) - words * (rows * lanes))


def row_normals(key: Array, replica: Array, shape: tuple[int, ...], index, stream) -> Array:
    """Standard normals (4, row, lane) that belong to (replica, index, block, stream).

    In float32 whatever the precision of the run, which adds them to positions.
    """
    _, rows, lanes = shape
    block = slot_index((1, rows, lanes))[0].astype(jnp.uint32)
    full = lambda word: jnp.broadcast_to(jnp.asarray(word, jnp.uint32), block.shape)  # noqa: E731
    words = philox4x32((key[0], key[1]), (block, full(replica), full(index), full(stream)))
    return normals_from(words, np.dtype(np.float32))


def fold(values: Array, combine) -> Array:
    """All values (4, row, lane) combined pairwise, in a fixed order; lanes are a power of two."""
    rows = values.reshape(-1, values.shape[-1])
    while len(rows) > 64:
        # Blocks of rows that are next to each other, a few at a time: one pass over memory each.
        size = len(rows) // 8
        parts = [rows[i * size : (i + 1) * size] for i in range(8)]
        rest = rows[8 * size :]
        rows = lax.optimization_barrier(_halve(parts, combine))
        if len(rest):
            rows = jnp.concatenate([rows, rest])
    lanes = lax.optimization_barrier(_halve(list(rows), combine))
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = combine(lanes[:half], lanes[half:])
    return lanes[0]


def _halve(parts: list[Array], combine) -> Array:
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [combine(a, b) for a, b in pairs]
        parts = joined + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def find_near(is_near: Array, capacity: int) -> tuple[Array, Array]:
    """Where the particles of the near set lie, and how many there are.

    Arguments: `is_near`, bool, (4, row, lane). Returns indices (capacity,) into the flat rows,
    ascending, those beyond the last particle out of range; and the number of all, which may exceed
    the capacity. Cost: one pass over the particles, and 64 places for each that is found.
    """
    groups = is_near.reshape(-1, _GROUP)
    counts = jnp.sum(groups, axis=1, dtype=jnp.int32)
    ends = jnp.cumsum(counts)
    wanted = jnp.arange(capacity, dtype=jnp.int32)
    group = jnp.minimum(jnp.searchsorted(ends, wanted, side="right"), len(ends) - 1)
    before = wanted - (ends[group] - counts[group])
    seen = jnp.cumsum(groups[group], axis=1, dtype=jnp.int32)
    place = jnp.sum(seen <= before[:, None], axis=1, dtype=jnp.int32)
    index = group.astype(jnp.int32) * _GROUP + place
    return jnp.where(wanted < ends[-1], index, is_near.size), ends[-1]
