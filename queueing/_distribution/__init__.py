"""Laws of service and interarrival times, all of mean 1."""

from ._base import Distribution as Distribution
from ._exponential import Exponential as Exponential
from ._registry import DISTRIBUTIONS as DISTRIBUTIONS
