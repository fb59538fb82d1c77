"""Brownian increments for diffrax that stay right at large times, and a guard for others.

diffrax 0.7 keys the noise of `UnsafeBrownianPath` by the ends of the step in float32, even where
time is float64, and looks up `VirtualBrownianTree` at a fraction of its range in float32 (diffrax
issue 733). Where float32 cannot tell the ends of a step apart, increments repeat or vanish.
"""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ._check import check_count, check_finite, check_positive

# Spacings of a float that a step has to span, so that its length is right within 6 %.
_MIN_SPACINGS = 16

_REMEDY = (
    "start at t0 = 0 or nearer to it, take longer steps, or pass atlas.BrownianSteps with "
    "jax_enable_x64 switched on"
)
_MESSAGE = (
    "the time step is too short for the precision in which the Brownian path sees time, so its "
    f"increments would repeat or vanish (diffrax issue 733); {_REMEDY}."
)


class BrownianSteps(diffrax.AbstractBrownianPath):
    """Independent Brownian increments with space-time Levy area, keyed by the number of the step.

    W ~ N(0, h) and H ~ N(0, h/12), independent, for every interval between points of the grid
    t0 + i step / 2. Increments of an interval and of its halves are not those of one path, so this
    serves solvers of constant steps. Arguments: `num_particles`; `t0` and `step` as passed to
    `diffeqsolve`; `key`, a typed JAX key; `dtype` of the increments. Right at any time that the
    precision of time resolves; after 2^31 steps increments come again.
    """

    shape: jax.ShapeDtypeStruct = eqx.field(static=True)
    levy_area: type = eqx.field(static=True)
    origin: float = eqx.field(static=True)
    length: float = eqx.field(static=True)
    key: jax.Array

    def __init__(self, num_particles: int, t0: float, step: float, key: jax.Array, dtype=None):
        count = check_count("num_particles", num_particles)
        precision = _check_dtype(dtype)
        self.shape = jax.ShapeDtypeStruct((count,), precision)
        self.levy_area = diffrax.SpaceTimeLevyArea
        self.origin, self.length = check_finite("t0", t0), check_positive("step", step)
        self.key = key

    @property
    def t0(self):
        return -jnp.inf

    @property
    def t1(self):
        return jnp.inf

    def evaluate(self, t0, t1=None, left=True, use_levy=False):
        """The increment from t0 to t1; both must be given."""
        del left
        if t1 is None:
            raise ValueError("BrownianSteps knows increments only; pass t0 and t1.")
        key = jax.random.fold_in(self._fold_in(t0), 0)
        keys = jax.random.split(jax.random.fold_in(key, self._half_steps(t1 - t0)))
        dtype, shape = self.shape.dtype, self.shape.shape
        length = jnp.asarray(t1 - t0, dtype)
        increment = jnp.sqrt(length) * jax.random.normal(keys[0], shape, dtype)
        area = jnp.sqrt(length / 12) * jax.random.normal(keys[1], shape, dtype)
        if use_levy:
            return diffrax.SpaceTimeLevyArea(dt=length, W=increment, H=area)
        return increment

    def _fold_in(self, time):
        return jax.random.fold_in(self.key, self._half_steps(time - self.origin))

    def _half_steps(self, duration):
        # An end that is cut short by the end of the solve counts as the half step it lies in.
        count = jnp.round(2 * duration / self.length)
        return jnp.mod(count, 2.0**32).astype(jnp.uint32)


def _check_dtype(dtype) -> np.dtype:
    if dtype is None:
        return jnp.result_type(float)
    known = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64)}
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if isinstance(dtype, type) and issubclass(dtype, np.floating):
        name = np.dtype(dtype).name
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"dtype = {dtype!r} is unknown; pass 'float32', 'float64' or None.")
    return known[name]


class GuardedPath(diffrax.AbstractPath):
    """A Brownian path that fails loudly where it would give wrong increments."""

    path: diffrax.AbstractBrownianPath

    @property
    def t0(self):
        return self.path.t0

    @property
    def t1(self):
        return self.path.t1

    def evaluate(self, t0, t1=None, left=True, use_levy=False):
        """The path's own increment, if float32 resolves the step; else a runtime error."""
        if t1 is not None:
            t1 = eqx.error_if(t1, t1 - t0 < self._shortest_step(t0, t1), _MESSAGE)
        return self.path.evaluate(t0, t1, left, use_levy)

    def _shortest_step(self, t0, t1):
        latest = jnp.maximum(jnp.abs(t0), jnp.abs(t1))
        single = jnp.finfo(jnp.float32).eps
        shortest = jnp.finfo(jnp.result_type(t1)).eps * latest
        if isinstance(self.path, diffrax.VirtualBrownianTree):
            # The tree sees the fraction of its range in the precision of its values.
            leaves = [leaf.dtype for leaf in jax.tree.leaves(self.path.shape)]
            eps = max(float(jnp.finfo(dtype).eps) for dtype in leaves)
            shortest = jnp.maximum(shortest, eps * (self.path.t1 - self.path.t0))
        elif not isinstance(self.path, BrownianSteps):
            shortest = jnp.maximum(shortest, single * latest)
        return _MIN_SPACINGS * shortest
