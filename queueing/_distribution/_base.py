"""What every law of a service or interarrival time offers: mean 1, its variability, samples."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np


class Distribution(ABC):
    """A law on the positive half-line with mean 1; a rate scales it.

    A service time at a server of rate mu is S / mu with S of this law.  Concrete laws are frozen
    dataclasses and are final: a new one is one file and one line in `DISTRIBUTIONS`.
    """

    @property
    def mean(self) -> float:
        """The mean, 1 for every law."""
        return 1.0

    @property
    @abstractmethod
    def scv(self) -> float:
        """The squared coefficient of variation Var S / (E S)^2."""

    @abstractmethod
    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
