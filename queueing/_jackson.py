"""Open Jackson networks: traffic equations and the product-form stationary law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu

from ._checks import check_vector
from ._open_routing import check_open, checked_routing
from ._paused import PausedSystem
from ._product_geometric import ProductGeometric


@dataclass(frozen=True, eq=False, init=False)
class JacksonNetwork:
    r"""Stations with exponential service between which jobs move at random until they leave.

    With external Poisson rates gamma, service rates mu and routing probabilities p_ij (a job that
    ends at i leaves with probability 1 - sum_j p_ij), the traffic equations

        theta_j = gamma_j + sum_i theta_i p_ij ,   rho_j = theta_j / mu_j

    give the stationary law of the queue lengths: independent, P(Z_j >= m) = rho_j^m.

    Arguments:
        external_rates: (J,) arrivals from outside per unit of time.
        service_rates: (J,) rates > 0.
        routing_matrix: (J, J), rows non-negative with sums at most 1; dense or scipy sparse.
            From every station a job can leave (the network is open).

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [Jackson1957].  Cost: one sparse factorisation.
    """

    external_rates: np.ndarray
    service_rates: np.ndarray
    routing_matrix: sparse.csr_array

    def __init__(
        self, external_rates: ArrayLike, service_rates: ArrayLike, routing_matrix: Any
    ) -> None:
        remedy = "one finite rate >= 0 per station"
        external = check_vector("external_rates", external_rates, remedy=remedy)
        services = check_vector("service_rates", service_rates, remedy=remedy)
        if services.size != external.size:
            raise ValueError(
                f"service_rates has {services.size} entries and external_rates {external.size}; "
                "give one of each per station"
            )
        if not services.all():
            station = int(np.flatnonzero(services == 0.0)[0])
            raise ValueError(f"service_rates[{station}] is 0; give one rate > 0 per station")
        routing = checked_routing(routing_matrix, external.size)
        check_open(routing)
        object.__setattr__(self, "external_rates", external)
        object.__setattr__(self, "service_rates", services)
        object.__setattr__(self, "routing_matrix", routing)

    @property
    def num_stations(self) -> int:
        """The number J of stations."""
        return self.external_rates.size

    @cached_property
    def throughputs(self) -> np.ndarray:
        """(J,) rates theta_j at which jobs pass each station, by the traffic equations."""
        identity = sparse.identity(self.num_stations, format="csc")
        matrix = sparse.csc_matrix(identity - self.routing_matrix.T)
        throughputs = np.maximum(splu(matrix).solve(self.external_rates), 0.0)
        throughputs.flags.writeable = False
        return throughputs

    @property
    def loads(self) -> np.ndarray:
        """(J,) loads rho_j = theta_j / mu_j, below 1 or not."""
        return self.throughputs / self.service_rates

    def stationary_lengths(self) -> ProductGeometric:
        """The stationary law of the queue lengths, jobs in service included.

        Raises:
            ValueError: a load of 1 or more, naming the station.
        """
        loads = self.loads
        station = int(np.argmax(loads))
        if loads[station] >= 1.0:
            raise ValueError(
                f"loads[{station}] = {loads[station]:.6g} is not below 1, so there is no "
                f"stationary law; raise service_rates[{station}] above "
                f"{self.throughputs[station]:.6g} or send fewer jobs there"
            )
        return ProductGeometric(loads)

    @property
    def mean_lengths(self) -> np.ndarray:
        """(J,) mean numbers of jobs rho_j / (1 - rho_j); refused when a load is 1 or more."""
        return self.stationary_lengths().mean

    @property
    def mean_waits(self) -> np.ndarray:
        """(J,) mean times in queue per visit, service excluded: rho_j / (mu_j - theta_j)."""
        loads = self.stationary_lengths().ratios
        return loads / (self.service_rates - self.throughputs)

    @property
    def mean_time_in_network(self) -> float:
        """Mean time from entering to leaving, sum_j E Z_j / sum_j gamma_j (Little's law)."""
        total = float(self.external_rates.sum())
        if total == 0.0:
            raise ValueError("external_rates are all 0, so no job has a time; give one above 0")
        return float(self.mean_lengths.sum()) / total

    def prob(self, lengths: ArrayLike) -> np.ndarray:
        """The joint stationary probability of lengths (..., J)."""
        return self.stationary_lengths().prob(lengths)

    def tail(self, lengths: ArrayLike) -> np.ndarray:
        """P(Z_j >= m) station by station, (..., J)."""
        return self.stationary_lengths().tail(lengths)

    def sample(self, *, replicas: int | range, seed: Any) -> np.ndarray:
        """(R, J) int64 independent stationary lengths; replica i is the same in any batch."""
        return self.stationary_lengths().sample(replicas=replicas, seed=seed)


def paused_gaps(arrival_rates: ArrayLike, service_rates: ArrayLike) -> JacksonNetwork:
    r"""The gaps of the system with pauses as an open Jackson network.

    Jobs enter at gap K at rate alpha_K; gap k + 1 passes to gap k at rate alpha_k; gap k passes to
    gap k + 1 (gap K: outside) at rate mu_k.  So station k works at rate mu_k + alpha_{k-1}
    (alpha_0 = 0) and its load is prod_{i >= k} alpha_i / mu_i.

    Arguments:
        arrival_rates: (K,) rates alpha_k by rank, the lowest first.
        service_rates: (K,) rates mu_k > 0 by rank.

    Returns:
        The network with a sparse routing matrix.  `PausedSystem.stationary_gaps` is its law in
        closed form; take that for large K, where the loads are so near 1 that the linear solve
        loses digits (mean gaps to 1e-11 at K = 1000 but only to a tenth at 10^6).

    Source: [P0].  Cost O(K).
    """
    system = PausedSystem(arrival_rates, service_rates)
    alpha, mu = system.arrival_rates, system.service_rates
    down = np.concatenate(([0.0], alpha[:-1]))
    total = down + mu
    if not mu.all():
        rank = int(np.flatnonzero(mu == 0.0)[0])
        raise ValueError(f"service_rates[{rank}] is 0; give one rate > 0 per rank")
    size = alpha.size
    rows = np.concatenate((np.arange(1, size), np.arange(size - 1)))
    columns = np.concatenate((np.arange(size - 1), np.arange(1, size)))
    chances = np.concatenate((down[1:] / total[1:], mu[:-1] / total[:-1]))
    routing = sparse.csr_array((chances, (rows, columns)), shape=(size, size))
    external = np.zeros(size)
    external[-1] = alpha[-1]
    return JacksonNetwork(external, total, routing)
