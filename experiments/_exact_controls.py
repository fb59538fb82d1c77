"""Means of long runs with exact identities of the chain as control variates.

In stationarity these drifts vanish whatever the number of servers K: those of the total S, of
S^2, and of the jobs above each rank. A run of finite length is off each of them by about as much as
it is off its own means, so their averages, whose means are 0, tell much of the error of the others.
The drift of the sum of squares is left out: it takes the routing for granted, and with it the mean
total would be that of the rule in question whatever jobs do.
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

        (K mu - Lambda) S - Lambda - mu S I                          S^2, any policy
        mu I - (K mu - Lambda)                                       S
        drift of the jobs above rank k, k = 1 ... K-1                ties included

    Arguments:
        run: a long run with all ranks.
        streams: their total Lambda and mu are used, which do not depend on the rule.
        total_times_idle: time average of S I, I the number of idle servers, (replica,).

    Returns:
        Shape (replica, control). Source: our derivation, see `queueing.tied_block_drift`.
    """
    mu, count = streams.service_rate, streams.num_servers
    arrivals = count * streams.uniform_rate + streams.rank_rates.sum()
    total = run.values("total")
    square_of_total = (count * mu - arrivals) * total - arrivals - mu * total_times_idle
    idle = mu * run.values("idle_servers") - (count * mu - arrivals)
    drifts = run.values("tied_block_drift")[:, 1:]
    return np.column_stack([square_of_total, idle, drifts])


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
