"""Speeds of many servers: the four profiles of `queueing.zero_waiting`, each with mean rate 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Profile:
    """Speeds of N servers.

    Arguments:
        name: for labels.
        rates, shares: of the classes, mean rate 1; no classes for evenly spread speeds.
        slowest, fastest: rates.
    """

    name: str
    rates: tuple[float, ...]
    shares: tuple[float, ...]
    slowest: float
    fastest: float

    def service_rates(self, num_servers: int) -> np.ndarray:
        """(N,) rates with sum N, the fastest first; classes in the nearest whole numbers."""
        if self.rates:
            ends = np.round(np.cumsum(self.shares) * num_servers).astype(int)
            rates = np.repeat(self.rates, np.diff(ends, prepend=0))
        else:
            rates = np.linspace(self.fastest, self.slowest, num_servers)
        return rates * (num_servers / rates.sum())

    @property
    def has_classes(self) -> bool:
        """Whether a positive share of the servers is the slowest, and another the fastest."""
        return bool(self.rates)


def two_classes(spread: float) -> Profile:
    """Half the servers at 1 + spread, half at 1 - spread."""
    if spread == 0.0:
        return EQUAL
    rates = (1 + spread, 1 - spread)
    return Profile(f"1 ± {spread:g}", rates, (0.5, 0.5), rates[1], rates[0])


EQUAL = Profile("equal", (1.0,), (1.0,), 1.0, 1.0)
HALVES = Profile("two classes", (1.5, 0.5), (0.5, 0.5), 0.5, 1.5)
LINEAR = Profile("linear", (), (), 0.5, 1.5)
FEW_FAST = Profile("few fast", (25 / 7, 5 / 7), (0.1, 0.9), 5 / 7, 25 / 7)
PROFILES = (EQUAL, HALVES, LINEAR, FEW_FAST)
