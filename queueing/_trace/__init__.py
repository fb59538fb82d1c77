"""Traces of a farm: files and arrays of interarrival and service times."""

from ._from_trace import from_trace as from_trace
from ._trace import Trace as Trace
