"""Counter-based normals and uniforms that belong to (replica, step, particle).

Random numbers are a pure function of the seed's two key words and of the counter
(particle block, replica, step, stream), so replica ``i`` sees the same noise in any batch, and
particle ``i`` the same noise in a system of any size. The generator is Philox4x32-10
[Salmon2011]; one call gives the four words of a block of four particles.

XLA on a CPU computes a fused producer again for each array that it fills, and fills a stacked
array in one vectorised pass. So the four words are stacked along a new leading axis, and arrays
of particles in the hot loop have the shape (4, block, group, lane), called *slots*: particle
``4 j + w`` sits at ``[w, j]`` and the replicas are laid out over groups of lanes.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, UInt32

from .ensemble import philox4x32

WORDS = 4

# The last counter word keeps the independent uses of one seed apart.
STREAM_NORMAL = np.uint32(0)
STREAM_BRIDGE = np.uint32(1)
STREAM_MIDPOINT = np.uint32(2)
STREAM_START = np.uint32(3)
STREAM_MEMORY = np.uint32(4)
STREAM_NEAR = np.uint32(5)

_ANGLE_PER_UNIT = 2 * np.pi * 2.0**-32


def _sin_cos_of_turn(word, dtype):
    """sin and cos of 2 pi word / 2^32: reduction to an eighth of a turn, then Taylor polynomials.

    XLA's own sine and cosine cost more than all the rest of a step on a CPU.
    """
    quadrant = (word + np.uint32(1 << 29)) >> 30
    remainder = lax.bitcast_convert_type(word - (quadrant << 30), jnp.int32)
    angle = remainder.astype(dtype) * np.asarray(_ANGLE_PER_UNIT, dtype)
    square = angle * angle
    num_terms = 5 if dtype == np.float32 else 9
    sine, cosine = jnp.ones_like(angle), jnp.ones_like(angle)
    for k in range(num_terms - 1, 0, -1):
        sine = 1 - square * sine * np.asarray(1 / (2 * k * (2 * k + 1)), dtype)
        cosine = 1 - square * cosine * np.asarray(1 / ((2 * k - 1) * 2 * k), dtype)
    sine = angle * sine
    swap = (quadrant & 1) == 1
    sine, cosine = jnp.where(swap, cosine, sine), jnp.where(swap, sine, cosine)
    sine = jnp.where(quadrant >= 2, -sine, sine)
    cosine = jnp.where((quadrant == 1) | (quadrant == 2), -cosine, cosine)
    return sine, cosine


def _positive_uniform(word, dtype):
    """A uniform on (0, 1]: (word + 1/2) / 2^32; rounding to float32 may reach 1 but never 0."""
    half, unit = np.asarray(0.5, dtype), np.asarray(2.0**-32, dtype)
    return (word.astype(dtype) + half) * unit


def _box_muller(radius_word, angle_word, dtype):
    radius = jnp.sqrt(np.asarray(-2.0, dtype) * jnp.log(_positive_uniform(radius_word, dtype)))
    sine, cosine = _sin_cos_of_turn(angle_word, dtype)
    return radius * cosine, radius * sine


def normals_from(words, dtype):
    """Four standard normals from four uint32 arrays, stacked along a new leading axis."""
    w0, w1, w2, w3 = words
    first, second = _box_muller(w0, w1, dtype), _box_muller(w2, w3, dtype)
    return jnp.stack((*first, *second))


def normal_and_uniform(key, counter, dtype):
    """A standard normal and a uniform on (0, 1] for each counter, from one Philox call."""
    radius, angle, word, _ = philox4x32(key, counter)
    return _box_muller(radius, angle, dtype)[0], _positive_uniform(word, dtype)


def num_blocks(num_particles: int) -> int:
    """Blocks of four that hold `num_particles` particles."""
    return -(-num_particles // WORDS)


def to_slots(particles: Array) -> Array:
    """(particle, group, lane) -> slots; the last block is filled up with zeros."""
    count, *lanes = particles.shape
    blocks = num_blocks(count)
    padded = jnp.pad(particles, ((0, blocks * WORDS - count), (0, 0), (0, 0)))
    return jnp.swapaxes(padded.reshape(blocks, WORDS, *lanes), 0, 1)


def from_slots(slots: Array, num_particles: int) -> Array:
    """Slots -> (particle, group, lane), the inverse of `to_slots`."""
    return jnp.swapaxes(slots, 0, 1).reshape(-1, *slots.shape[2:])[:num_particles]


class Noise(eqx.Module):
    """The noise of a batch of replicas.

    `key`: two uint32 words of the seed; `replicas`: the replicas' indices, shape (group, lane).
    Every draw has the shape of slots, (4, block, group, lane).
    """

    key: UInt32[Array, "2"]
    replicas: UInt32[Array, "group lane"]
    num_particles: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)

    def words(self, index, stream):
        """Four uint32 arrays (block, group, lane) for number `index` of a stream."""
        shape = (num_blocks(self.num_particles), *self.replicas.shape)
        block = lax.broadcasted_iota(jnp.uint32, shape, 0)
        replica = jnp.broadcast_to(self.replicas, shape)
        step = jnp.broadcast_to(jnp.asarray(index, jnp.uint32), shape)
        counter = (block, replica, step, jnp.broadcast_to(stream, shape))
        return philox4x32((self.key[0], self.key[1]), counter)

    def normals(self, index, stream=STREAM_NORMAL) -> Float[Array, "4 block group lane"]:
        """Independent standard normals by the method of Box and Muller; |z| is at most 6.77."""
        return normals_from(self.words(index, stream), self.dtype)

    def uniforms(self, index, stream=STREAM_BRIDGE) -> Float[Array, "4 block group lane"]:
        """Independent uniforms on (0, 1], for the minima of Brownian bridges."""
        return jnp.stack([_positive_uniform(w, self.dtype) for w in self.words(index, stream)])

    def pairs(self, index):
        """`normals` and `uniforms` together.

        XLA vectorises a step that reads one stacked array but not one that reads two, so the two
        travel as real and imaginary part of one.
        """
        w0, w1, w2, w3 = self.words(index, STREAM_NORMAL)
        normals = (*_box_muller(w0, w1, self.dtype), *_box_muller(w2, w3, self.dtype))
        uniforms = [_positive_uniform(w, self.dtype) for w in self.words(index, STREAM_BRIDGE)]
        joined = jnp.stack([lax.complex(z, u) for z, u in zip(normals, uniforms, strict=True)])
        return joined.real, joined.imag

    def step_normals(self, plan, j):
        """Normalised increment of step `j` of a segment."""
        return self.normals(plan.offset + jnp.asarray(j, jnp.uint32))

    def step_pairs(self, plan, j):
        """Normalised increment of step `j` and the uniform that fixes its bridge minimum."""
        return self.pairs(plan.offset + jnp.asarray(j, jnp.uint32))

    def flow_normals(self, plan, j):
        """Normalised increment of the diffusion flow `j` = 0 ... num_steps of a split segment."""
        return self.normals(plan.offset + jnp.asarray(j, jnp.uint32))

    def flow_pairs(self, plan, j):
        """As `step_pairs`, for the diffusion flow `j` of a split segment."""
        return self.pairs(plan.offset + jnp.asarray(j, jnp.uint32))
