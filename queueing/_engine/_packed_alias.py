"""Alias tables of one word per cell, for laws that change with every interval.

A cell holds its alias in the lower bits, 11 of 64 for up to 2048 cells, and its cut in the upper
53. One random word draws: of the product of its upper bits with the number of cells the upper bits
choose one, the lower meet its cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._alias import fill_alias

MAX_BITS = 11
MAX_CELLS = 1 << MAX_BITS


class PackedAlias(NamedTuple):
    """A table and what it is filled from.

    Attributes:
        bits: of an alias.
        cells: (2^bits,) uint64, of which the first ones are in use.
        weights: (m,) float64, proportional to the law.
        cut, alias: (2^bits,) scratch.
    """

    bits: int
    cells: np.ndarray
    weights: np.ndarray
    cut: np.ndarray
    alias: np.ndarray


def make_packed_alias(num_weights: int, bits: int = MAX_BITS) -> PackedAlias:
    """An empty table of up to 2^bits cells, whose weights may need `num_weights` entries."""
    size = 1 << bits
    return PackedAlias(
        bits,
        np.empty(size, np.uint64),
        np.empty(num_weights),
        np.empty(size),
        np.empty(size, np.int64),
    )


@numba.njit(nogil=True)
def fill_packed(table, count):
    """Fill the table's first `count` cells from as many weights, which stay as they are."""
    cells, cut, alias = table.cells, table.cut, table.alias
    bits = np.uint64(table.bits)
    one = np.int64(1) << (64 - table.bits)
    fill_alias(table.weights[:count], cut[:count], alias[:count])
    for k in range(count):
        whole = min(np.int64(cut[k] * one), one - 1)
        cells[k] = (np.uint64(whole) << bits) | np.uint64(alias[k])


@numba.njit(forceinline=True)
def draw_packed(word, cells, count, bits=MAX_BITS):
    """The index that a random word stands for, in a table of `count` cells with `bits` of alias."""
    # 53 bits times 11 bits: the upper part is the cell, the lower 53 bits are uniform in it.
    own, upper = np.uint64(bits), np.uint64(64 - bits)
    product = np.uint64(word >> own) * np.uint64(count)
    index = product >> upper
    cell = cells[np.uintp(index)]
    within = product & ((np.uint64(1) << upper) - np.uint64(1))
    keeps = within < (cell >> own)
    return np.int64(index) if keeps else np.int64(cell & ((np.uint64(1) << own) - np.uint64(1)))
