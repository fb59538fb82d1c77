"""Observables that are read off whole states now and then, at O(K) per sample."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from .._identities import add_tied_block_drift

_add_drift = numba.njit(nogil=True)(add_tied_block_drift)


class Sampler(NamedTuple):
    """What is accumulated over sampled states; every array is a sum over samples.

    Attributes:
        stride: steps of the engine from one sample to the next.
        ranked: (K,) int64, scratch: the ranked lengths of the present sample.
        count: (2,) int64: samples taken, and samples in `kept`.
        tie: (1,) samples whose two lowest ranks are equal.
        reached: (L,) servers with at least l jobs, l = 1 ... L.
        servers: (2, K) lengths by server, and whether busy; (2, 0) for a system with pauses.
        drift: (K,) of `tied_block_drift`, or (0,).
        rank_rates: (K,) or (0,); `uniform_rate` and `service_rate` belong to it.
        kept: (S, K) int64, states for the user's own observables; S = 0 without any.
    """

    stride: int
    ranked: np.ndarray
    count: np.ndarray
    tie: np.ndarray
    reached: np.ndarray
    servers: np.ndarray
    drift: np.ndarray
    rank_rates: np.ndarray
    uniform_rate: float
    service_rate: float
    kept: np.ndarray


@numba.njit(nogil=True)
def take_sample(sampler, lengths):
    """Accumulate the state: `lengths` (K,) by server, sorted in `sampler.ranked`."""
    ranked, reached = sampler.ranked, sampler.reached
    size = ranked.shape[0]
    sampler.count[0] += 1
    if size > 1 and ranked[0] == ranked[1]:
        sampler.tie[0] += 1.0
    for i in range(sampler.servers.shape[1]):
        sampler.servers[0, i] += lengths[i]
        sampler.servers[1, i] += lengths[i] > 0
    place = 0
    for level in range(reached.shape[0]):
        while place < size and ranked[place] <= level:
            place += 1
        if place == size:
            break
        reached[level] += size - place
    if sampler.drift.shape[0] > 0:
        _add_drift(
            ranked,
            sampler.uniform_rate,
            sampler.rank_rates,
            sampler.service_rate,
            1.0,
            sampler.drift,
        )
    if sampler.kept.shape[0] > 0:
        for k in range(size):
            sampler.kept[sampler.count[1], k] = ranked[k]
        sampler.count[1] += 1


# For runs that only advance.
EMPTY_SAMPLER = Sampler(
    stride=0,
    ranked=np.zeros(0, np.int64),
    count=np.zeros(2, np.int64),
    tie=np.zeros(1),
    reached=np.zeros(0),
    servers=np.zeros((2, 0)),
    drift=np.zeros(0),
    rank_rates=np.zeros(0),
    uniform_rate=0.0,
    service_rate=0.0,
    kept=np.zeros((0, 0), np.int64),
)
