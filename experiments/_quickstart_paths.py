"""Paths to look at: the lowest ranked queues, and the diffusion from the very same start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import atlas
import queueing

from ._diffusion_limit_runs import Simulated
from ._frame import spawn_seed

if TYPE_CHECKING:
    from .quickstart import Settings

NUM_SHOWN = 9


@dataclass(frozen=True)
class Paths:
    """One replica of each.

    Arguments:
        n: number of queues.
        times: (time,).
        queues, particles: lowest ranks over sqrt(n), and of the diffusion, (time, rank).
    """

    n: int
    times: np.ndarray
    queues: np.ndarray
    particles: np.ndarray


def sample_paths(settings: Settings, simulated: Simulated, seed: int) -> Paths:
    """The huge system over the longest time, and particles that start where its queues do."""
    n = settings.huge
    regime = simulated.regime(n)
    times = np.linspace(0.0, settings.times[-1], settings.path_points)
    result = queueing.simulate(
        regime,
        times=times,
        initial="stationary",
        replicas=1,
        seed=seed,
        num_ranks=min(n, settings.num_particles),
        num_levels=1,
    )
    queues = result.lengths_ranked[:, 0] / regime.scaling.length
    particles = atlas.simulate(
        atlas.reflected_atlas(queues.shape[1], settings.a, settings.b),
        simulated.scheme(settings.step),
        times=times,
        initial=queues[0],
        key=spawn_seed(seed, 0),
        num_ranks=min(NUM_SHOWN, queues.shape[1]),
    ).ranked[:, 0]
    return Paths(n, times, queues[:, :NUM_SHOWN], particles)
