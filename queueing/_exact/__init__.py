"""Exact laws of small Markov systems by linear algebra: the oracle of every engine."""

from ._result import ExactStationary as ExactStationary
from ._stationary import exact_stationary as exact_stationary
from ._transient import ExactTransient as ExactTransient
from ._transient import exact_transient as exact_transient
