"""A uniform stream per server and one stream per rank: the systems of P0 and P1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_nonnegative, check_positive, check_vector


@dataclass(frozen=True, eq=False, init=False)
class RankStreams:
    r"""K servers of one rate with a uniform stream per server and one stream per rank.

    Every server works at rate mu and receives its own Poisson stream of rate lambda; a further
    stream of rate beta_k goes to the server of rank k (1 the shortest; ties uniform).  These are
    the systems of `extreme_congestion` and `heavy_traffic`, and all the identities here are
    theirs.

    Arguments:
        uniform_rate: lambda >= 0, per server.
        rank_rates: (K,) rates beta_k >= 0, the shortest first.
        service_rate: mu > 0.

    Raises:
        ValueError: naming the argument, its value and the remedy.
    """

    uniform_rate: float
    rank_rates: np.ndarray
    service_rate: float

    def __init__(self, uniform_rate: float, rank_rates: ArrayLike, service_rate: float) -> None:
        uniform = check_nonnegative("uniform_rate", uniform_rate, remedy="a finite rate >= 0")
        service = check_positive("service_rate", service_rate, remedy="a finite rate > 0")
        rates = check_vector("rank_rates", rank_rates, remedy="one finite rate >= 0 per rank")
        object.__setattr__(self, "uniform_rate", uniform)
        object.__setattr__(self, "rank_rates", rates)
        object.__setattr__(self, "service_rate", service)

    @property
    def num_servers(self) -> int:
        """The number K of servers."""
        return self.rank_rates.size
