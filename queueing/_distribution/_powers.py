"""Exponentials of logarithms that may be too large for a float."""

from __future__ import annotations

import math


def finite_or_inf(log_value: float) -> float:
    """exp(log_value), inf where that exceeds the largest float."""
    try:
        return math.exp(log_value)
    except OverflowError:
        return math.inf
