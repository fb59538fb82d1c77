"""What every arrival process offers: streams of interarrival times at mean rate 1."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._distribution import Stream


class ArrivalProcess(ABC):
    """A stationary stream of jobs, on average one per unit of time; a system's rate scales it.

    In a system with arrival rate lambda the interarrival times are those of the stream divided by
    lambda: every time constant of the process is counted in mean interarrival times.  Concrete
    processes are frozen and hold no state; `start` gives one replica's stream.

    Attributes:
        asymptotic_scv: the limit of Var N(t) / E N(t), N(t) the arrivals up to t; it takes the
            place of the interarrival scv in heavy traffic.
    """

    # Not an abstract property: some processes may know it when they are made.
    asymptotic_scv: float

    @abstractmethod
    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream of interarrival times, driven by `generator` alone.

        The times are the same in whatever blocks they are read.  A stream that ends gives inf
        from there on: no further job arrives.
        """
