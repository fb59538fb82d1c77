"""Sets of small integers as bits, with the least member in constant time.

A set of numbers below m takes the bits of ceil(m / 64) words; a second layer has a bit for each
word that is not 0, and so on up to a single word. A set is one row of words: the lowest layer
first. Four layers hold 16 million numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ._inlined import inlined

_BITS = 64


def layer_starts(size: int) -> np.ndarray:
    """(D + 1,) int64: where each layer of a set of numbers below `size` starts, and the length."""
    counts = [max(1, -(-size // _BITS))]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // _BITS))
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def fill_bits(row: np.ndarray, members: np.ndarray, starts: np.ndarray) -> None:
    """Make `row`, all 0, the set of `members`."""
    layer = np.asarray(members, np.int64)
    for start in starts[:-1]:
        words, bits = np.divmod(layer, _BITS)
        masks = (np.uint64(1) << bits.astype(np.uint64)).view(np.int64)
        np.bitwise_or.at(row, start + words, masks)
        layer = np.unique(words)


def _count_trailing_zeros(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit of an int64 that is not 0."""
    del typing_context

    def codegen(context, builder, signature, arguments):
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


# _lowest_bit(word): numba passes the typing context by itself.
_lowest_bit: Callable[..., Any] = intrinsic(_count_trailing_zeros)


@inlined
def least_member(row, starts, num_layers):
    """The least number of a set that is not empty; all arguments but the last are pointers."""
    place = np.int64(0)
    for layer in range(num_layers - 1, -1, -1):
        place = place * _BITS + _lowest_bit(row[np.uintp(starts[np.uintp(layer)] + place)])
    return place


@inlined
def insert_member(row, starts, num_layers, member):
    """Put a number into the set."""
    place = member
    for layer in range(num_layers):
        word = np.uintp(starts[np.uintp(layer)] + (place >> 6))
        before = row[word]
        row[word] = before | (np.int64(1) << (place & 63))
        if before != 0:
            break
        place >>= 6


@inlined
def remove_member(row, starts, num_layers, member):
    """Take a number out of the set."""
    place = member
    for layer in range(num_layers):
        word = np.uintp(starts[np.uintp(layer)] + (place >> 6))
        left = row[word] & ~(np.int64(1) << (place & 63))
        row[word] = left
        if left != 0:
            break
        place >>= 6
