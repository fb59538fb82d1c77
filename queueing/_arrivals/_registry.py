"""The arrival processes that exist; tests loop over this table."""

from __future__ import annotations

from typing import Any

from .._distribution import Distribution
from ._base import ArrivalProcess
from ._markov_modulated import MarkovModulated
from ._renewal import Poisson, Renewal
from ._time_varying import TimeVarying
from ._trace_arrivals import TraceArrivals

ARRIVALS: dict[str, type[ArrivalProcess]] = {
    "Poisson": Poisson,
    "Renewal": Renewal,
    "MarkovModulated": MarkovModulated,
    "TimeVarying": TimeVarying,
    "TraceArrivals": TraceArrivals,
}


def resolve_arrivals(arrivals: Any) -> ArrivalProcess:
    """An arrival process from what a user gives: None is Poisson, a law is that renewal process.

    Raises:
        ValueError: for anything else, listing the processes that exist.
    """
    if arrivals is None:
        return Poisson()
    if isinstance(arrivals, Distribution):
        return Renewal(arrivals)
    if isinstance(arrivals, ArrivalProcess):
        return arrivals
    known = ", ".join(ARRIVALS)
    kind = "the class instead of an instance" if isinstance(arrivals, type) else "no such process"
    raise ValueError(
        f"arrivals is {arrivals!r}, {kind}; give None, a law of mean 1, or an instance of one "
        f"of {known}"
    )
