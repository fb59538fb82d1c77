"""Many replicas of engine "pauses" in compiled calls, which no other thread waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numba
import numpy as np

from ._base import Batch
from ._pauses_loop import CLOCK_ENTRIES, CURSOR, TICK, PauseRates, run_pauses
from ._replica_seeds import poisson_counts, replica_words
from ._sampler import EMPTY_SAMPLER
from ._xoshiro import BANK_WORDS, BLOCK, RandomBank, make_banks

if TYPE_CHECKING:
    from atlas.ensemble import Seed


class PausesBatch(Batch):
    """A block of replicas; their numbers are those of single ones.

    Arguments:
        rates, tick_rate: of the system.
        lengths: (R, K) to start from, ascending.
        seed, replicas: as of `OneByOne`.
    """

    def __init__(
        self,
        rates: PauseRates,
        tick_rate: float,
        lengths: np.ndarray,
        seed: Seed,
        replicas: range,
    ) -> None:
        self._rates = rates
        self._tick_rate = tick_rate
        self._gaps = np.diff(lengths, axis=1, prepend=0)
        self._seed = seed
        self._replicas = replicas

    def states(self, durations: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        num_replicas, num_ranks = self._gaps.shape
        ticks = poisson_counts(self._seed, self._replicas, self._tick_rate * durations)
        banks = make_banks(replica_words(self._seed, self._replicas, (), BANK_WORDS))
        words = np.empty((num_replicas, BLOCK), np.uint64)
        clocks = np.zeros((num_replicas, CLOCK_ENTRIES), np.int64)
        clocks[:, CURSOR] = BLOCK
        table = np.zeros((num_ranks, 2), np.int64)
        for k in range(durations.size):
            clocks[:, TICK] = 0
            _run_replicas(
                self._gaps, banks, words, clocks, ticks[:, k], self._rates, table, EMPTY_SAMPLER
            )
            yield slice(k, None, durations.size), np.cumsum(self._gaps, axis=1)


@numba.njit(nogil=True)
def _run_replicas(gaps, banks, words, clocks, ticks, rates, table, sampler):
    for r in range(gaps.shape[0]):
        bank = RandomBank(banks.lanes[r], banks.side[r])
        run_pauses(gaps[r], bank, words[r], clocks[r], ticks[r], rates, table, sampler, False)
