"""Leaping against events on one core, 10000 servers, from the stationary start of marginal JSQ."""

from ._harness import Comparison
from .queue_engines import events_and_leaps

COMPARISON = Comparison(
    unit="event", cases=lambda quick: events_and_leaps(10_000, quick, at_most=1.0 / 400.0)
)
