"""A stopping rule: go on until the interval is narrow, relative to the value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._checks import check_fraction
from ._estimate import Estimate
from ._real_numbers import real_scalar


@dataclass(frozen=True)
class RelativeHalfWidth:
    """Stop when every interval's half-width is small against its value.

        half-width <= target / (1 + target) * |value| ,   dof >= min_dof

    The factor 1/(1 + target) makes the error at most `target` of the *true* value whenever the
    interval covers it. A rule that looks repeatedly stops too early now and then: check after
    doublings, not after every sample, and keep `min_dof`. An entry that is exactly 0 +- 0 (an
    event not seen yet) does not count as known: leave such observables out.

    Arguments:
        target: largest relative error, in (0, 1).
        level: coverage of the interval, in (0, 1).
        min_dof: least degrees of freedom on which to stop, >= 1.
    Source: [ChowRobbins1965], [LawKelton1982].
    """

    target: float
    level: float = 0.95
    min_dof: float = 9.0

    def __post_init__(self) -> None:
        check_fraction("target", self.target)
        check_fraction("level", self.level)
        least = real_scalar(self.min_dof)
        if least is None or not least >= 1:
            raise ValueError(f"min_dof must be at least 1, got {self.min_dof!r}")

    def met(self, estimate: Estimate) -> bool:
        """Whether all entries of `estimate` satisfy the rule."""
        if not isinstance(estimate, Estimate):
            raise ValueError(f"estimate must be an Estimate, got {type(estimate).__name__}")
        size = np.abs(estimate.value)
        bound = self.target / (1.0 + self.target) * size
        narrow = (estimate.half_width(self.level) <= bound) & (size > 0)
        return bool(np.all(narrow & (estimate.dof >= self.min_dof)))
