"""Arrivals with independent interarrival times of one law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._distribution import Distribution, Exponential, Stream, check_law
from ._base import ArrivalProcess


@dataclass(frozen=True)
class Renewal(ArrivalProcess):
    """Independent interarrival times of the law `interarrival`, the first included.

    Var N(t) / E N(t) tends to the law's squared coefficient of variation.

    Arguments:
        interarrival: a law of mean 1; with Exponential() these are Poisson's numbers too.
    Raises: ValueError for anything else.
    """

    interarrival: Distribution

    def __post_init__(self) -> None:
        if not isinstance(self.interarrival, Distribution):
            raise ValueError(
                f"interarrival is {self.interarrival!r}; give a law of mean 1, such as "
                "Erlang(2) (an instance, not the class)"
            )
        check_law("interarrival", self.interarrival, remedy="a law of mean 1 and an scv >= 0")

    @property
    def asymptotic_scv(self) -> float:
        """The scv of the interarrival times."""
        return self.interarrival.scv

    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream of interarrival times."""
        return self.interarrival.start(generator)


@dataclass(frozen=True)
class Poisson(ArrivalProcess):
    """Arrivals of the Poisson process: independent exponential interarrival times."""

    @property
    def asymptotic_scv(self) -> float:
        """1."""
        return 1.0

    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream of interarrival times."""
        return Exponential().start(generator)
