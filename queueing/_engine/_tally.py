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
# The table of servers has the same first columns, and counts of jobs.
ACCEPTED, FOUND, WAITED, SERVED = range(4, 8)
SERVER_COLUMNS = 8


@numba.njit(forceinline=True)
def tally_event(ranks, servers, edge, server, level, up, tick):
    """Account for a change at `tick` of a ranked and of a server's length, both `level` before."""
    rank_row = np.uintp(edge) * np.uintp(RANK_COLUMNS)
    row = np.uintp(server) * np.uintp(SERVER_COLUMNS)
    ranks[rank_row + np.uintp(AREA)] += level * (tick - ranks[rank_row + np.uintp(SINCE)])
    ranks[rank_row + np.uintp(SINCE)] = tick
    servers[row + np.uintp(AREA)] += level * (tick - servers[row + np.uintp(SINCE)])
    servers[row + np.uintp(SINCE)] = tick
    servers[row + np.uintp(ACCEPTED)] += up
    servers[row + np.uintp(SERVED)] += 1 - up
    if up == 1:
        servers[row + np.uintp(FOUND)] += level
        servers[row + np.uintp(WAITED)] += level > 0
        if level == 0:
            zero_since = rank_row + np.uintp(ZERO_SINCE)
            idle_since = row + np.uintp(ZERO_SINCE)
            ranks[rank_row + np.uintp(ZERO_TICKS)] += tick - ranks[zero_since]
            servers[row + np.uintp(ZERO_TICKS)] += tick - servers[idle_since]
    elif level == 1:
        ranks[rank_row + np.uintp(ZERO_SINCE)] = tick
        servers[row + np.uintp(ZERO_SINCE)] = tick


@numba.njit(nogil=True)
def close_window(table, lengths, num_states):
    """Add to the integrals what is pending after `num_states` states of the window."""
    for k in range(lengths.shape[0]):
        table[k, AREA] += lengths[k] * (num_states - table[k, SINCE])
        if lengths[k] == 0:
            table[k, ZERO_TICKS] += num_states - table[k, ZERO_SINCE]
