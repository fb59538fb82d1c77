"""Ranked particles in slots: sorting that is cheap where little is out of order, neighbours.

Rank ``4 j + w`` sits at ``[w, j]`` of an array (4, block, group, lane), so three of four
neighbours are found in the same place of another word, and the fourth by a shift along the blocks.
"""

import jax.numpy as jnp
from jax import lax


def next_block(slots, fill):
    """The value one block further up, `fill` beyond the last; blocks on the first axis."""
    return _shift(slots[1:], fill, (0, 1, 0))


def previous_block(slots, fill):
    """The value one block further down, `fill` below the first; blocks on the first axis."""
    return _shift(slots[:-1], fill, (1, 0, 0))


def neighbours(slots, reach: int, below, above):
    """Arrays (block, group, lane) for the ranks -reach ... 3 + reach of each block, as a dict.

    `below` and `above` are taken where there is no rank. Keys are offsets within the block.
    """
    found = {}
    for rank in range(-reach, 4 + reach):
        block, word = divmod(rank, 4)
        value = slots[word]
        for _ in range(block):
            value = next_block(value, above)
        for _ in range(-block):
            value = previous_block(value, below)
        found[rank] = value
    return found


def sort_slots(slots):
    """Ranked slots from slots that are nearly in order, +inf in those that hold no particle.

    Odd-even transposition until all replicas are in order; a pass over one that is changes
    nothing, so a replica does not depend on the batch. Source: [Knuth1998], section 5.3.4. Cost:
    about a pass for each place that the particle farthest from its own has to move.
    """
    return lax.while_loop(_is_out_of_order, _transpose, slots)


def _is_out_of_order(slots):
    a, b, c, d = slots
    return jnp.any((a > b) | (b > c) | (c > d) | (d > next_block(a, jnp.inf)))


def _transpose(slots):
    # One stacked result: XLA vectorises its loop, and computes the exchanges in registers.
    a, b, c, d = slots
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    c, d = jnp.minimum(c, d), jnp.maximum(c, d)
    b, c = jnp.minimum(b, c), jnp.maximum(b, c)
    below, above = previous_block(d, -jnp.inf), next_block(a, jnp.inf)
    return jnp.stack([jnp.maximum(a, below), b, c, jnp.minimum(d, above)])


def _shift(slots, fill, config):
    edges = (config,) + ((0, 0, 0),) * (slots.ndim - 1)
    return lax.pad(slots, jnp.asarray(fill, slots.dtype), edges)
