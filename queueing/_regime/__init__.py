"""The papers' scalings: a system at one size, its units, its limit and its exact laws."""

from ._balancing import BalancingRule as BalancingRule
from ._balancing import DelayOptimum as DelayOptimum
from ._balancing import ReciprocalRootOfDelay as ReciprocalRootOfDelay
from ._balancing import RootOfExcess as RootOfExcess
from ._base import Regime as Regime
from ._base import Scaling as Scaling
from ._extreme_congestion import ExtremeCongestion as ExtremeCongestion
from ._extreme_congestion import extreme_congestion as extreme_congestion
from ._heavy_traffic import HeavyTraffic as HeavyTraffic
from ._heavy_traffic import heavy_traffic as heavy_traffic
from ._paused import PausedRegime as PausedRegime
from ._registry import REGIMES as REGIMES
from ._remote import Remote as Remote
from ._remote import remote as remote
from ._routing import Routing as Routing
from ._routing import routing as routing
from ._start import EmptyStart as EmptyStart
from ._start import GeometricGapsStart as GeometricGapsStart
from ._start import RoundedExponentialStart as RoundedExponentialStart
from ._start import Start as Start
from ._zero_waiting import ZeroWaiting as ZeroWaiting
from ._zero_waiting import zero_waiting as zero_waiting
