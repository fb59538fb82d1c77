"""Arrival processes of mean rate 1."""

from ._base import ArrivalProcess as ArrivalProcess
from ._dispersion import index_of_dispersion as index_of_dispersion
from ._markov_modulated import MarkovModulated as MarkovModulated
from ._registry import ARRIVALS as ARRIVALS
from ._registry import resolve_arrivals as resolve_arrivals
from ._renewal import Poisson as Poisson
from ._renewal import Renewal as Renewal
from ._time_varying import TimeVarying as TimeVarying
from ._trace_arrivals import TraceArrivals as TraceArrivals
