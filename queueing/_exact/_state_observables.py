"""Observables that are functions of the state: their means are time averages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._identities import tied_block_drift
from .._system import System
from ._chain import Chain


def _lengths(chain: Chain) -> np.ndarray:
    return _by_server(chain, chain.space.states.astype(np.float64))


def _gaps(chain: Chain) -> np.ndarray:
    return np.diff(chain.ranked, axis=1, prepend=0)


def _scaled_gaps(chain: Chain) -> np.ndarray:
    if chain.subject.scaling is None:
        raise ValueError("scaled_gaps needs a length scale; pass a regime, or ask for gaps")
    return _gaps(chain) / chain.subject.scaling.length


def _tied_block_drift(chain: Chain) -> np.ndarray:
    if chain.subject.streams is None:
        raise ValueError(
            "tied_block_drift belongs to exponential servers of one rate without a buffer, routed "
            "by ranks or at random; ask for another observable"
        )
    return tied_block_drift(chain.subject.streams, chain.ranked)


def _occupancy(chain: Chain, law: np.ndarray) -> np.ndarray:
    """Level by level from 1 up to the cap: the mean fraction of servers that reach it."""
    num_servers, cap = chain.space.num_servers, chain.space.cap
    weights = np.repeat(law / num_servers, num_servers)
    at_level = np.bincount(chain.ranked.ravel(), weights=weights, minlength=cap + 1)
    return np.cumsum(at_level[::-1])[::-1][1:]


def _occupancy_by_class(chain: Chain, law: np.ndarray) -> np.ndarray:
    """(C, L): the same for the servers of each rate alone, slowest first."""
    rates = system_of(chain, "occupancy_by_class").service_rates
    levels = np.arange(1, chain.space.cap + 1)
    # A folded chain has one rate, and its ranks are all of the class.
    reached = [law @ (chain.space.states >= level) for level in levels]
    return np.stack([_class_means(rates, shares) for shares in reached], axis=1)


def _class_means(rates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(..., C) means over the servers of each rate of values (..., K)."""
    classes = np.unique(rates)
    return np.stack([values[..., rates == rate].mean(axis=-1) for rate in classes], axis=-1)


def _by_class(values: Callable[[Chain], np.ndarray]) -> Callable[[Chain], np.ndarray]:
    return lambda chain: _class_means(
        system_of(chain, "an average by class").service_rates, values(chain)
    )


def _prob_tie(chain: Chain) -> np.ndarray:
    if chain.space.num_servers < 2:
        raise ValueError("prob_tie needs at least two servers; this system has one")
    return chain.ranked[:, 0] == chain.ranked[:, 1]


def _utilisation(chain: Chain) -> np.ndarray:
    return _by_server(chain, (chain.space.states > 0).astype(np.float64))


def _throughput(chain: Chain) -> np.ndarray:
    return _utilisation(chain) * system_of(chain, "throughput").service_rates


def _by_server(chain: Chain, values: np.ndarray) -> np.ndarray:
    """Servers of a folded chain are alike, so each one's value is the mean over ranks."""
    if not chain.space.is_folded or chain.routing is None:
        return values
    return np.broadcast_to(values.mean(axis=1, keepdims=True), values.shape)


STATE_OBSERVABLES: dict[str, Callable[[Chain], np.ndarray]] = {
    "lengths": _lengths,
    "lengths_ranked": lambda chain: chain.ranked,
    "gaps": _gaps,
    "scaled_gaps": _scaled_gaps,
    "total": lambda chain: chain.ranked.sum(axis=1),
    "imbalance": lambda chain: chain.ranked[:, -1] - chain.ranked[:, 0],
    "idle_servers": lambda chain: (chain.ranked == 0).sum(axis=1),
    "prob_tie": _prob_tie,
    "utilisation": _utilisation,
    "throughput": _throughput,
    "lengths_by_class": _by_class(_lengths),
    "utilisation_by_class": _by_class(_utilisation),
    "throughput_by_class": _by_class(_throughput),
    "tied_block_drift": _tied_block_drift,
}


LAW_OBSERVABLES: dict[str, Callable[[Chain, np.ndarray], np.ndarray]] = {
    "occupancy": _occupancy,
    "occupancy_by_class": _occupancy_by_class,
}


def system_of(chain: Chain, name: str) -> System:
    if not isinstance(chain.system, System):
        raise ValueError(
            f"{name} is a property of jobs, and the system with pauses refuses events instead of "
            "routing jobs; ask for lengths_ranked, gaps, total, imbalance or idle_servers"
        )
    return chain.system
