"""Means of long runs with exact identities of the chain as control variates.

In stationarity four drifts vanish whatever the number of servers K: those of the total S, of the
sum of squares, of S^2, and of the jobs above each rank. A run of finite length is off each of them
by about as much as it is off its own means, so their averages, whose means are 0, tell most of the
error of the others: what is left of the variance is a fifth (gaps) to a hundredth (total).
"""

from __future__ import annotations

import numpy as np

import queueing
from atlas.ensemble import Estimate

# A column that varies less than this, relative to its own size, is rounding.
_CONSTANT = 1e-9


def identity_controls(
    run: queueing.LongRun, streams: queueing.RankStreams, total_times_idle: np.ndarray
) -> np.ndarray:
    r"""Averages of each replica whose exact means are 0.

        (mu - lambda) S - K lambda - beta - sum_k beta_k Q_(k)      sum of squares
        (K mu - Lambda) S - Lambda - mu S I                          S^2, any policy
        mu I - (K mu - Lambda)                                       S
        drift of the jobs above rank k, k = 1 ... K-1                ties included

    Arguments:
        run: a long run with all ranks.
        streams: lambda, beta_k and mu as theory has them; Lambda = K lambda + beta.
        total_times_idle: time average of S I, I the number of idle servers, (replica,).

    Returns:
        Shape (replica, control). Source: our derivation, see `queueing.second_moment_identity`.
    """
    mu, uniform, by_rank = streams.service_rate, streams.uniform_rate, streams.rank_rates
    count = streams.num_servers
    arrivals = count * uniform + by_rank.sum()
    total, ranked = run.values("total"), run.values("lengths_ranked")
    squares = (mu - uniform) * total - arrivals - ranked @ by_rank
    square_of_total = (count * mu - arrivals) * total - arrivals - mu * total_times_idle
    idle = mu * run.values("idle_servers") - (count * mu - arrivals)
    drifts = run.values("tied_block_drift")[:, 1:]
    return np.column_stack([squares, square_of_total, idle, drifts])


def regressed_mean(samples: np.ndarray, controls: np.ndarray) -> Estimate:
    """The mean of samples where the controls are 0, by linear regression.

        y = a + sum_j b_j c_j + e ,   the estimate of a, Student with R - m - 1 degrees of freedom

    Arguments:
        samples: y of independent replicas, shape (replica, ...).
        controls: c, shape (replica, m), of mean 0; columns that do not vary are left out.

    Returns:
        An `Estimate` without the axis of replicas.
    """
    samples = np.asarray(samples, float)
    spread = controls.std(axis=0)
    varies = spread > _CONSTANT * np.abs(controls).max(axis=0)
    design = np.column_stack([np.ones(len(samples)), controls[:, varies] / spread[varies]])
    flat = samples.reshape(len(samples), -1)
    inverse = np.linalg.pinv(design)
    residuals = flat - design @ (inverse @ flat)
    dof = len(samples) - design.shape[1]
    variance = np.square(residuals).sum(axis=0) / dof * np.square(inverse[0]).sum()
    shape = samples.shape[1:]
    return Estimate(
        (inverse[0] @ flat).reshape(shape), np.sqrt(variance).reshape(shape), float(dof)
    )
