"""The baseline of steps: a normal for each particle and step, and nothing else."""

from collections.abc import Callable

import jax
import jax.numpy as jnp


def noise_alone(num_particles: int, num_replicas: int, num_steps: int) -> Callable[[], jax.Array]:
    """A run that draws (particle, replica) normals, philox4x32, in each step of a scan."""
    key = jax.random.key(0, impl="philox4x32")
    shape = (num_particles, num_replicas)

    @jax.jit
    def scan(start):
        def draw(_, step_key):
            return jax.random.normal(step_key, shape), None

        return jax.lax.scan(draw, start, jax.random.split(key, num_steps))[0]

    start = jnp.zeros(shape)
    return lambda: scan(start).block_until_ready()
