"""Exact time integrals of an event loop, at constant cost per event.

The clock counts ticks of the uniformised chain. When a ranked length changes, only then, its old
value times the ticks that it was held for is added to its integral; `close_window` adds what is
pending. Sums are integers, so they are exact.
"""

from __future__ import annotations

import numba
import numpy as np

# Columns of the table of ranks, one row per position in the order of lengths.
AREA, SINCE, ZERO_TICKS, ZERO_SINCE = range(4)
RANK_COLUMNS = 4
# Columns of the table of servers: the sum of the lengths that accepted jobs found, and how many
# jobs left. Accepted are those that left and those that are more than at the beginning.
FOUND, SERVED = range(2)
SERVER_COLUMNS = 2


@numba.njit(forceinline=True)
def tally_event(ranks, servers, edge, server, level, up, tick):
    """Account for a change at `tick` of the ranked length at position `edge`, `level` before."""
    row = np.uintp(edge) * np.uintp(RANK_COLUMNS)
    ranks[row + np.uintp(AREA)] += level * (tick - ranks[row + np.uintp(SINCE)])
    ranks[row + np.uintp(SINCE)] = tick
    place = np.uintp(server) * np.uintp(SERVER_COLUMNS)
    if up == 1:
        servers[place + np.uintp(FOUND)] += level
        if level == 0:
            ranks[row + np.uintp(ZERO_TICKS)] += tick - ranks[row + np.uintp(ZERO_SINCE)]
    else:
        servers[place + np.uintp(SERVED)] += 1
        if level == 1:
            ranks[row + np.uintp(ZERO_SINCE)] = tick


@numba.njit(nogil=True)
def close_window(ranks, ranked, num_states):
    """Add to the integrals what is pending after `num_states` states of the window."""
    for k in range(ranked.shape[0]):
        ranks[k, AREA] += ranked[k] * (num_states - ranks[k, SINCE])
        if ranked[k] == 0:
            ranks[k, ZERO_TICKS] += num_states - ranks[k, ZERO_SINCE]
