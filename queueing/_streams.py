"""Which replicas there are, and what each draws random numbers for besides its run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._checks import check_integer

INITIAL_STATE = 1
LAW_SAMPLE = 2


def replica_indices(replicas: int | range) -> range:
    """`replicas` as a range of replica indices: R means 0, ..., R-1.

    Raises:
        ValueError: unless it is an int >= 1 or a non-empty range of indices >= 0.
    """
    if isinstance(replicas, range):
        # Its length may be more than Python's own `len` can say.
        if not replicas or min(replicas[0], replicas[-1]) < 0 or max(replicas) >= 2**32:
            raise ValueError(
                f"replicas is {replicas!r}; give a non-empty range of indices from 0 to 2^32 - 1"
            )
        return replicas
    remedy = "an int from 1 to 2^32, or a range of replica indices"
    count = check_integer("replicas", replicas, minimum=1, remedy=remedy)
    if count > 2**32:
        raise ValueError(f"replicas is above 2^32; give {remedy}")
    return range(count)


def standard_exponentials(generators: Sequence[np.random.Generator], count: int) -> np.ndarray:
    """(R, count) exponentials of mean 1, a row from each generator."""
    rows = np.empty((len(generators), count))
    for row, generator in zip(rows, generators, strict=True):
        generator.standard_exponential(out=row)
    return rows
