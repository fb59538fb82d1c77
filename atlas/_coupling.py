"""Coarse runs on the noise of a finer one, for coupled comparisons of step and step / m.

A fine run gives each step its own increment. A coarse step of m fine ones takes their sum, and for
bridges the minimum of their joined paths. Splitting centres its diffusion flows on the grid points;
where a coarse flow ends in the middle of a fine one (m even), that increment is divided by a
Brownian bridge with a normal of its own.
"""

import equinox as eqx
import jax.numpy as jnp
from jax import lax

from ._noise import STREAM_MIDPOINT, Noise

# Loops up to this length are written out: the program is faster, and takes longer to compile.
_WRITTEN_OUT = 8


def _fold(start: int, stop: int, step, value):
    """step(stop - 1, ... step(start, value))."""
    if stop - start > _WRITTEN_OUT:
        return lax.fori_loop(start, stop, step, value)
    for i in range(start, stop):
        value = step(i, value)
    return value


class CoarseNoise(eqx.Module):
    """The noise of a run with `factor` times the step of the run that `fine` belongs to.

    `plan.offset` counts the noise indices of the fine run. All steps must be full ones.
    """

    fine: Noise
    factor: int = eqx.field(static=True)

    def step_normals(self, plan, j):
        """Normalised sum of the increments of the fine steps."""
        start = plan.offset + self.factor * jnp.asarray(j, jnp.uint32)

        def add(i, total):
            return total + self.fine.normals(start + jnp.asarray(i, jnp.uint32))

        total = _fold(1, self.factor, add, self.fine.normals(start))
        return total / jnp.sqrt(jnp.asarray(self.factor, self.fine.dtype))

    def step_pairs(self, plan, j):
        """Normalised increment and the uniform whose bridge minimum is that of the joined paths.

        With (S, I) increment and minimum of the driftless path, U = exp(-2 I (I - S) / variance)
        inverts I = (S - sqrt(S^2 - 2 variance log U)) / 2, and a drift changes nothing in the law
        of the bridge.
        """
        start = plan.offset + self.factor * jnp.asarray(j, jnp.uint32)

        def join(i, path):
            end, lowest = path
            z, uniform = self.fine.pairs(start + jnp.asarray(i, jnp.uint32))
            lowest = jnp.minimum(lowest, end + (z - jnp.sqrt(z**2 - 2 * jnp.log(uniform))) / 2)
            return end + z, lowest

        zero = jnp.zeros_like(self.fine.normals(start))
        end, lowest = _fold(0, self.factor, join, (zero, zero))
        uniform = jnp.exp(-2 * lowest * (lowest - end) / self.factor)
        return end / jnp.sqrt(jnp.asarray(self.factor, self.fine.dtype)), uniform

    def flow_normals(self, plan, j):
        """Normalised increment of flow `j`, which spans (j - 1/2) m ... (j + 1/2) m fine steps.

        The fine flow i spans i - 1/2 ... i + 1/2, cut to 0 ... num_fine at the ends, where it has
        half the variance.
        """
        m = self.factor
        num_fine = m * plan.num_steps
        start = jnp.maximum(j * m - m // 2, 0)
        end = jnp.minimum(j * m + m // 2, num_fine)

        def add(i, total):
            at_end = (i == 0) | (i == num_fine)
            increment = self.fine.normals(plan.offset + i.astype(jnp.uint32))
            scaled = jnp.where(at_end, jnp.sqrt(0.5), 1.0).astype(self.fine.dtype) * increment
            if m % 2 == 1:
                return total + scaled
            # The first one gives its second half, the last one its first.
            is_divided = ((i == start) | (i == end)) & ~at_end
            return lax.cond(
                is_divided,
                lambda: (
                    total + (increment + jnp.where(i == start, 1, -1) * self._bridge(plan, i)) / 2
                ),
                lambda: total + scaled,
            )

        # A loop, so that the sum is stored: else each of its readers would draw it again.
        total = lax.fori_loop(start, end + 1, add, jnp.zeros_like(self.fine.normals(0)))
        length = jnp.where((j == 0) | (j == plan.num_steps), m / 2, m).astype(self.fine.dtype)
        return total / jnp.sqrt(length)

    def _bridge(self, plan, i):
        # A unit increment g is g / 2 + xi / 2 after its middle, and g / 2 - xi / 2 before.
        return self.fine.normals(plan.offset + i.astype(jnp.uint32), STREAM_MIDPOINT)
