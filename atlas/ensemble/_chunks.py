"""The replicas of a run, in chunks."""

from __future__ import annotations

from typing import Any

from ._checks import check_integer

_NUM_INDICES = 2**32
# A list of so many ranges is 1 GB.
_MOST_CHUNKS = 10**7


def plan_chunks(replicas: Any, chunk: int) -> list[range]:
    """Successive ranges of at most `chunk` replica indices.

    Arguments:
        replicas: a number of replicas, or the `range` (step 1) of their indices; replica i is the
            same in any batch, so `range(4, 8)` continues `range(4)`. At least one, and below 2^32,
            because the index is one word of the random numbers' counter.
        chunk: replicas that are simulated together, >= 1.
    Returns: the chunks in order, together `replicas`.
    Raises: ValueError that names the argument.
    """
    size = check_integer("chunk", chunk, 1)
    if not isinstance(replicas, range):
        replicas = range(check_integer("replicas", replicas, 1, _NUM_INDICES))
    if replicas.step != 1:
        raise ValueError(f"replicas must be a range of step 1, got {replicas}: make one call each")
    if len(replicas) == 0 or replicas.start < 0 or replicas.stop > _NUM_INDICES:
        raise ValueError(
            f"replicas must be a non-empty range within [0, {_NUM_INDICES}), got {replicas}"
        )
    if len(replicas) > _MOST_CHUNKS * size:
        raise ValueError(
            f"chunk = {size} divides {len(replicas)} replicas into more than {_MOST_CHUNKS} "
            "chunks: raise it"
        )
    return [replicas[i : i + size] for i in range(0, len(replicas), size)]
