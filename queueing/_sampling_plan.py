"""What is sampled from whole states while an engine averages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._engine._class_levels import ServerClasses
from ._engine._sampler import Sampler
from ._observables import StateFunction
from ._rank_streams import RankStreams

# Bytes of sampled states that are kept until the user's observables are evaluated on them.
_KEPT_BYTES = 1 << 21


@dataclass(frozen=True, eq=False)
class SamplingPlan:
    """Observables that need whole states, O(K) each time, and so are sampled.

    Attributes:
        num_servers: K.
        has_servers: whether servers have names, which ranks of a system with pauses have not.
        num_levels: levels of `occupancy`.
        streams: of the identities, where they hold.
        functions: the user's observables.
        classes: of servers whose levels are averaged exactly, or None.
    """

    num_servers: int
    has_servers: bool
    num_levels: int
    streams: RankStreams | None
    functions: dict[str, StateFunction]
    classes: ServerClasses | None = None

    def open(self, stride: int) -> tuple[Sampler, Collected]:
        """Empty sums of one window, with a sample every `stride` steps of the engine."""
        size, streams = self.num_servers, self.streams
        num_kept = max(1, _KEPT_BYTES // (8 * size)) if self.functions else 0
        drift = np.zeros(0 if streams is None else size)
        sampler = Sampler(
            stride=stride,
            ranked=np.zeros(size, np.int64),
            count=np.zeros(2, np.int64),
            tie=np.zeros(1),
            reached=np.zeros(self.num_levels),
            servers=np.zeros((2, size if self.has_servers else 0)),
            drift=drift,
            rank_rates=drift if streams is None else streams.rank_rates.copy(),
            uniform_rate=0.0 if streams is None else float(streams.uniform_rate),
            service_rate=0.0 if streams is None else float(streams.service_rate),
            kept=np.zeros((num_kept, size), np.int64),
        )
        return sampler, Collected(self.functions)

    def close(self, sampler: Sampler, collected: Collected) -> dict[str, np.ndarray]:
        """The means over the samples of the window."""
        count = int(sampler.count[0])
        means: dict[str, Any] = {"occupancy": sampler.reached / (count * self.num_servers)}
        if self.has_servers:
            means["lengths"], means["utilisation"] = sampler.servers / count
        if self.num_servers > 1:
            means["prob_tie"] = sampler.tie[0] / count
        if self.streams is not None:
            means["tied_block_drift"] = sampler.drift / count
        means.update({name: total / count for name, total in collected.totals.items()})
        return means


@dataclass(eq=False)
class Collected:
    """Sums of the user's observables over the samples of one window."""

    functions: dict[str, StateFunction]
    totals: dict[str, np.ndarray] = field(default_factory=dict)

    def take(self, sampler: Sampler) -> None:
        """Evaluate the observables at the states that the sampler kept, and free their places."""
        num_kept = int(sampler.count[1])
        if num_kept == 0:
            return
        for name, function in self.functions.items():
            value = function.sum(sampler.kept[:num_kept])
            self.totals[name] = self.totals[name] + value if name in self.totals else value
        sampler.count[1] = 0
