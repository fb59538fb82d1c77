"""The random bits of the event loops: banks of xoshiro256++ generators, one bank per replica."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ._inlined import inlined
from ._pointers import pointer_to, shifted

NUM_LANES = 16
BLOCK = 1024
# What a bank is seeded from.
BANK_WORDS = 4 * (NUM_LANES + 1)
# 53 bits: what a double holds. 32 are too coarse for the rare events of large systems.
UNIT = 1.0 / 9007199254740992.0
BELOW_ONE = 1.0 - UNIT


class RandomBank(NamedTuple):
    """The generator of one replica.

    Attributes:
        lanes: (4, NUM_LANES) uint64, independent xoshiro256++ states that fill blocks of words.
        side: (4,) uint64, one more state, for the draws that only some events need.
    """

    lanes: np.ndarray
    side: np.ndarray


def valid_states(words: np.ndarray) -> np.ndarray:
    """The words (4, ...) as states, in place: four zeros are the one that xoshiro must not have."""
    words[0][~words.any(axis=0)] = 1
    return words


def make_bank(sequence: np.random.SeedSequence) -> RandomBank:
    """A bank seeded from `sequence`, which must belong to one replica only."""
    banks = make_banks(sequence.generate_state(BANK_WORDS, np.uint64)[None])
    return RandomBank(banks.lanes[0], banks.side[0])


def make_banks(words: np.ndarray) -> RandomBank:
    """Banks seeded from words (R, BANK_WORDS): lanes (R, 4, NUM_LANES), sides (R, 4)."""
    words = words.reshape(-1, 4, NUM_LANES + 1)
    valid_states(np.moveaxis(words, 1, 0))
    return RandomBank(np.ascontiguousarray(words[..., :-1]), np.ascontiguousarray(words[..., -1]))


def _step_of_lanes(typing_context: Any, lanes: Any, out: Any) -> Any:
    """One step of all lanes as one vector, whatever the compiler would make of a loop."""
    del typing_context
    vector = ir.VectorType(ir.IntType(64), NUM_LANES)

    def codegen(context, builder, signature, arguments):
        del context, signature
        start = builder.bitcast(arguments[0], vector.as_pointer())
        places = [builder.gep(start, [ir.Constant(ir.IntType(64), k)]) for k in range(4)]
        s0, s1, s2, s3 = (builder.load(place, align=8) for place in places)

        def constant(shift):
            return ir.Constant(vector, [shift] * NUM_LANES)

        def rotated(value, left):
            upper = builder.shl(value, constant(left))
            return builder.or_(upper, builder.lshr(value, constant(64 - left)))

        result = builder.add(rotated(builder.add(s0, s3), 23), s0)
        mixed2, mixed3 = builder.xor(s2, s0), builder.xor(s3, s1)
        after = (
            builder.xor(s0, mixed3),
            builder.xor(s1, mixed2),
            builder.xor(mixed2, builder.shl(s1, constant(17))),
            rotated(mixed3, 45),
        )
        for value, place in zip(after, places, strict=True):
            builder.store(value, place, align=8)
        target = builder.bitcast(arguments[1], vector.as_pointer())
        builder.store(result, target, align=8)

    return types.void(types.CPointer(types.uint64), types.CPointer(types.uint64)), codegen


# _step_lanes(lanes, out), two pointers: numba passes the typing context by itself.
_step_lanes: Callable[..., None] = intrinsic(_step_of_lanes)


@numba.njit(nogil=True)
def fill_words(lanes: np.ndarray, words: np.ndarray) -> None:
    """Fill `words` (a multiple of NUM_LANES) from the lanes in turn; about 0.4 ns a word.

    Source: xoshiro256++, [BlackmanVigna2021].
    """
    fill_rows(pointer_to(lanes), pointer_to(words), words.shape[0] // NUM_LANES)


@inlined
def fill_rows(lanes: Any, words: Any, num_rows: int) -> None:
    """As `fill_words`, with pointers and the number of rows of NUM_LANES words."""
    for row in range(num_rows):
        _step_lanes(lanes, shifted(words, row * NUM_LANES))


@inlined
def next_word(side: np.ndarray) -> np.uint64:
    """The next 64 bits of the side generator."""
    total = side[0] + side[3]
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + side[0]
    shifted = side[1] << np.uint64(17)
    side[2] ^= side[0]
    side[3] ^= side[1]
    side[1] ^= side[2]
    side[0] ^= side[3]
    side[2] ^= shifted
    side[3] = (side[3] << np.uint64(45)) | (side[3] >> np.uint64(19))
    return result


@inlined
def as_uniform(word: np.uint64) -> float:
    """The upper 53 bits of a word as a number in [0, 1)."""
    return np.int64(word >> np.uint64(11)) * UNIT


@inlined
def next_uniform(side: np.ndarray) -> float:
    """The next number in [0, 1) of the side generator, 53 bits."""
    return as_uniform(next_word(side))


@inlined
def next_exponential(side: np.ndarray) -> float:
    """The next exponential of mean 1 of the side generator; always finite, never 0."""
    return -np.log((np.int64(next_word(side) >> np.uint64(11)) + 0.5) * UNIT)


@inlined
def uniform_index(uniform: float, count: int) -> np.int64:
    """The index in 0 ... count - 1 that a number in [0, 1) stands for; count below 2^22.

    In integers, because `count` is often fresh from memory: the conversion of `uniform` does not
    wait for it.  Chances are equal to 2^-40.
    """
    return (np.int64(uniform * 1099511627776.0) * count) >> 40
