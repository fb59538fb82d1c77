"""What a policy remembers to find the fastest of the shortest queues in near constant time.

Servers of equal rates make a class; classes are numbered from the fastest. Inside its class each
server is kept in order of length, as in `RankedQueues`, so that a uniform one of a class and a
length is found in O(1). For each length a set of bits holds the classes that have such servers.
Where all rates differ, the sets are all.
"""

from __future__ import annotations

import numba
import numpy as np

from .._engine._bit_tree import (
    fill_bits,
    insert_member,
    layer_starts,
    least_member,
    remove_member,
)
from .._engine._inlined import inlined
from .._engine._pointers import shifted
from .._engine._xoshiro import uniform_index

# Of `names`: classes, servers, layers of the sets, words of a set; the layers' starts. Then, for
# `class_memory` only, each server's class.
_CLASSES, _SERVERS, _LAYERS, _WORDS, _STARTS = range(5)
_MOST_LAYERS = 4
_CLASS_OF = _STARTS + _MOST_LAYERS + 1
# Of `memory`: a word per server, its class and, above, its place in the order of its class (where
# all rates differ, word c holds the server of class c instead); then the number of lengths that
# have a set, and where the parts start.
_CLASS_BITS = 22
_CLASS_MASK = (1 << _CLASS_BITS) - 1
_LEVELS, _FIRST, _ORDER, _SETS = range(4)
_HEADER = 4
# Levels beyond the longest queue of the start, and entries of all sets together.
_SPARE_LEVELS = 64
_MOST_ENTRIES = 1 << 22


def class_names(service_rates: np.ndarray) -> np.ndarray:
    """`names` of the compiled functions below."""
    rates, class_of = np.unique(-service_rates, return_inverse=True)
    starts = layer_starts(rates.size)
    padded = np.full(_MOST_LAYERS + 1, starts[-1])
    padded[: starts.size] = starts
    header = [rates.size, service_rates.size, starts.size - 1, starts[-1]]
    return np.concatenate((header, padded, class_of.ravel())).astype(np.int64)


def class_memory(lengths: np.ndarray, names: np.ndarray, buffer: int | None) -> np.ndarray:
    """`memory` of the compiled functions below for given lengths (K,).

    Lengths that are too long for a set count as one; with a buffer none are.
    """
    num_classes, size = int(names[_CLASSES]), int(names[_SERVERS])
    class_of = names[_CLASS_OF:]
    wanted = 2 * int(lengths.max()) + _SPARE_LEVELS if buffer is None else buffer + 1
    budget = _MOST_ENTRIES // int(names[_WORDS] + num_classes)
    num_levels = max(2, min(wanted, budget))
    capped = np.minimum(lengths, num_levels)
    order = np.lexsort((capped, class_of))
    position = np.empty_like(order)
    position[order] = np.arange(size)
    # One row per class: where each length starts in `order`.
    cells = class_of * (num_levels + 1) + capped
    first = np.searchsorted(cells[order], np.arange(num_classes * (num_levels + 1)))
    sets = np.zeros((num_levels, names[_WORDS]), np.int64)
    starts = names[_STARTS : _STARTS + names[_LAYERS] + 1]
    for level in np.unique(capped[capped < num_levels]):
        fill_bits(sets[level], np.unique(class_of[capped == level]), starts)
    begins = size + _HEADER + np.cumsum([0, first.size, order.size])
    header = np.concatenate(([num_levels], begins))
    packed = ((order if num_classes == size else position) << _CLASS_BITS) | class_of
    return np.concatenate((packed, header, first, order, sets.ravel())).astype(np.int64)


@inlined
def update_classes(queues, memory, server, level, up, numbers, names):
    """Account for a change of a length: `update` of a kernel."""
    header = shifted(memory, names[_SERVERS])
    num_levels = header[_LEVELS]
    if level + up > num_levels:
        return
    packed = memory[np.uintp(server)]
    group = packed & _CLASS_MASK
    after = level + 2 * up - 1
    leaves, joins = level < num_levels, after < num_levels
    if names[_CLASSES] < names[_SERVERS]:
        row = shifted(memory, header[_FIRST] + group * (num_levels + 1))
        _move(memory, shifted(memory, header[_ORDER]), row, server, packed, level, up)
        leaves = leaves and row[np.uintp(level)] == row[np.uintp(level + 1)]
        joins = joins and row[np.uintp(after + 1)] - row[np.uintp(after)] == 1
    starts, layers, words = shifted(names, _STARTS), names[_LAYERS], names[_WORDS]
    sets = shifted(memory, header[_SETS])
    if leaves:
        remove_member(shifted(sets, level * words), starts, layers, group)
    if joins:
        insert_member(shifted(sets, after * words), starts, layers, group)


@inlined
def _move(memory, order, row, server, packed, level, up):
    """`move` of `RankedQueues` inside a class, with class and place in one word."""
    bound = np.uintp(level + up)
    start = row[bound]
    edge = start - up
    row[bound] = start + 1 - 2 * up
    place, group = packed >> _CLASS_BITS, packed & _CLASS_MASK
    other = order[np.uintp(edge)]
    order[np.uintp(place)] = other
    memory[np.uintp(other)] = (place << _CLASS_BITS) | group
    order[np.uintp(edge)] = server
    memory[np.uintp(server)] = (edge << _CLASS_BITS) | group


@inlined
def fastest_of_shortest(queues, uniform, names, memory):
    """A uniform server of the fastest class that has one of the shortest queues."""
    header = shifted(memory, names[_SERVERS])
    shortest = queues.shortest
    if shortest >= header[_LEVELS]:
        return _scan(queues, uniform, names, memory)
    words = shifted(memory, header[_SETS] + shortest * names[_WORDS])
    group = least_member(words, shifted(names, _STARTS), names[_LAYERS])
    if names[_CLASSES] == names[_SERVERS]:
        return memory[np.uintp(group)] >> _CLASS_BITS
    row = shifted(memory, header[_FIRST] + group * (header[_LEVELS] + 1))
    start = row[np.uintp(shortest)]
    tied = row[np.uintp(shortest + 1)] - start
    return memory[np.uintp(header[_ORDER] + start + uniform_index(uniform, tied))]


@numba.njit
def _scan(queues, uniform, names, memory):
    """The same among queues that are too long for a set, one by one."""
    size = queues.num_servers
    best, tied = names[_CLASSES], 0
    for server in range(size):
        group = memory[np.uintp(server)] & _CLASS_MASK
        if queues.lengths[np.uintp(server)] == queues.shortest and group <= best:
            tied = tied + 1 if group == best else 1
            best = group
    skip = uniform_index(uniform, tied)
    for server in range(size):
        is_best = memory[np.uintp(server)] & _CLASS_MASK == best
        if is_best and queues.lengths[np.uintp(server)] == queues.shortest:
            if skip == 0:
                return np.int64(server)
            skip -= 1
    return np.int64(-1)
