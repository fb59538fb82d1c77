"""Special arrivals at servers that never work: the path that a side generator's words stand for."""

from __future__ import annotations

import math

import numpy as np

MASK = 2**64 - 1


def rotate(word, left):
    return ((word << left) | (word >> (64 - left))) & MASK


def reference_word(state):
    """xoshiro256++ in Python's integers."""
    result = (rotate((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
    shifted = (state[1] << 17) & MASK
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = rotate(state[3], 45)
    return result


def arrivals_by_hand(lengths, duration, rate, table, side, *, is_due=False):
    """Lengths after `duration`: exponential gaps, a rank, ties uniform in the order of servers.

    Arguments:
        table: cut and alias of the rank that arrivals join; of one cell, none is drawn.
        side: (4,) state of the generator.
        is_due: whether the first arrival comes at once.
    """
    lengths, state, time = np.array(lengths), [int(word) for word in side], 0.0

    def upper_bits():
        return reference_word(state) >> 11

    while True:
        time -= 0.0 if is_due else math.log((upper_bits() + 0.5) * 2.0**-53) / rate
        is_due = False
        if time >= duration:
            return lengths
        rank, (cut, alias) = 0, table
        if len(cut) > 1:
            within, rank = math.modf(upper_bits() * 2.0**-53 * len(cut))
            rank = int(rank) if within < cut[int(rank)] else alias[int(rank)]
        tied = np.flatnonzero(lengths == np.sort(lengths)[rank])
        lengths[tied[upper_bits() * len(tied) >> 53]] += 1
