r"""Stability of policies that send a job to any server, uniformly, where nobody is free enough.

Such a policy has a length d: a job joins a server with fewer than d jobs where there is one, and
else one of all K servers at random, whatever its speed. JIQ has d = 1, IdleOneFirst d = 2. A load
below 1 is not enough then: while a set S of s servers has long queues, each of them receives
(arrival_rate / K) pi, with pi = pi(S) the fraction of time in which none of the m = K - s others
has fewer than d jobs. With mu(S) the rates of S together, and M those of all servers:

*Stable* if for every S these s servers together receive less than they serve. While the others
stay short what comes to them leaves,

    lambda (1 - pi s / K) = sum over the others of mu_j P(busy_j) >= pi (M - mu(S)) ,

so that pi <= lambda / (M - mu(S) + lambda s / K), and it is enough that

    s lambda^2 < mu(S) (K (M - mu(S)) + lambda s)   for every S .

The right side is concave in mu(S), so the s slowest and the s fastest decide. (Sum of lengths as
Lyapunov function of the fluid limits [Dai1995]; for all servers it says that the load is below 1.)

*Unstable* if pi is too large for every server of some S. Let V be the sum of min(Q_j, d) over the
others, and D_v the sum of their min(v, m) largest rates. V goes up at rate lambda below its highest
value and down from v at rate at most D_v, so P(V = v - 1) <= (D_v / lambda) P(V = v); and the flow
above is at most E D_V. By duality of this linear programme, with c_v = D_{v+1} / lambda ... D_dm /
lambda, c_dm = 1,

    pi >= max over k of (lambda - D_{k-1}) / (sum_{v >= k} c_v (D_v - D_{k-1}) + lambda s / K) .

Where (lambda / K) pi exceeds the rate of each server of S, their queues, once long, never come back
with positive probability, so there is no stationary law. (If the others do not stay short either,
then a faster server than those of S receives more than it serves, and S all the more.) S are the
servers up to some rate.

With two servers pi is known for d = 1, the bounds meet, and lambda^2 = mu_slow (2 mu_fast + lambda)
is the limit. In between nothing is claimed. Poisson arrivals, exponential services, lengths that
are seen at once. Source: our derivation.
"""

from __future__ import annotations

import numpy as np

from ._policy import Policy
from ._system import System

# Sets that are tried, those with most to carry first; each costs O(K).
_MOST_SETS = 32
# What rounding may do to a bound.
_MARGIN = 1e-9


def fallback_overload(system: System, policy: Policy) -> str | None:
    """Which servers are known to be overloaded by jobs that find nobody free; None if none are.

    Cost: O(K log K).
    """
    if _is_silent(system, policy):
        return None
    rates, share = np.sort(system.service_rates), system.arrival_rate / system.num_servers
    sizes = np.flatnonzero(np.diff(rates)) + 1
    most = share * _most_fallback(system.arrival_rate, rates, sizes)
    ratio = most / np.maximum(rates[sizes - 1], np.finfo(float).tiny)
    for size in sizes[np.argsort(-ratio)[:_MOST_SETS]]:
        slowest = float(rates[size - 1])
        received = share * least_fallback(
            system.arrival_rate, rates, int(size), policy.fallback_length or 0
        )
        if received > slowest * (1.0 + _MARGIN):
            return (
                f"each of the {size} slowest servers, once their queues are long, receives at "
                f"least {received:.6g} jobs per unit of time that find nobody free, and serves at "
                f"most {slowest:.6g}; lower arrival_rate, give a buffer, or a policy that knows "
                "the rates, such as JFSQ()"
            )
    return None


def undecided_fallback(system: System, policy: Policy) -> str | None:
    """Why it is not known whether the system is stable, with the remedy; None if it is known."""
    if system.buffer is not None or system.arrival_rate == 0.0 or policy.fallback_length is None:
        return None
    if system.load >= 1.0 or _surely_stable(system) or fallback_overload(system, policy):
        return None
    return (
        f"whether {policy!r} is stable here is not known: a load of {system.load:.6g} is no proof "
        "at unequal service_rates, because jobs that find nobody free may go to a slow server; "
        "look whether total still grows at longer horizons, or give a buffer"
    )


def least_fallback(arrival_rate: float, rates: np.ndarray, size: int, length: int) -> float:
    """A lower bound of pi for the `size` first of the ascending rates (K,); see above."""
    others = rates[size:][::-1]
    down = np.concatenate(([0.0], np.cumsum(others), np.full((length - 1) * others.size, 0.0)))
    down[others.size + 1 :] = down[others.size]
    with np.errstate(over="ignore"):
        weights = np.append(np.cumprod(down[:0:-1] / arrival_rate)[::-1], 1.0)
        above = np.cumsum(weights[::-1])[::-1]
        steps = np.diff(down)
        grown = np.where(steps > 0.0, above[1:] * np.where(steps > 0.0, steps, 1.0), 0.0)
    spread = np.cumsum(grown[::-1])[::-1]
    bounds = (arrival_rate - down[:-1]) / (spread + arrival_rate * size / rates.size)
    return float(min(bounds.max(), 1.0))


def _most_fallback(arrival_rate: float, rates: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Upper bounds of pi for sets of the first of the rates, one per size."""
    rest = rates.sum() - np.cumsum(rates)[sizes - 1]
    return np.minimum(arrival_rate / (rest + arrival_rate * sizes / rates.size), 1.0)


def _surely_stable(system: System) -> bool:
    """Whether every set of servers is known to receive less than it serves."""
    arrivals, count = system.arrival_rate, system.num_servers
    rates = np.sort(system.service_rates)
    if arrivals / count < rates[0]:
        # A busy server receives no more than that, whatever the laws are.
        return True
    if not system.is_markov:
        return False
    sizes = np.arange(1, count + 1)
    for together in (np.cumsum(rates), np.cumsum(rates[::-1])):
        carried = together * (count * (rates.sum() - together) + arrivals * sizes)
        if (sizes * arrivals**2 >= carried * (1.0 - _MARGIN)).any():
            return False
    return True


def _is_silent(system: System, policy: Policy) -> bool:
    """Whether nothing can be said against the system here."""
    if policy.fallback_length is None or system.buffer is not None:
        return True
    return system.arrival_rate == 0.0 or not system.is_markov
