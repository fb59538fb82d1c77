"""Heavy traffic with a fixed number of servers and a marginal stream routed by ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isinf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from atlas import ProductExponential, RankDiffusion

from .._checks import check_integer, check_nonnegative, check_number, check_size, check_vector
from .._distribution import Distribution, Exponential, check_law
from .._paused import PausedSystem
from .._policy import JSQ, Marginal, RankBased
from .._rank_streams import RankStreams
from .._system import System
from ._base import Regime, Scaling
from ._paused import PausedRegime
from ._start import RoundedExponentialStart

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class HeavyTraffic(Regime):
    """The regime of [P1] at one n; made by `heavy_traffic`, where everything is explained."""

    num_servers: int
    n: int
    slack: float
    b: float
    rank_probs: tuple[float, ...] | None
    service: Distribution

    def __post_init__(self) -> None:
        count = check_size("num_servers", self.num_servers)
        remedy = "an int from 1 to 2^53, the rate of each server"
        n = check_integer("n", self.n, minimum=1, remedy=remedy)
        if n > 2**53:
            raise ValueError(f"n is above 2^53; give {remedy}")
        slack = check_number("slack", self.slack, remedy="a finite number, of either sign")
        b = check_nonnegative("b", self.b, remedy="a finite number >= 0, the marginal stream")
        total = count * n - slack * sqrt(n)
        if b * sqrt(n) > total:
            raise ValueError(
                f"b is {b}: its stream b sqrt(n) = {b * sqrt(n):.6g} exceeds all arrivals "
                f"num_servers n - slack sqrt(n) = {total:.6g}; lower b or slack, or raise n"
            )
        if not isinstance(self.service, Distribution):
            raise ValueError(f"service is {self.service!r}; give a law such as Exponential()")
        check_law("service", self.service, remedy="a law of mean 1 and an scv >= 0")
        for name, value in (("num_servers", count), ("n", n), ("slack", slack), ("b", b)):
            object.__setattr__(self, name, value)
        if self.rank_probs is not None:
            object.__setattr__(self, "rank_probs", _checked_probs(self.rank_probs, count))

    @cached_property
    def probs_by_rank(self) -> np.ndarray:
        """(K,) the law of the rank that a job of the marginal stream joins."""
        if self.rank_probs is not None:
            return np.array(self.rank_probs)
        return np.eye(self.num_servers)[0]

    @cached_property
    def streams(self) -> RankStreams:
        """Uniform rate (K n - (slack + b) sqrt(n))/K per server, b sqrt(n) p_k to rank k."""
        root = sqrt(self.n)
        uniform = self.n - (self.slack + self.b) * root / self.num_servers
        return RankStreams(max(uniform, 0.0), self.b * root * self.probs_by_rank, float(self.n))

    @cached_property
    def system(self) -> System:
        """K servers of rate n; arrivals K n - slack sqrt(n)."""
        arrivals = self.num_servers * self.n - self.slack * sqrt(self.n)
        return System(np.full(self.num_servers, float(self.n)), arrivals, service=self.service)

    @cached_property
    def policy(self) -> Marginal:
        """b sqrt(n) by ranks, the rest at random."""
        by_rank = JSQ() if self.rank_probs is None else RankBased(self.probs_by_rank)
        return Marginal(by_rank, rate=self.b * sqrt(self.n))

    @property
    def scaling(self) -> Scaling:
        """Lengths over sqrt(n), time as it is."""
        return Scaling(length=sqrt(self.n), time=1.0)

    @property
    def _what_is_proved(self) -> str:
        return "ranked queues over sqrt(n) converge to a reflected rank-based diffusion"

    def gap_rates(self) -> np.ndarray:
        r"""(K,) rates of the limit's stationary gaps.

            lambda_k = ( (K-k+1)(v+b)/K - b sum_{i >= k} p_i ) / ((1 + c_s^2)/2)

        Raises:
            ValueError: slack <= 0, or a rank rule under which some lambda_k <= 0.
        """
        if self.slack <= 0.0:
            raise ValueError(
                f"slack is {self.slack}; a stationary law needs slack > 0: give such a slack, or "
                "start from other lengths"
            )
        above = np.cumsum(self.probs_by_rank[::-1])[::-1]
        share = np.arange(self.num_servers, 0, -1) / self.num_servers
        rates = (self.slack + self.b) * share - self.b * above
        unstable = np.flatnonzero(rates <= 0.0)
        if unstable.size:
            raise ValueError(
                f"rank_probs is {self.rank_probs}: gap {unstable[0] + 1} has rate "
                f"{rates[unstable[0]]:.6g}, so the upper ranks run away and there is no "
                "stationary law; send less to the upper ranks, lower b or raise slack"
            )
        return rates / (self._finite_variance() / 2.0)

    @property
    def _variance(self) -> float:
        """Per particle and unit of time: 1 from Poisson arrivals, c_s^2 from services."""
        return 1.0 + self.service.scv

    def _finite_variance(self) -> float:
        """`_variance`, refused where it is infinite."""
        if isinf(self._variance):
            raise ValueError(
                f"service is {self.service!r}, whose scv is infinite, so that there is no such "
                "limit; give a law with two moments, or simulate"
            )
        return self._variance

    def stationary_start(self) -> RoundedExponentialStart:
        """Q_(k) = floor(E_1 + ... + E_k), E_k of rate lambda_k/sqrt(n), see `gap_rates`.

        Raises:
            ValueError: where there is no stationary law.
        """
        return RoundedExponentialStart(self.gap_rates() / self.scaling.length)

    def with_pauses(self) -> PausedRegime:
        """The system with pauses: rank k receives (K n - (slack + b) sqrt(n))/K + b sqrt(n) p_k.

        Raises:
            ValueError: the service law is not exponential.
        """
        if not isinstance(self.service, Exponential):
            raise ValueError(
                f"service is {self.service!r}; the system with pauses needs service=Exponential()"
            )
        rates = self.streams.uniform_rate + self.streams.rank_rates
        return PausedRegime(self, PausedSystem(rates, np.full(self.num_servers, float(self.n))))

    def limit(self, num_particles: int | None = None) -> RankDiffusion:
        """The limit: drift -(v + b)/K + b p_k at rank k, variance 1 + c_s^2, reflected at 0.

        Arguments:
            num_particles: None, or the number of servers.

        Returns:
            An `atlas.RankDiffusion` with a floor.

        Source: [P1]; with general services only the variance changes.
        """
        count = self.num_servers
        if num_particles is not None and num_particles != count:
            raise ValueError(
                f"num_particles is {num_particles!r}; the limit has num_servers = {count} "
                "particles: give that, or None"
            )
        drifts = -(self.slack + self.b) / count + self.b * self.probs_by_rank
        return RankDiffusion(
            drifts=drifts, variances=np.full(count, self._finite_variance()), floor=True
        )

    def limit_law(self, num_gaps: int | None = None) -> ProductExponential:
        """The stationary law of the limit's gaps: independent Exp(lambda_k), see `gap_rates`.

        Arguments:
            num_gaps: only the lowest so many, None for all.

        Raises:
            ValueError: where there is no stationary law.

        Source: [P1].
        """
        rates = self.gap_rates()
        if num_gaps is None:
            return ProductExponential(rates)
        remedy = f"an int from 1 to {rates.size}, or None for all"
        count = check_integer("num_gaps", num_gaps, minimum=1, remedy=remedy)
        if count > rates.size:
            raise ValueError(f"num_gaps is {num_gaps}; give {remedy}")
        return ProductExponential(rates[:count])


def heavy_traffic(
    num_servers: int,
    n: int,
    slack: float,
    b: float,
    rank_probs: ArrayLike | None = None,
    service: Distribution | None = None,
) -> HeavyTraffic:
    r"""A fixed number of servers in heavy traffic, a marginal stream of which is routed by ranks.

    K servers of rate n receive K n - v sqrt(n) jobs per unit of time; of these b sqrt(n) go to
    rank k with probability p_k, the rest to a server at random.  Ranked queues over sqrt(n) tend
    to the diffusion with drift -(v + b)/K + b p_k at rank k, variance 1 + c_s^2 (2 if services are
    exponential) and a floor at 0; for v > 0 its gaps are independent Exp(lambda_k) with

        lambda_k = ((K-k+1)(v+b)/K - b sum_{i >= k} p_i) / ((1 + c_s^2)/2) .

    Arguments:
        num_servers: K, int >= 1.
        n: rate of each server, int >= 1.
        slack: v, of either sign; a stationary law needs v > 0.
        b: strength of the marginal stream, >= 0, at most all arrivals.
        rank_probs: (K,) law p of the rank that a marginal job joins, the shortest first;
            None: all to the shortest.
        service: law of a service time (mean 1) with scv c_s^2, the same at all servers;
            exponential if None.

    Returns:
        The regime.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P1].
    """
    return HeavyTraffic(
        num_servers=num_servers,
        n=n,
        slack=slack,
        b=b,
        rank_probs=rank_probs,  # type: ignore[arg-type]
        service=Exponential() if service is None else service,
    )


def _checked_probs(values: ArrayLike, count: int) -> tuple[float, ...]:
    remedy = f"{count} probabilities, the shortest queue's first, that sum to 1"
    probs = check_vector("rank_probs", values, remedy=remedy)
    if probs.size != count:
        raise ValueError(f"rank_probs has {probs.size} entries; give {remedy}")
    if abs(float(probs.sum()) - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"rank_probs sums to {float(probs.sum())!r}; give {remedy}")
    return tuple(float(p) for p in probs)
