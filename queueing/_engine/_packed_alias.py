"""Alias tables of one word per cell, for laws that change with every interval.

A cell holds its 53-bit cut in the upper bits and its alias in the lower 11. One random word draws:
of its product with the number of cells the upper bits choose one, the lower meet its cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ._alias import fill_alias

MAX_BITS = 11
MAX_CELLS = 1 << MAX_BITS
_LOW_BITS = (1 << 53) - 1


class PackedAlias(NamedTuple):
    """A table and what it is filled from.

    Attributes:
        cells: (MAX_CELLS,) uint64, of which the first ones are in use.
        weights: (m,) float64, proportional to the law.
        cut, alias: (MAX_CELLS,) scratch.
    """

    cells: np.ndarray
    weights: np.ndarray
    cut: np.ndarray
    alias: np.ndarray


def make_packed_alias(num_weights: int) -> PackedAlias:
    """An empty table whose weights may need `num_weights` entries."""
    return PackedAlias(
        np.empty(MAX_CELLS, np.uint64),
        np.empty(num_weights),
        np.empty(MAX_CELLS),
        np.empty(MAX_CELLS, np.int64),
    )


@numba.njit(nogil=True)
def fill_packed(table, count):
    """Fill the table's first `count` cells from as many weights, which stay as they are."""
    cells, cut, alias = table.cells, table.cut, table.alias
    fill_alias(table.weights[:count], cut[:count], alias[:count])
    for k in range(count):
        whole = min(np.int64(cut[k] * 9007199254740992.0), _LOW_BITS)
        cells[k] = (np.uint64(whole) << np.uint64(MAX_BITS)) | np.uint64(alias[k])


@numba.njit(forceinline=True)
def draw_packed(word, cells, count):
    """The index that a random word stands for, in a table of `count` cells."""
    # 53 bits times 11 bits: the upper part is the cell, the lower 53 bits are uniform in it.
    product = np.uint64(word >> np.uint64(11)) * np.uint64(count)
    index = product >> np.uint64(53)
    cell = cells[np.uintp(index)]
    own = (product & np.uint64(_LOW_BITS)) < (cell >> np.uint64(MAX_BITS))
    return np.int64(index) if own else np.int64(cell & np.uint64(MAX_CELLS - 1))
