"""The papers' scalings: a system at one size, its units, its limit and its exact laws."""

from ._base import Regime as Regime
from ._base import Scaling as Scaling
from ._extreme_congestion import ExtremeCongestion as ExtremeCongestion
from ._extreme_congestion import extreme_congestion as extreme_congestion
from ._heavy_traffic import HeavyTraffic as HeavyTraffic
from ._heavy_traffic import heavy_traffic as heavy_traffic
from ._paused import PausedRegime as PausedRegime
from ._registry import REGIMES as REGIMES
from ._start import EmptyStart as EmptyStart
from ._start import GeometricGapsStart as GeometricGapsStart
from ._start import RoundedExponentialStart as RoundedExponentialStart
from ._start import Start as Start
