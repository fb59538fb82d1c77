"""Cost of mean gaps within 1 %, at 128 particles: equal work is equal accuracy.

Each scheme runs at the step at which the largest relative bias of its three lowest mean gaps is
1 % in stationarity, found from a power law fitted to biases that are measured at larger steps,
after 16 units of time with 4 particles (the closure keeps the law of the lowest gaps for every
number of particles, and few particles forget their start soon). Cost is time per particle and unit
of simulated time.

Against: Euler with projection in diffrax, driven by either of its Brownian paths, and the loops
that one would write by hand in JAX, with its default generator, and in NumPy.
"""

import jax
import jax.numpy as jnp
import numpy as np

import atlas

from ._diffrax_peer import MakePath, brownian_tree, diffrax_euler, unsafe_path
from ._harness import Case, Comparison

A, B, NUM_PARTICLES, ACCURACY = 2.0, 1.0, 128, 0.01
HORIZON = 16.0


def step_for_accuracy(model: atlas.RankDiffusion, scheme, steps, replicas: int) -> float:
    """The step at which the fitted bias of the three lowest gaps is `ACCURACY`."""
    rates = atlas.stationary_gaps(model).rates
    biases = []
    for step in steps:
        solution = atlas.simulate(
            model, scheme(step=step), horizon=HORIZON, replicas=replicas, key=1, keep="moments"
        )
        relative = solution.estimate("gaps").value[0] * rates - 1
        biases.append(np.max(np.abs(relative[:3])))
    slope, intercept = np.polyfit(np.log(steps), np.log(biases), 1)
    return float(np.exp((np.log(ACCURACY) - intercept) / slope))


def _drift(positions):
    """Drift B on the lowest and -A on the highest of the particles (leading axis)."""
    index = jnp.arange(NUM_PARTICLES).reshape((-1,) + (1,) * (positions.ndim - 1))
    lowest = index == jnp.argmin(positions, axis=0)
    highest = index == jnp.argmax(positions, axis=0)
    return B * lowest - A * highest


def _start(replicas: int) -> np.ndarray:
    law = atlas.stationary_gaps(atlas.reflected_atlas(NUM_PARTICLES, A, B))
    return law.sample(0, replicas).cumsum(axis=1).astype(np.float32)


def _hand_written_scan(step: float, num_steps: int, replicas: int):
    scale = np.float32(np.sqrt(2 * step))

    @jax.jit
    def scan(start, key):
        def euler(positions, step_key):
            noise = jax.random.normal(step_key, positions.shape)
            moved = positions + _drift(positions) * np.float32(step) + scale * noise
            return jnp.maximum(moved, 0), None

        return jax.lax.scan(euler, start, jax.random.split(key, num_steps))[0]

    start = jnp.asarray(_start(replicas).T)
    return lambda: scan(start, jax.random.key(0)).block_until_ready()


def _numpy_loop(step: float, num_steps: int, replicas: int):
    start, everyone = _start(replicas), np.arange(replicas)
    scale = np.float32(np.sqrt(2 * step))

    def loop():
        generator = np.random.default_rng(0)
        positions = start.copy()
        for _ in range(num_steps):
            lowest, highest = positions.argmin(axis=1), positions.argmax(axis=1)
            positions[everyone, lowest] += np.float32(B * step)
            positions[everyone, highest] -= np.float32(A * step)
            positions += scale * generator.standard_normal(positions.shape, np.float32)
            np.maximum(positions, 0, out=positions)
        return positions

    return loop


def _diffrax_euler(make_path: MakePath, step: float, num_steps: int, replicas: int):
    return diffrax_euler(
        _start(replicas),
        drift=_drift,
        variance=2.0,
        project=lambda positions: jnp.maximum(positions, 0),
        make_path=make_path,
        horizon=HORIZON,
        step=step,
        num_steps=num_steps,
    )


def _cases(quick: bool) -> list[Case]:
    replicas = 40_000 if quick else 200_000
    few = atlas.reflected_atlas(4, A, B)
    fine = step_for_accuracy(few, atlas.ProjectedEuler, [0.04, 0.02, 0.01], replicas // 2)
    coarse = step_for_accuracy(few, atlas.Splitting, [0.2, 0.14, 0.1], 4 * replicas)
    model = atlas.reflected_atlas(NUM_PARTICLES, A, B)
    num_steps = 100
    horizon = num_steps * coarse

    def splitting():
        return atlas.simulate(
            model, atlas.Splitting(step=coarse), horizon=horizon, replicas=2048, key=0, num_ranks=4
        )

    def per_time(name, run, step, steps, batch, **bounds):
        return Case(f"{name}, step {step:.3g}", run, NUM_PARTICLES * batch * steps * step, **bounds)

    scan = _hand_written_scan(fine, 200, 1024)
    by_numpy = _numpy_loop(fine, 50, 1024)
    tree = _diffrax_euler(brownian_tree, fine, 50, 64)
    unsafe = _diffrax_euler(unsafe_path, fine, 50, 64)
    return [
        per_time("atlas.Splitting", splitting, coarse, num_steps, 2048),
        per_time("JAX scan by hand", scan, fine, 200, 1024, at_least=200),
        per_time("NumPy loop by hand", by_numpy, fine, 50, 1024),
        per_time("diffrax Euler, VirtualBrownianTree", tree, fine, 50, 64, at_least=5000),
        per_time("diffrax Euler, UnsafeBrownianPath", unsafe, fine, 50, 64),
    ]


COMPARISON = Comparison(unit="particle and unit of time within 1 %", cases=_cases, rounds=5)
