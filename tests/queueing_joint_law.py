"""Comparing engines with the oracle in the joint law of all ranks, not only in marginals."""

from __future__ import annotations

import numba
import numpy as np
from scipy import stats

import queueing

CAP = 3


def cell_of(ranked: np.ndarray) -> np.ndarray:
    """(...,) number of the cell of ranked lengths (..., K), each cut at CAP."""
    cut = np.minimum(ranked, CAP)
    return cut @ (CAP + 1) ** np.arange(cut.shape[-1])


def indicators(num_servers: int):
    """A compiled observable: 1 in the cell of the state, 0 elsewhere."""
    size = (CAP + 1) ** num_servers

    @numba.njit
    def one_hot(ranked):
        cell, factor = 0, 1
        for length in ranked:
            cell += min(length, CAP) * factor
            factor *= CAP + 1
        values = np.zeros(size)
        values[cell] = 1.0
        return values

    return one_hot


_ONE_HOT = {size: indicators(size) for size in (2, 3)}


def observed_joint_law(system, policy, *, seed, horizon, replicas=48, engine="auto"):
    """(R, cells) time averages of the joint law, one row per independent replica."""
    run = queueing.long_run(
        system,
        policy,
        horizon=horizon,
        warmup=horizon / 100.0,
        replicas=replicas,
        seed=seed,
        engine=engine,
        observe={"joint": _ONE_HOT[system.num_servers]},
        progress=False,
    )
    return run.values("joint")


def exact_joint_law(system, policy, max_length):
    """(cells,) the same by linear algebra."""
    states, probabilities = queueing.exact_stationary(
        system, policy, max_length=max_length
    ).joint_ranked
    size = (CAP + 1) ** system.num_servers
    return np.bincount(cell_of(states), weights=probabilities, minlength=size)


def hotelling_p_value(rows: np.ndarray, law: np.ndarray, least: float = 2e-3) -> float:
    """The probability of a mean so far from `law`, by Hotelling's T^2.

        T^2 = R (mean - law)' S^{-1} (mean - law) ,   (R - p)/(p (R - 1)) T^2 ~ F(p, R - p)

    Rows are replicas, whose time averages are nearly normal. Cells rarer than `least` are put
    together, and one cell is left out because all sum to 1.
    """
    kept = law >= least
    merged = np.column_stack([rows[:, kept], rows[:, ~kept].sum(axis=1)])[:, 1:]
    target = np.append(law[kept], law[~kept].sum())[1:]
    if law[~kept].sum() < least:
        merged, target = merged[:, :-1], target[:-1]
    count, size = merged.shape
    difference = merged.mean(axis=0) - target
    covariance = np.atleast_2d(np.cov(merged, rowvar=False))
    statistic = count * difference @ np.linalg.solve(covariance, difference)
    return float(stats.f.sf((count - size) / (size * (count - 1)) * statistic, size, count - size))
