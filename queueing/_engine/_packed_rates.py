"""An alias table of many servers' rates in one word per server, which halves the memory it needs.

A cell holds its cut as 42 bits and its alias as 22: chances are equal to 2^-42 of a cell, which is
what a 53-bit number resolves among 2^11 and more servers.
"""

from __future__ import annotations

import numpy as np

from ._alias import alias_table
from ._inlined import inlined
from ._xoshiro import BELOW_ONE, uniform_index

_ALIAS_BITS = 22
_CUT_UNIT = float(1 << 42)


def pack_rates(rates: np.ndarray) -> np.ndarray:
    """(K,) int64 cells; (0,) if all rates are equal."""
    if (rates == rates[0]).all():
        return np.zeros(0, np.int64)
    cut, alias = alias_table(rates)
    whole = np.minimum(cut * _CUT_UNIT, _CUT_UNIT - 1.0).astype(np.uint64)
    return ((whole << np.uint64(_ALIAS_BITS)) | alias.astype(np.uint64)).view(np.int64)


@inlined
def draw_server(uniform, cells, size, num_servers):
    """The server that a number in [0, 1) stands for, in proportion to the rates."""
    place = min(uniform, BELOW_ONE)
    if size == 0:
        return uniform_index(place, num_servers)
    scaled = place * size
    own = np.int64(scaled)
    cell = np.uint64(cells[np.uintp(own)])
    is_own = np.int64((scaled - own) * _CUT_UNIT) < np.int64(cell >> np.uint64(_ALIAS_BITS))
    return own if is_own else np.int64(cell & np.uint64((1 << _ALIAS_BITS) - 1))
