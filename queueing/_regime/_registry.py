"""The regimes that exist; tests loop over this table."""

from __future__ import annotations

from collections.abc import Callable

from ._base import Regime
from ._extreme_congestion import extreme_congestion
from ._heavy_traffic import heavy_traffic
from ._remote import remote
from ._routing import routing
from ._zero_waiting import zero_waiting

REGIMES: dict[str, Callable[..., Regime]] = {
    "extreme_congestion": extreme_congestion,
    "heavy_traffic": heavy_traffic,
    "routing": routing,
    "remote": remote,
    "zero_waiting": zero_waiting,
}
