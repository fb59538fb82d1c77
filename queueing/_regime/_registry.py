"""The regimes that exist; tests loop over this table."""

from __future__ import annotations

from collections.abc import Callable

from ._base import Regime
from ._extreme_congestion import extreme_congestion
from ._heavy_traffic import heavy_traffic

REGIMES: dict[str, Callable[..., Regime]] = {
    "extreme_congestion": extreme_congestion,
    "heavy_traffic": heavy_traffic,
}
