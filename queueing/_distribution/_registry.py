"""The laws that exist; tests loop over this table."""

from __future__ import annotations

from ._base import Distribution
from ._coxian import Coxian
from ._deterministic import Deterministic
from ._empirical import Empirical
from ._erlang import Erlang
from ._exponential import Exponential
from ._gamma import Gamma
from ._hyperexponential import Hyperexponential
from ._in_order import InOrder
from ._lognormal import Lognormal
from ._mixed_erlang import MixedErlang
from ._mixture import Mixture
from ._pareto import Pareto
from ._uniform import Uniform
from ._weibull import Weibull

DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "Exponential": Exponential,
    "Deterministic": Deterministic,
    "Erlang": Erlang,
    "MixedErlang": MixedErlang,
    "Gamma": Gamma,
    "Hyperexponential": Hyperexponential,
    "Coxian": Coxian,
    "Lognormal": Lognormal,
    "Weibull": Weibull,
    "Pareto": Pareto,
    "Uniform": Uniform,
    "Empirical": Empirical,
    "InOrder": InOrder,
    "Mixture": Mixture,
}
