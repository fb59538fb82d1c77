"""Checks of travel times and of where jobs come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_array, check_vector

_SUM_TOLERANCE = 1e-9


def checked_travel_times(travel_times: Any, num_servers: int) -> np.ndarray | None:
    """Travel times as a read-only (origins, K) array, or None.

    Arguments:
        travel_times: None; one time for all; (K,) per station; or (origins, K).
        num_servers: K.
    Raises: ValueError that names the entry and the remedy.
    """
    if travel_times is None:
        return None
    remedy = (
        f"finite times >= 0: one for all, one per station ({num_servers},), or one row per origin "
        f"(origins, {num_servers})"
    )
    times = check_array("travel_times", travel_times, remedy=remedy)
    if times.ndim > 2 or times.size == 0 or (times.ndim > 0 and times.shape[-1] != num_servers):
        raise ValueError(f"travel_times has shape {times.shape}; give {remedy}")
    bad = np.argwhere(~(np.isfinite(times) & (times >= 0.0)))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        place = f"[{', '.join(map(str, where))}]" if where else ""
        raise ValueError(f"travel_times{place} is {times[where]}; give {remedy}")
    times = np.array(np.broadcast_to(times, (*times.shape[:-1], num_servers)))
    times = times.reshape(-1, num_servers)
    # Not -0.0, which would be another number of the same value.
    times += 0.0
    times.flags.writeable = False
    return times


def checked_origin_probs(
    origin_probs: ArrayLike | None, travel_times: np.ndarray | None
) -> np.ndarray | None:
    """The law of a job's origin as a read-only (origins,) array; uniform if None.

    Raises: ValueError without travel times, for another number of origins, or if they do not sum
        to 1.
    """
    if travel_times is None:
        if origin_probs is not None:
            raise ValueError(
                f"origin_probs is {origin_probs!r} without travel_times; give travel_times with "
                "one row per origin, or leave it out"
            )
        return None
    count = len(travel_times)
    remedy = f"one probability >= 0 per row of travel_times ({count}), summing to 1"
    if origin_probs is None:
        probs = np.full(count, 1.0 / count)
        probs.flags.writeable = False
        return probs
    probs = check_vector("origin_probs", origin_probs, remedy=remedy)
    if probs.size != count:
        raise ValueError(f"origin_probs has {probs.size} entries; give {remedy}")
    if abs(probs.sum() - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"origin_probs sums to {probs.sum():.12g}; give {remedy}")
    return probs
