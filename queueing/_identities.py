"""Exact identities of rank-routed exponential servers in stationarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_array, check_number
from ._rank_streams import RankStreams
from ._ranking import tied_blocks


@dataclass(frozen=True)
class Identity:
    """The two sides of an identity; `residual` is left minus right, 0 in exact stationarity."""

    left: float
    right: float

    @property
    def residual(self) -> float:
        """Left minus right."""
        return self.left - self.right


def busy_identity(streams: RankStreams, *, idle_servers: float) -> Identity:
    r"""What arrives is served: mu E[idle] = K mu - K lambda - sum_k beta_k.

    Arguments:
        streams: the system.
        idle_servers: the mean number of idle servers.

    Source: our derivation (drift of the total).
    """
    _check_streams(streams)
    remedy = "the mean number of idle servers"
    idle_servers = check_number("idle_servers", idle_servers, remedy=remedy)
    count, special = streams.num_servers, float(streams.rank_rates.sum())
    slack = count * (streams.service_rate - streams.uniform_rate) - special
    return Identity(streams.service_rate * idle_servers, slack)


def second_moment_identity(streams: RankStreams, *, lengths_ranked: ArrayLike) -> Identity:
    r"""(mu - lambda) E[sum Q] = K lambda + sum_k beta_k + sum_k beta_k E[Q_(k)].

    Arguments:
        streams: the system.
        lengths_ranked: (K,) mean ranked lengths, the shortest first.

    Source: our derivation (drift of the sum of squares).
    """
    means = _checked_means(streams, lengths_ranked)
    special = float(streams.rank_rates.sum())
    right = streams.num_servers * streams.uniform_rate + special + float(streams.rank_rates @ means)
    return Identity((streams.service_rate - streams.uniform_rate) * float(means.sum()), right)


def two_server_tie_identity(streams: RankStreams, *, prob_tie: float) -> Identity:
    r"""For two servers P(tie) = (mu - lambda - beta_2) / (mu + lambda + beta_1).

    Arguments:
        streams: a system of two servers.
        prob_tie: the probability that both are equally long.

    Raises:
        ValueError: the system has another number of servers.

    Source: our derivation (drift of the longer queue).
    """
    _check_streams(streams)
    prob_tie = check_number("prob_tie", prob_tie, remedy="a probability")
    if streams.num_servers != 2:
        raise ValueError(
            f"streams has {streams.num_servers} servers; give two, or use tied_block_drift"
        )
    mu, uniform = streams.service_rate, streams.uniform_rate
    first, second = streams.rank_rates
    return Identity(prob_tie, float((mu - uniform - second) / (mu + uniform + first)))


def tied_block_drift(streams: RankStreams, lengths_ranked: ArrayLike) -> np.ndarray:
    r"""The drift of the sum of the ranks above k, k = 0, ..., K-1, in given states.

    With the tied block of rank k spanning ranks i0..i1,

        sum_{i > k} (lambda + beta_i - mu 1{Q_(i) > 0})
          + 1{Q_(k) = Q_(k+1)} ( sum_{i = i0..k} (lambda + beta_i) + mu (i1 - k) 1{Q_(k) > 0} ) .

    Its stationary mean is 0 for every k: an identity that sees how ties are broken and what each
    rank receives.  Entry k = 0 is the drift of the total, the busy identity.

    Arguments:
        streams: the system.
        lengths_ranked: (..., K) ascending lengths.

    Returns:
        (..., K) float64; entry k belongs to the ranks k+1, ..., K.

    Raises:
        ValueError: a wrong number of ranks, or lengths that are not ascending and >= 0.

    Source: our derivation.  Cost O(K) per state.
    """
    ranked = _checked_states(streams, lengths_ranked)
    rates = streams.uniform_rate + streams.rank_rates
    before = np.concatenate(([0.0], np.cumsum(rates)))
    busy = (ranked > 0).astype(np.float64)
    net = rates - streams.service_rate * busy
    drift = np.cumsum(net[..., ::-1], axis=-1)[..., ::-1].copy()
    first, last = tied_blocks(ranked)
    below = np.arange(streams.num_servers - 1)
    tied = ranked[..., 1:] == ranked[..., :-1]
    lifted = before[below + 1] - before[first[..., :-1]]
    served = streams.service_rate * (last[..., :-1] - below) * busy[..., :-1]
    drift[..., 1:] += np.where(tied, lifted + served, 0.0)
    return drift


def add_tied_block_drift(
    ranked: np.ndarray,
    uniform_rate: float,
    rank_rates: np.ndarray,
    service_rate: float,
    weight: float,
    out: np.ndarray,
) -> None:
    """Add `weight` times `tied_block_drift` of one state to `out` (K,), in one O(K) pass.

    Plain loops over scalars, so that `numba.njit(add_tied_block_drift)` runs inside an engine.
    """
    size = ranked.shape[0]
    above = 0.0
    last = size - 1
    for k in range(size - 1, -1, -1):
        busy = 1.0 if ranked[k] > 0 else 0.0
        above += uniform_rate + rank_rates[k] - service_rate * busy
        out[k] += weight * above
        if k < size - 1 and ranked[k] != ranked[k + 1]:
            last = k
        if k < last:
            out[k + 1] += weight * service_rate * (last - k) * busy
    lifted = 0.0
    for k in range(size - 1):
        if k > 0 and ranked[k] != ranked[k - 1]:
            lifted = 0.0
        lifted += uniform_rate + rank_rates[k]
        if ranked[k] == ranked[k + 1]:
            out[k + 1] += weight * lifted


def _check_streams(streams: object) -> None:
    if not isinstance(streams, RankStreams):
        raise ValueError(f"streams is {streams!r}; give a RankStreams, such as regime.streams")


def _checked_states(streams: RankStreams, lengths_ranked: ArrayLike) -> np.ndarray:
    _check_streams(streams)
    ranked = check_array("lengths_ranked", lengths_ranked, remedy="ascending lengths")
    if ranked.shape[-1:] != (streams.num_servers,):
        raise ValueError(
            f"lengths_ranked has shape {ranked.shape}; give (..., {streams.num_servers})"
        )
    if np.any(ranked[..., :1] < 0) or np.any(np.diff(ranked, axis=-1) < 0):
        raise ValueError("lengths_ranked is not ascending and >= 0; sort along the last axis")
    return ranked


def _checked_means(streams: RankStreams, lengths_ranked: ArrayLike) -> np.ndarray:
    _check_streams(streams)
    means = check_array("lengths_ranked", lengths_ranked, remedy="mean lengths by rank")
    if means.shape != (streams.num_servers,):
        raise ValueError(
            f"lengths_ranked has shape {means.shape}; give ({streams.num_servers},) mean lengths"
        )
    return means
