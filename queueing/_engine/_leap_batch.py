"""Many replicas of engine "leap" in one compiled call, which no other thread waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from ._base import Together
from ._leap_interval import make_leap_scratch, make_leap_tables, update_minima
from ._leap_loop import LeapSums, run_leaps
from ._leap_subject import LeapSubject
from ._replica_seeds import replica_words
from ._sampler import EMPTY_SAMPLER
from ._xoshiro import BANK_WORDS, RandomBank, make_banks

if TYPE_CHECKING:
    from atlas.ensemble import Seed


class LeapBatch(Together):
    """A block of replicas; their numbers are those of single ones.

    Arguments:
        shared: the system.
        lengths: (R, K) to start from.
        seed, replicas: as of `OneByOne`.
    """

    def __init__(
        self, shared: LeapSubject, lengths: np.ndarray, seed: Seed, replicas: range
    ) -> None:
        self._shared = shared
        self._lengths = shared.by_class(lengths)
        self._banks = make_banks(replica_words(seed, replicas, (), BANK_WORDS))
        self._tables = make_leap_tables()
        self._scratch = make_leap_scratch(lengths.shape[1])

    def lengths(self) -> np.ndarray:
        return self._shared.by_name(self._lengths)

    def advance(self, duration: float) -> None:
        _leap_replicas(
            self._lengths,
            duration,
            self._shared.leap_system,
            self._banks,
            self._tables,
            self._scratch,
            _NO_SUMS,
            EMPTY_SAMPLER,
        )


# Nothing is averaged.
_NO_SUMS = LeapSums(np.zeros(0, np.int64), np.zeros((2, 0)), np.ones(1, np.int64))


@numba.njit(nogil=True)
def _leap_replicas(lengths, duration, system, banks, tables, scratch, sums, sampler):
    for r in range(lengths.shape[0]):
        bank = RandomBank(banks.lanes[r], banks.side[r])
        update_minima(lengths[r], scratch.minima)
        run_leaps(lengths[r], duration, system, bank, tables, scratch, sums, sampler, False)
