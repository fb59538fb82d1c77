"""A law from two moments."""

from __future__ import annotations

from typing import NamedTuple

from .._checks import check_nonnegative, check_positive
from ._base import Distribution
from ._deterministic import Deterministic
from ._erlang import Erlang
from ._exponential import Exponential
from ._hyperexponential import Hyperexponential
from ._mixed_erlang import MixedErlang


class Fitted(NamedTuple):
    """A time of law `law` at rate `rate`: S / rate.

    Attributes:
        law: the law, of mean 1.
        rate: one over the mean.
    """

    law: Distribution
    rate: float


def fit(mean: float, scv: float) -> Fitted:
    """The usual law with this mean and squared coefficient of variation, both matched exactly.

        scv = 0          Deterministic
        0 < scv < 1      Erlang(1/scv) where 1/scv is whole, else MixedErlang
        scv = 1          Exponential
        scv > 1          Hyperexponential, of balanced means

    Gamma, Lognormal, Weibull and Coxian have `scv` as a parameter or a `from_scv` too.

    Arguments:
        mean: finite, > 0, in the user's unit of time.
        scv: variance over squared mean: 0, or from 1e-12 to 1e12.
    Returns:
        The pair (law, rate): a server of that rate with that law takes such times.
    Raises: ValueError that names the argument.
    Source: [Tijms2003], [Whitt1982].
    """
    mean = check_positive("mean", mean, remedy="a finite mean > 0, in units of time")
    remedy = "a finite number >= 0; Pareto(tail) has laws of infinite variance"
    scv = check_nonnegative("scv", scv, remedy=remedy)
    rate = 1.0 / mean
    if rate == float("inf"):
        raise ValueError(f"mean is {mean!r}, so small that its rate overflows; use a smaller unit")
    return Fitted(_law_of(scv), rate)


def _law_of(scv: float) -> Distribution:
    if scv == 0.0:
        return Deterministic()
    if scv == 1.0:
        return Exponential()
    if scv > 1.0:
        return Hyperexponential(scv)
    mixed = MixedErlang(scv)
    # Erlang only where it has this very scv.
    return Erlang(mixed.num_phases) if 1.0 / mixed.num_phases == scv else mixed
