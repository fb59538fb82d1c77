"""Ranks, ranked positions and gaps."""

import numpy as np

from ._delay_model import AnyModel


def rank(positions, axis: int = -1) -> np.ndarray:
    """The rank of each particle, 0 for the lowest: the inverse of the sorting permutation.

    (`argsort` is that permutation itself, not the rank: ``rank([2., 3., 1.])`` is [1, 2, 0].)
    Arguments: `positions`, any shape; `axis`, that of the particles. Ties are ranked by index.
    Returns integers of the same shape. Cost: one sort.
    """
    order = np.argsort(np.asarray(positions), axis=axis, kind="stable")
    ranks = np.empty_like(order)
    indices = np.arange(order.shape[axis])
    shape = [1] * order.ndim
    shape[axis] = -1
    np.put_along_axis(ranks, order, np.broadcast_to(indices.reshape(shape), order.shape), axis)
    return ranks


def gaps_of(ranked, floor: bool = True) -> np.ndarray:
    """Gaps of ranked positions, along the last axis.

    With a floor gaps[0] = ranked[0] and gaps[k] = ranked[k] - ranked[k-1]: N of them. Without,
    gaps[k] = ranked[k+1] - ranked[k]: N - 1 of them.
    """
    ranked = np.asarray(ranked)
    if not floor:
        return np.diff(ranked, axis=-1)
    return np.diff(ranked, axis=-1, prepend=np.zeros((), ranked.dtype))


def ranked_from_gaps(gaps, floor: bool = True) -> np.ndarray:
    """Ranked positions from gaps along the last axis; without a floor the lowest is at zero."""
    gaps = np.asarray(gaps)
    if not floor:
        gaps = np.concatenate([np.zeros_like(gaps[..., :1]), gaps], axis=-1)
        if gaps.shape[-1] == 0:
            gaps = np.zeros((*gaps.shape[:-1], 1), gaps.dtype)
    return np.cumsum(gaps, axis=-1)


def check_ranked(name: str, positions: np.ndarray, model: AnyModel) -> None:
    """Refuse positions that are not finite, not ascending, or below the floor."""
    _check_finite(name, positions)
    if np.any(np.diff(positions, axis=-1) < 0):
        where = tuple(int(i) for i in np.argwhere(np.diff(positions, axis=-1) < 0)[0])
        raise ValueError(
            f"{name} is not ascending at index {where}: {positions[where]} is followed by a lower "
            "value; pass np.sort(positions, axis=-1)."
        )
    _check_floor(name, positions, model)


def check_positions(
    name: str, positions: np.ndarray, model: AnyModel, replicas: np.ndarray | None = None
) -> None:
    """Refuse positions, in any order, that are not finite or below the floor."""
    _check_finite(name, positions, replicas)
    _check_floor(name, positions, model)


def _check_finite(name: str, positions: np.ndarray, replicas: np.ndarray | None = None) -> None:
    if np.all(np.isfinite(positions)):
        return
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(positions))[0])
    at = "every replica"
    if len(where) == 2:
        at = f"replica {where[0] if replicas is None else int(replicas[where[0]])}"
    raise ValueError(
        f"{name} is {positions[where]} at rank {where[-1]} of {at}, step 0; every particle "
        "needs a finite start."
    )


def _check_floor(name: str, positions: np.ndarray, model: AnyModel) -> None:
    if model.floor and np.any(positions < 0):
        where = tuple(int(i) for i in np.argwhere(positions < 0)[0])
        raise ValueError(
            f"{name} is {positions[where]} at index {where}, below the floor 0; shift the start "
            "or use a model without a floor."
        )
