"""Seeds of many replicas at once: numpy's SeedSequence, compiled.

A short replica is simulated faster than numpy mixes its seed, or makes an object to do so. The
words here are those of `numpy.random.SeedSequence`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.random.bit_generator import ISeedSequence

from ._inlined import inlined

if TYPE_CHECKING:
    from atlas.ensemble import Seed

_POOL = 4
_WORD = 0xFFFFFFFF


def replica_words(
    seed: Seed, replicas: range, purpose: tuple[int, ...], num_words: int
) -> np.ndarray:
    """`seed.sequence(replica, *purpose).generate_state(num_words, uint64)` of every replica.

    Arguments:
        purpose: what the words are for, as a spawn key below the replica's own.

    Returns:
        (R, num_words) uint64.

    Source: seed_seq_fe of M. E. O'Neill, as numpy has it.  Cost: 6 ns per word.
    """
    words = np.empty((len(replicas), num_words), np.uint64)
    entropy = np.zeros(_POOL + 1 + len(purpose), np.int64)
    entropy[:2] = seed.words
    entropy[_POOL + 1 :] = purpose
    _fill(words, np.array(replicas, np.int64), entropy, np.empty(_POOL, np.int64))
    return words


def replica_generators(seed: Seed, replicas: range, purpose: int) -> Iterator[np.random.Generator]:
    """The generator of every replica for one purpose, the same in whatever batch it runs.

    A PCG64 seeded by the SeedSequence of `seed` with spawn key (replica, purpose).
    """
    words = replica_words(seed, replicas, (purpose,), _Mixed.NUM_WORDS)
    for row in words:
        # numpy's stubs know its own class of seed sequences only.
        yield np.random.Generator(np.random.PCG64(_Mixed(row)))  # type: ignore[arg-type]


def poisson_counts(seed: Seed, replicas: range, means: np.ndarray) -> np.ndarray:
    """(R, T) Poisson numbers of the given means (T,).

    By the first child of each replica's sequence: how many events there are is drawn apart from
    what happens in them.
    """
    generators = replica_generators(seed, replicas, 0)
    # One by one, because an array of means is checked for longer than its numbers are drawn.
    return np.array([[each.poisson(mean) for mean in means] for each in generators])


class _Mixed(ISeedSequence):
    """A seed sequence whose words are there already."""

    # What PCG64 asks for.
    NUM_WORDS = 4

    def __init__(self, words: np.ndarray) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        assert n_words == self._words.size and dtype == np.uint64
        return self._words


@inlined
def _hashed(value, constant, factor):
    """The hash of a word, and the constant of the next one.

    In 64-bit integers, whose products wrap around: only their lower 32 bits are kept.
    """
    following = (constant * factor) & _WORD
    value = ((value ^ constant) * following) & _WORD
    return value ^ (value >> 16), following


@inlined
def _mixed(x, y):
    result = (0xCA01F9DD * x - 0x4973F715 * y) & _WORD
    return result ^ (result >> 16)


@inlined
def _mix_entropy(entropy, pool):
    """Fill the pool (4,) from the words (E,), E >= 4."""
    constant, factor = 0x43B0D7E5, 0x931E8875
    for i in range(_POOL):
        pool[i], constant = _hashed(entropy[i], constant, factor)
    for source in range(entropy.shape[0]):
        for target in range(_POOL):
            if source != target:
                word = pool[source] if source < _POOL else entropy[source]
                value, constant = _hashed(word, constant, factor)
                pool[target] = _mixed(pool[target], value)


@numba.njit(nogil=True)
def _fill(words, replicas, entropy, pool):
    """Fill `words` (R, W); the replica's index is the first word of `entropy` beyond the pool."""
    factor = 0x58F38DED
    for r in range(replicas.shape[0]):
        entropy[_POOL] = replicas[r]
        _mix_entropy(entropy, pool)
        constant = 0x8B51F9DD
        for i in range(words.shape[1]):
            low, constant = _hashed(pool[2 * i % _POOL], constant, factor)
            high, constant = _hashed(pool[(2 * i + 1) % _POOL], constant, factor)
            words[r, i] = np.uint64(low) | (np.uint64(high) << np.uint64(32))
