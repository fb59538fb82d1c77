"""Laws and arrival processes that the tests are run through: every registered kind is here."""

import numpy as np

from queueing import (
    Coxian,
    Deterministic,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Hyperexponential,
    InOrder,
    Lognormal,
    MarkovModulated,
    MixedErlang,
    Mixture,
    Pareto,
    Poisson,
    Renewal,
    TimeVarying,
    TraceArrivals,
    Uniform,
    Weibull,
)

LAWS = [
    Exponential(),
    Deterministic(),
    Erlang(1),
    Erlang(3),
    MixedErlang(0.3),
    MixedErlang(0.8),
    Gamma(0.4),
    Gamma(2.5),
    Hyperexponential(1.0),
    Hyperexponential(4.0),
    Coxian(0.3),
    Coxian(0.5),
    Coxian(4.0),
    Lognormal(0.5),
    Lognormal(2.0),
    Weibull(0.6),
    Weibull(3.0),
    Pareto(1.5),
    Pareto(4.5),
    Uniform(),
    Uniform(0.25),
    Empirical([3.0, 0.0, 1.0, 4.0, 4.0]),
    InOrder([3.0, 0.0, 1.0, 4.0, 4.0]),
    Mixture([Exponential(), Uniform(), Deterministic()], [0.2, 0.5, 0.3], means=[3.0, 1.0, 0.0]),
]


def sine_rate(times):
    """From 0 to 6, period 2."""
    return 3.0 * (1.0 + np.sin(np.pi * times))


PROCESSES = [
    Poisson(),
    Renewal(Lognormal(2.0)),
    Renewal(Mixture([Exponential(), Deterministic()], [0.5, 0.5])),
    MarkovModulated([5.0, 0.5, 0.0], [[-0.2, 0.1, 0.1], [0.05, -0.1, 0.05], [0.2, 0.0, -0.2]]),
    MarkovModulated([2.0], [[0.0]]),
    TimeVarying(sine_rate, period=2.0, bound=6.0),
    TimeVarying.from_levels([1.0, 0.0, 5.0], period=6.0),
    TraceArrivals([1.0, 0.0, 2.0, 5.0, 4.0], repeat=True, random_start=True),
    TraceArrivals([1.0, 0.0, 2.0, 5.0, 4.0]),
]
