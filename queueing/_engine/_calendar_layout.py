"""A system in the form that the calendar loop reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._alias import alias_table
from ._calendar_changes import PAST, PRESENT, WITH_TRAVELLERS
from ._calendar_moves import AT_ONCE, BY_HEAP, BY_RING
from ._calendar_state import Layout
from ._calendar_supply import block_sizes, service_classes
from ._log_histogram import histogram_unit

if TYPE_CHECKING:
    from .._system import System

# Different constant travel times beyond which one heap serves them all.
_MAX_RINGS = 1024


def travel_kind(system: System) -> int:
    """How jobs reach their server: at once, by rings of constant times, or by a heap."""
    if system.travel_times is None:
        return AT_ONCE
    is_constant = system.travel_law is None or system.travel_law.scv == 0.0
    few = np.unique(system.travel_times).size <= _MAX_RINGS
    return BY_RING if is_constant and few else BY_HEAP


def sight_kind(system: System) -> int:
    """Which lengths the policy sees."""
    if system.information is not None:
        return PAST
    return WITH_TRAVELLERS if system.count_travelling else PRESENT


def layout_of(system: System) -> Layout:
    """Sizes, rates and tables of `system`."""
    laws, classes = service_classes(system)
    size, travel = system.num_servers, travel_kind(system)
    spans, rings = np.zeros(1), np.zeros(1, np.int64)
    probs = np.ones(1)
    num_rings = 0
    if system.travel_times is not None and system.origin_probs is not None:
        spans, rings = np.unique(system.travel_times, return_inverse=True)
        num_rings, probs = spans.size, system.origin_probs
        if travel == BY_HEAP:
            spans, num_rings = system.travel_times.ravel(), 1
    cut, alias = alias_table(probs)
    sources = size + num_rings + (sight_kind(system) == PAST)
    rates = np.where(system.service_rates > 0.0, system.service_rates, 1.0)
    information = system.information
    return Layout(
        size,
        num_rings,
        1 << int(sources - 1).bit_length(),
        np.iinfo(np.int64).max if system.buffer is None else system.buffer,
        *block_sizes(len(laws)),
        int(system.count_travelling),
        system.num_origins,
        float(getattr(information, "period", 0.0)),
        float(getattr(information, "delay", 0.0)),
        1.0 / histogram_unit(system),
        rates,
        np.where(classes < 0, len(laws), classes),
        cut,
        alias,
        np.ascontiguousarray(rings.ravel(), dtype=np.int64),
        np.ascontiguousarray(spans, dtype=np.float64),
    )
