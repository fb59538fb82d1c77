"""The system with pauses and the original chain, as samples and averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import queueing
from queueing import LongRun, ProductGeometric

from ._frame import spawn_seed


@dataclass(frozen=True)
class Simulated:
    """What is simulated; what is claimed of it comes from the settings.

    Arguments:
        original: the regime at size n, whose start is near stationarity.
        paused: the system with pauses at size n, a regime.
    """

    original: Callable[[int], Any]
    paused: Callable[[int], Any]

    @classmethod
    def sound(cls, a: float, b: float) -> Simulated:
        """What the claims are about."""
        return cls(
            lambda n: queueing.extreme_congestion(n, a, b),
            lambda n: queueing.extreme_congestion(n, a, b).with_pauses(),
        )


@dataclass(frozen=True)
class Snapshot:
    """Independent replicas at a few late times.

    Arguments:
        lengths: the lowest ranks in jobs, (time, replica, rank).
        smooth: the same plus independent uniforms on [0, 1), ranked again.
    """

    lengths: np.ndarray
    smooth: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """Gaps in jobs, (time, replica, gap)."""
        return np.diff(self.lengths, axis=-1, prepend=0)

    @property
    def smooth_gaps(self) -> np.ndarray:
        """Gaps in jobs with a density, (time, replica, gap)."""
        return np.diff(self.smooth, axis=-1, prepend=0.0)


def snapshot(
    regime: Any, times: Sequence[float], replicas: int, num_gaps: int, seed: int
) -> Snapshot:
    """From the stationary start of the regime, or what comes next to it, to later times."""
    result = queueing.simulate(
        regime,
        times=times,
        initial="stationary",
        replicas=replicas,
        seed=seed,
        num_ranks=min(num_gaps + 8, regime.system.num_servers),
        num_levels=1,
    )
    lengths = result.lengths_ranked
    uniforms = np.random.default_rng(spawn_seed(seed, 0)).random(lengths.shape)
    smooth = np.sort(lengths + uniforms, axis=-1)[..., :num_gaps]
    return Snapshot(lengths[..., :num_gaps], smooth)


def pooled_uniforms(
    regime: Any, law: ProductGeometric, horizon: float, replicas: int, seed: int
) -> np.ndarray:
    """Each gap through its own geometric distribution function, (replica, gap).

    F(g - 1) + V (F(g) - F(g - 1)) with V uniform: independent uniforms for all gaps of a replica if
    `law` is that of the paused system.
    """
    size = regime.system.num_servers
    result = queueing.simulate(
        regime,
        times=[horizon],
        initial="stationary",
        replicas=replicas,
        seed=seed,
        num_ranks=size,
        num_levels=1,
    )
    gaps = result.gaps[-1]
    below, above = law.cdf(gaps - 1), law.cdf(gaps)
    generator = np.random.default_rng(spawn_seed(seed, 0))
    return below + generator.random(gaps.shape) * (above - below)


@numba.njit
def no_job_at_the_shortest(ranked):
    """1 if the shortest queue is empty."""
    return 1.0 if ranked[0] == 0 else 0.0


def contact_counter(n: int, a: float, b: float) -> Callable[[np.ndarray], np.ndarray]:
    """What ties of ranks k and k+1 and idle servers add to the drift of all ranks above k, k < 4.

        1{Q_(k) = Q_(k+1)} ( sum_{i = i0..k} (alpha + beta_i) + n (i1 - k) 1{Q_(k) > 0} )
            + n #{i > k: Q_(i) = 0} ,

    the tied block spanning ranks i0..i1; its stationary mean is exactly the slack (n - k) a/sqrt(n)
    of these ranks, whose drift would else not be zero. Source: our derivation.
    """
    alpha, special = n - a / n**0.5, b * n**0.5

    @numba.njit
    def contacts(ranked):
        found = np.zeros(3)
        for k in range(1, 4):
            for i in range(k, n):
                found[k - 1] += n if ranked[i] == 0 else 0
            length = ranked[k - 1]
            if ranked[k] != length:
                continue
            first = last = k
            while first > 1 and ranked[first - 2] == length:
                first -= 1
            while last < n and ranked[last] == length:
                last += 1
            found[k - 1] += (k - first + 1) * alpha + (special if first == 1 else 0.0)
            found[k - 1] += n * (last - k) if length > 0 else 0
        return found

    return contacts


def long_average(
    regime: Any, contacts: Callable[[np.ndarray], np.ndarray], horizon: float, replicas: int,
    seed: int,
) -> LongRun:  # fmt: skip
    """Averages of the original chain over a long time, event by event."""
    return queueing.long_run(
        regime,
        horizon=horizon,
        warmup=horizon / 50,
        initial="stationary",
        replicas=replicas,
        seed=seed,
        engine="markov",
        num_levels=1,
        observe={"prob_shortest_empty": no_job_at_the_shortest, "contacts": contacts},
    )


def paused_law(a: float, b: float, n: int) -> ProductGeometric:
    """The law that is claimed, P(gap_k >= m) = rho_k^m, from its formula.

    rho_k = prod_{i >= k} alpha_i / n,  alpha_i = n - a/sqrt(n), alpha_1 larger by b sqrt(n)
    """
    step = np.log1p(-a * n**-1.5)
    log_rho = step * np.arange(n, 0, -1)
    log_rho[0] += np.log1p(-a * n**-1.5 + b * n**-0.5) - step
    return ProductGeometric(np.exp(log_rho))


def distance_to_exponential(rho: float, rate: float) -> float:
    """sup over x of |rho^ceil(x) - exp(-rate x)|, the law of a gap against its limit, in jobs.

    Between two jobs the geometric tail is flat and the other falls, so only jobs matter.
    """
    jobs = np.arange(0, int(40 / rate) + 2, max(1, int(0.002 / rate)), dtype=float)
    after, limit = rho ** (jobs + 1), np.exp(-rate * jobs)
    at_jobs = np.abs(rho**jobs - limit)
    return float(max(at_jobs.max(), np.abs(after - limit).max()))
