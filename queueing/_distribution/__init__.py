"""Laws of service and interarrival times, all of mean 1."""

from ._base import Distribution as Distribution
from ._coxian import Coxian as Coxian
from ._deterministic import Deterministic as Deterministic
from ._empirical import Empirical as Empirical
from ._erlang import Erlang as Erlang
from ._exponential import Exponential as Exponential
from ._fit import Fitted as Fitted
from ._fit import fit as fit
from ._gamma import Gamma as Gamma
from ._hyperexponential import Hyperexponential as Hyperexponential
from ._in_order import InOrder as InOrder
from ._law_checks import check_generator as check_generator
from ._law_checks import check_law as check_law
from ._lognormal import Lognormal as Lognormal
from ._mixed_erlang import MixedErlang as MixedErlang
from ._mixture import Mixture as Mixture
from ._pareto import Pareto as Pareto
from ._phases import Phases as Phases
from ._phases import PhaseTypeLaw as PhaseTypeLaw
from ._registry import DISTRIBUTIONS as DISTRIBUTIONS
from ._stream import BlockStream as BlockStream
from ._stream import Stream as Stream
from ._uniform import Uniform as Uniform
from ._unit_mean import read_in_order as read_in_order
from ._unit_mean import scale_to_unit_mean as scale_to_unit_mean
from ._weibull import Weibull as Weibull
