"""One compiled rule for every policy whose law is a mixture of ranks and servers."""

from __future__ import annotations

import numpy as np

from .._engine._alias import alias_table, draw_alias
from .._engine._inlined import inlined
from .._engine._xoshiro import BELOW_ONE, next_uniform, uniform_index

_HEADER = 2


@inlined
def choose_by_law(queues, uniform, side, numbers, names, memory):
    """The server of one job: with probability numbers[0] by rank, else by name.  Cost O(1).

    A tie is broken by a uniform position within the tied block: positions inside a block carry the
    history of the servers, so a fixed one would be biased.
    """
    weight = numbers[0]
    num_ranks, num_servers = names[0], names[1]
    if uniform < weight:
        rank = 0
        if num_ranks > 1:
            rank = draw_alias(next_uniform(side), numbers, names, _HEADER, num_ranks)
        # A thin stream leaves too few random bits in its uniform number: it draws another.
        place = uniform if weight == 1.0 else next_uniform(side)
        level, start = queues.shortest, 0
        if rank > 0:
            level = queues.lengths[np.uintp(queues.order[np.uintp(rank)])]
            start = queues.first[np.uintp(level)]
        tied = queues.first[np.uintp(level + 1)] - start
        return queues.order[np.uintp(start + uniform_index(place, tied))]
    place = min((uniform - weight) * numbers[1], BELOW_ONE)
    if num_servers == 0:
        return uniform_index(place, queues.num_servers)
    return draw_alias(place, numbers, names, _HEADER + num_ranks, num_servers)


def law_parameters(by_rank: np.ndarray, by_server: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`numbers` and `names` of `choose_by_law`: a header, then the alias cells of both laws."""
    weight = 1.0 if not by_server.any() else float(by_rank.sum())
    rest = 1.0 / (1.0 - weight) if weight < 1.0 else 0.0
    num_ranks = int(np.flatnonzero(by_rank)[-1]) + 1 if by_rank.any() else 0
    rank_cut, rank_alias = alias_table(by_rank[:num_ranks])
    is_uniform = bool(np.all(by_server == by_server[0]))
    server_cut, server_alias = alias_table(by_server[:0] if is_uniform else by_server)
    numbers = np.concatenate(([weight, rest], rank_cut, server_cut))
    names = np.concatenate(([num_ranks, server_cut.size], rank_alias, server_alias))
    return numbers, names
