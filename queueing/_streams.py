"""Random streams that belong to a replica, not to a batch."""

from __future__ import annotations

import numpy as np

from atlas.ensemble import Seed

from ._checks import check_integer

INITIAL_STATE = 1
LAW_SAMPLE = 2


def replica_indices(replicas: int | range) -> range:
    """`replicas` as a range of replica indices: R means 0, ..., R-1.

    Raises:
        ValueError: unless it is an int >= 1 or a non-empty range of indices >= 0.
    """
    if isinstance(replicas, range):
        if len(replicas) == 0 or min(replicas) < 0:
            raise ValueError(f"replicas is {replicas!r}; give a non-empty range of indices >= 0")
        return replicas
    remedy = "an int >= 1, or a range of replica indices"
    return range(check_integer("replicas", replicas, minimum=1, remedy=remedy))


def replica_generator(seed: Seed, replica: int, purpose: int) -> np.random.Generator:
    """The generator of one replica for one purpose, the same in whatever batch the replica runs.

    A PCG64 seeded by the SeedSequence of `seed` with spawn key (replica, purpose).
    """
    return np.random.Generator(np.random.PCG64(seed.sequence(replica, purpose)))
