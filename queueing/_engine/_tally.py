"""Exact time integrals of an event loop, at constant cost per event.

The clock counts ticks of the uniformised chain. A path that is x at the end, after T states, and
changed by d_k at tick t_k has the integral x T - sum_k d_k t_k, so that of every rank needs one
addition per event and no look at the clock of its last change. Sums are integers, so they are
exact.
"""

from __future__ import annotations

import numba
import numpy as np

from ._inlined import inlined

# Columns of the table of servers: the sum of the lengths that accepted jobs found, and how many
# jobs left. Accepted are those that left and those that are more than at the beginning.
FOUND, SERVED = range(2)
SERVER_COLUMNS = 2
# Lengths below it have a row each in the table of found lengths, longer ones 2^8 per octave.
_EXACT_BELOW = 1 << 9


@numba.njit(forceinline=True)
def level_row(level):
    """The row of a length in the table of found lengths; its rows ascend with the length."""
    shift = 0
    while level >= _EXACT_BELOW:
        level >>= 1
        shift += 1
    return shift * (_EXACT_BELOW // 2) + level


def row_level(row: int) -> float:
    """The length that stands for a row, within a relative 2^-9 of all of them."""
    shift = max(0, row // (_EXACT_BELOW // 2) - 1)
    lowest = (row - shift * (_EXACT_BELOW // 2)) << shift
    return lowest + 0.5 * ((1 << shift) - 1)


@inlined
def tally_event(moments, servers, found, groups, num_groups, edge, server, level, up, tick):
    """Account for a change at `tick` of the ranked length at position `edge`, `level` before."""
    moments[np.uintp(edge)] += (2 * up - 1) * tick
    place = np.uintp(server) * np.uintp(SERVER_COLUMNS)
    # Without a branch: the level that was found, or one more that was served.
    servers[place + np.uintp(1 - up)] += 1 + up * (level - 1)
    row = np.uintp(level_row(level)) * np.uintp(num_groups)
    # One group is the rule, and then its table of servers stays out of the cache.
    group = np.uintp(groups[np.uintp(server)]) if num_groups > 1 else np.uintp(0)
    found[row + group] += up
