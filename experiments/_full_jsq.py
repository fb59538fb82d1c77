"""Join-the-shortest-queue with every job, at the load of extreme congestion.

The mean number of jobs relaxes in a time 4 n/(a-b)^2, too long for averages. But the drift of the
square of the total S gives, for n servers of rate mu and arrivals Lambda under any policy,

    (n mu - Lambda) E S = Lambda + mu E[S I] ,   mu E[I] = n mu - Lambda ,   I the idle servers,

so that E S = Lambda/(n mu - Lambda) + E[S I]/E[I]: the pooled server, and a correction that is
seen near the floor only, where the chain forgets fast (our derivation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

import queueing
from atlas.ensemble import Estimate

# Time that is left out; every server makes n services in a unit of it.
_SETTLING = 2.0


@numba.njit
def _idle(ranked):
    return (ranked == 0).sum()


@numba.njit
def _total_times_idle(ranked):
    return ranked.sum() * (ranked == 0).sum()


@dataclass(frozen=True)
class FullJSQ:
    """Full JSQ at one size.

    Arguments:
        n, slack: n servers of rate n, arrivals n^2 - slack sqrt(n).
        total: mean number of jobs.
        wait: mean wait in queue, E Q_(1)/n, from E[mean queue] n^2/Lambda = 1 + E Q_(1).
        imbalance: mean of max - min, which forgets fast.
    """

    n: int
    slack: float
    total: Estimate
    wait: Estimate
    imbalance: Estimate


def full_jsq(n: int, slack: float, *, events: float, replicas: int, seed: int) -> FullJSQ:
    """Measure the correction near the floor, and add the pooled server.

    Arguments:
        n, slack: the system; slack = a - b.
        events: how many events all replicas have together.
        replicas: how many, at least 20 for an error from their spread.
        seed: of all.

    Returns:
        FullJSQ; about 15 ns an event.
    """
    arrivals = n * n - slack * n**0.5
    duration = events / (2 * n * n * replicas)
    run = queueing.long_run(
        queueing.System(np.full(n, float(n)), arrivals),
        queueing.JSQ(),
        horizon=_SETTLING + duration,
        warmup=_SETTLING,
        # Near the floor, where the correction is made.
        initial=np.ones(n, dtype=int),
        replicas=replicas,
        seed=seed,
        num_ranks=1,
        observe={"idle": _idle, "total_times_idle": _total_times_idle},
    )
    near_floor = Estimate.from_ratio(run.values("total_times_idle"), run.values("idle"))
    total = arrivals / (slack * n**0.5) + near_floor.value
    # Every job joins the shortest: the sum of squares gives n E S = Lambda (1 + E Q_(1)).
    wait = (n * total / arrivals - 1) / n
    error = near_floor.std_error
    return FullJSQ(
        n,
        slack,
        Estimate(total, error, near_floor.dof),
        Estimate(wait, error / arrivals, near_floor.dof),
        run.estimate("imbalance"),
    )


def scaled_limit(sizes: Sequence[FullJSQ]) -> tuple[Estimate, float]:
    """sqrt(n) E wait as n grows, extrapolated from three sizes, each four times the former.

    From size to size the error 1/sqrt(n) halves and the next one, 1/n, quarters.

    Arguments:
        sizes: three runs, ascending in n.

    Returns:
        The extrapolation from the two largest sizes, and a bound on what is left: a third of its
        distance to that from the two smallest, and one standard error.
    """
    values = [float(each.wait.value) * each.n**0.5 for each in sizes]
    errors = [float(each.wait.std_error) * each.n**0.5 for each in sizes]
    limit, first = 2 * values[2] - values[1], 2 * values[1] - values[0]
    error = float(np.hypot(2 * errors[2], errors[1]))
    return Estimate(limit, error, sizes[2].wait.dof), abs(limit - first) / 3 + error
