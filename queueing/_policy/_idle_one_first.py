"""Idle servers first, then servers with one job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._free_first import FreeFirst


@dataclass(frozen=True)
class IdleOneFirst(FreeFirst):
    """Every job to an idle server; if none is idle to one with a single job; else to any.

    Uniformly within each of these sets: I_0 servers are idle, I_1 have one job,

        P(server i) = 1{Q_i = 0} / I_0 if I_0 > 0, else 1{Q_i = 1} / I_1 if I_1 > 0, else 1/K .

    With unequal service rates it may be unstable at a load below 1, as JIQ; the condition given
    there is sufficient here too.

    Source: [GuptaWalton2019].
    """

    fallback_length: ClassVar[int] = 2
