"""Bounds of the probability that a replica is no path of its system, and budgets for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from atlas.ensemble import Result, Variable

from ._checks import check_positive

VIOLATION_BOUND = "violation_bound"
DEFAULT_BUDGET = 1e-9
_EXCEEDED = "violation bound exceeded"


class ViolationBoundError(RuntimeError):
    """A run whose law may be further from the system's than its `violation_budget`."""


def check_violation_budget(budget: Any) -> float:
    """`budget` as a probability in (0, 1]."""
    remedy = "a probability in (0, 1], or use engine='leap', which needs none"
    value = check_positive("violation_budget", budget, remedy=remedy)
    if value > 1.0:
        raise ValueError(f"violation_budget is {budget!r}; give {remedy}")
    return value


def violation_results(
    arrays: dict[str, np.ndarray], budget: float
) -> tuple[dict[str, Variable], dict[str, Any]]:
    """Variables and attributes of a result, from the bounds that are taken out of `arrays`.

    Both empty for engines that need no bound.
    """
    if VIOLATION_BOUND not in arrays:
        return {}, {}
    bounds = arrays.pop(VIOLATION_BOUND)
    largest = float(bounds.max())
    attrs: dict[str, Any] = {VIOLATION_BOUND: largest, "violation_budget": budget}
    if largest > budget:
        attrs["result"] = f"{_EXCEEDED}: {largest:.3g} in a replica, above {budget:.3g}"
    return {VIOLATION_BOUND: Variable(("replica",), bounds)}, attrs


def refuse_violations(result: Result, throw: bool) -> None:
    """Raise `ViolationBoundError` for a result beyond its budget, if `throw`."""
    verdict = str(result.attrs.get("result", ""))
    if throw and verdict.startswith(_EXCEEDED):
        raise ViolationBoundError(
            f"{verdict}; raise violation_budget, use engine='leap', or pass throw=False"
        )
