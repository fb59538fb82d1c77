"""The system with pauses: ranked queues whose gaps form an open Jackson network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_vector
from ._product_geometric import ProductGeometric

_REMEDY = "one finite rate >= 0 per rank, the lowest rank first"


@dataclass(frozen=True, eq=False, init=False)
class PausedSystem:
    r"""Queues in a fixed order that never cross, because events that would do so are refused.

    Rank k receives at rate alpha_k and works at rate mu_k.  An arrival to rank k is refused while
    it ties with rank k + 1; a departure from rank k pauses while it ties with rank k - 1, and
    from rank 1 while it is empty.  The gaps (the first is the lowest queue itself) are an open
    Jackson network, see `paused_gaps`, and at stationarity independent geometric:

        P(gap_k >= m) = rho_k^m ,   rho_k = prod_{i >= k} alpha_i / mu_i .

    Arguments:
        arrival_rates: (K,) rates alpha_k by rank, the lowest first.
        service_rates: (K,) rates mu_k by rank.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P0].
    """

    arrival_rates: np.ndarray
    service_rates: np.ndarray

    def __init__(self, arrival_rates: ArrayLike, service_rates: ArrayLike) -> None:
        arrivals = check_vector("arrival_rates", arrival_rates, remedy=_REMEDY)
        services = check_vector("service_rates", service_rates, remedy=_REMEDY)
        if arrivals.size != services.size:
            raise ValueError(
                f"service_rates has {services.size} entries and arrival_rates {arrivals.size}; "
                "give one of each per rank"
            )
        object.__setattr__(self, "arrival_rates", arrivals)
        object.__setattr__(self, "service_rates", services)

    @property
    def num_servers(self) -> int:
        """The number K of ranks."""
        return self.arrival_rates.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PausedSystem):
            return NotImplemented
        return np.array_equal(self.arrival_rates, other.arrival_rates) and np.array_equal(
            self.service_rates, other.service_rates
        )

    def __hash__(self) -> int:
        return hash((self.arrival_rates.tobytes(), self.service_rates.tobytes()))

    def stationary_gaps(self) -> ProductGeometric:
        """The exact stationary law of the gaps at this size, in closed form.

        Returns:
            The product of geometric laws with ratios rho_k, (K,).

        Raises:
            ValueError: some rho_k >= 1, naming the highest such rank.

        Cost O(K), through sums of logarithms from the top rank down: sizes of 10^6 are fine.
        """
        services = self.service_rates
        stalled = np.flatnonzero(services == 0.0)
        if stalled.size:
            raise ValueError(
                f"service_rates[{stalled[0]}] is 0, so that rank never empties; "
                "give positive service rates for a stationary law"
            )
        # alpha - mu is exact where the two are close, which is where the logarithm is delicate.
        with np.errstate(divide="ignore"):
            log_ratios = np.log1p((self.arrival_rates - services) / services)
        log_rho = np.cumsum(log_ratios[::-1])[::-1]
        unstable = np.flatnonzero(log_rho >= 0.0)
        if unstable.size:
            rank = int(unstable[-1]) + 1
            raise ValueError(
                f"rho_{rank} = {np.exp(log_rho[rank - 1]):.6g} is not below 1, so the system with "
                f"pauses has no stationary law; lower arrival_rates at ranks {rank} and above, "
                "or raise service_rates there"
            )
        return ProductGeometric(np.exp(log_rho))
