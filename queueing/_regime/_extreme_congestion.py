"""Extreme congestion: n servers of rate n, and a marginal stream to the shortest queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from atlas import ProductExponential, RankDiffusion, reflected_atlas

from .._checks import check_integer, check_nonnegative, check_number, check_size
from .._paused import PausedSystem
from .._policy import JSQ, Marginal
from .._rank_streams import RankStreams
from .._system import System
from ._base import Regime, Scaling
from ._paused import PausedRegime
from ._start import RoundedExponentialStart


@dataclass(frozen=True)
class ExtremeCongestion(Regime):
    """The regime of [P0] at one n; made by `extreme_congestion`, where everything is explained."""

    n: int
    a: float
    b: float

    def __post_init__(self) -> None:
        n = check_size("n", self.n)
        a = check_number("a", self.a, remedy="a finite number below n^(3/2)")
        b = check_nonnegative("b", self.b, remedy="a finite number >= 0, the marginal stream")
        if a >= n**1.5:
            raise ValueError(
                f"a is {a}, at least n^(3/2) = {n**1.5:.6g}, which leaves no uniform stream; "
                "lower a or raise n"
            )
        for name, value in (("n", n), ("a", a), ("b", b)):
            object.__setattr__(self, name, value)

    @cached_property
    def streams(self) -> RankStreams:
        """Uniform rate n - a/sqrt(n) per server, b sqrt(n) to the lowest rank, service rate n."""
        root = sqrt(self.n)
        to_ranks = np.zeros(self.n)
        to_ranks[0] = self.b * root
        return RankStreams(self.n - self.a / root, to_ranks, float(self.n))

    @cached_property
    def system(self) -> System:
        """n servers of rate n; arrivals n^2 - a sqrt(n) + b sqrt(n)."""
        arrivals = self.n * self.n - (self.a - self.b) * sqrt(self.n)
        return System(np.full(self.n, float(self.n)), arrivals)

    @cached_property
    def policy(self) -> Marginal:
        """b sqrt(n) to the shortest queue, the rest at random."""
        return Marginal(JSQ(), rate=self.b * sqrt(self.n))

    @property
    def scaling(self) -> Scaling:
        """Lengths over sqrt(n), time as it is."""
        return Scaling(length=sqrt(self.n), time=1.0)

    @property
    def _what_is_proved(self) -> str:
        return "ranked queues over sqrt(n) converge to the infinite reflected Atlas process"

    @property
    def idle_servers(self) -> float:
        """The exact stationary mean number of idle servers, (a - b)/sqrt(n)."""
        self._check_stationary()
        return (self.a - self.b) / sqrt(self.n)

    def mean_queue(self, mean_shortest: float) -> float:
        """The exact stationary mean queue n^(3/2)/a - 1 + (b/a)(1 + E Q_(1)), given E Q_(1)."""
        self._check_stationary()
        remedy = "the mean length of the shortest queue"
        mean_shortest = check_nonnegative("mean_shortest", mean_shortest, remedy=remedy)
        return self.n**1.5 / self.a - 1.0 + self.b / self.a * (1.0 + mean_shortest)

    def stationary_start(self) -> RoundedExponentialStart:
        """Q_(k) = floor(E_1 + ... + E_k), the product law at this n, rounded down.

        E_1 has rate (a - b)/sqrt(n) and E_k rate a (n - k + 1)/n^(3/2): the law of the diffusion
        with n particles.  Not the law of the system with pauses, whose ranks are k/2 too low.

        Raises:
            ValueError: unless 0 < b < a.
        """
        self._check_stationary()
        rates = self.a * np.arange(self.n, 0, -1) / self.n
        rates[0] = self.a - self.b
        return RoundedExponentialStart(rates / self.scaling.length)

    def with_pauses(self) -> PausedRegime:
        """The system with pauses at this n: ranks receive n - a/sqrt(n), the lowest b sqrt(n) more.

        Source: [P0].
        """
        streams = self.streams
        rates = streams.uniform_rate + streams.rank_rates
        return PausedRegime(self, PausedSystem(rates, np.full(self.n, float(self.n))))

    def limit(
        self, num_particles: int | None = None, *, closure: str = "stationary"
    ) -> RankDiffusion:
        """The infinite reflected Atlas process, truncated: `atlas.reflected_atlas`.

        Arguments:
            num_particles: how many of the lowest particles to keep.
            closure: what replaces the others: "stationary", "prelimit" or "free".
        """
        if num_particles is None:
            raise ValueError(
                "num_particles is None and the limit has infinitely many; give how many to keep"
            )
        return reflected_atlas(num_particles=num_particles, a=self.a, b=self.b, closure=closure)

    def limit_law(self, num_gaps: int | None = None) -> ProductExponential:
        """The invariant law of the lowest gaps: independent Exp(a - b), Exp(a), Exp(a), ...

        Arguments:
            num_gaps: how many of the lowest gaps.

        Raises:
            ValueError: unless 0 < b < a, or without `num_gaps`.

        Source: [P0].
        """
        self._check_stationary()
        if num_gaps is None:
            raise ValueError("num_gaps is None and the limit has infinitely many; give a number")
        count = check_integer("num_gaps", num_gaps, minimum=1, remedy="an int >= 1")
        rates = np.full(count, self.a)
        rates[0] = self.a - self.b
        return ProductExponential(rates)

    def _check_stationary(self) -> None:
        if not 0.0 < self.b < self.a:
            raise ValueError(
                f"b is {self.b} with a = {self.a}; the stationary law needs 0 < b < a: "
                "give such a b, or start from other lengths"
            )


def extreme_congestion(n: int, a: float, b: float) -> ExtremeCongestion:
    r"""Marginal join-the-shortest-queue in extreme congestion.

    n servers of rate n; a stream n^2 - a sqrt(n) is routed at random, a further b sqrt(n) to the
    shortest queue.  Ranked queues over sqrt(n) tend to the infinite reflected Atlas process with
    drift b on the lowest particle and variance 2; its gaps have the invariant laws
    Exp(a - b) x Exp(a) x Exp(a) x ..., a > b.

    Arguments:
        n: number of servers and rate of each, int >= 1.
        a: slack of the random stream, below n^(3/2).
        b: strength of the marginal stream, >= 0; a stationary law needs 0 < b < a.

    Returns:
        The regime.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P0].
    """
    return ExtremeCongestion(n, a, b)
