"""A regime whose crossing events pause, with its exact law."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._paused import PausedSystem
from .._product_geometric import ProductGeometric
from ._base import Regime, Scaling
from ._start import GeometricGapsStart


@dataclass(frozen=True)
class PausedRegime(Regime):
    """The system with pauses of a regime: the same limit, and an exact law at this size.

    Attributes:
        original: the regime without pauses.
        paused_system: its ranks' rates.
    """

    original: Regime
    paused_system: PausedSystem = field(compare=False)

    @property
    def system(self) -> PausedSystem:
        """The system with pauses."""
        return self.paused_system

    @property
    def policy(self) -> None:
        """None: events belong to ranks, jobs are not routed."""
        return None

    @property
    def scaling(self) -> Scaling:
        """The units of the original regime."""
        return self.original.scaling

    @property
    def _what_is_proved(self) -> str:
        return "it has the limit of the regime without pauses"

    def stationary_gaps(self) -> ProductGeometric:
        """The exact law of the gaps at this size: independent geometric, P(gap_k >= m) = rho_k^m.

        Raises:
            ValueError: some rho_k >= 1.

        Source: [P0].
        """
        return self.paused_system.stationary_gaps()

    def stationary_start(self) -> GeometricGapsStart:
        """The exact stationary law of the system with pauses."""
        return GeometricGapsStart(self.stationary_gaps())

    def limit(self, num_particles: int | None = None) -> Any:
        """The limiting diffusion, that of the original regime."""
        return self.original.limit(num_particles)

    def limit_law(self, num_gaps: int | None = None) -> Any:
        """The stationary law of the limit's gaps, that of the original regime."""
        return self.original.limit_law(num_gaps)

    def with_pauses(self) -> PausedRegime:
        """Itself."""
        return self
