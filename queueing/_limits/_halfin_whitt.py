"""The Halfin-Whitt diffusion of JSQ and JFSQ: idle servers and second jobs over sqrt(N)."""

from __future__ import annotations

from math import sqrt

from numpy.typing import ArrayLike

from atlas import ReflectedOU

from .._checks import check_integer, check_number
from ._fast_idle import fast_idle_rate
from ._speed_classes import speed_classes


def halfin_whitt(
    beta: float,
    service_rates: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    *,
    num_servers: int | None = None,
) -> ReflectedOU:
    r"""JSQ or JFSQ with N servers at load 1 - beta / sqrt(N): its limit as a model of `atlas`.

    V idle servers and X servers with a second job, both over sqrt(N), in the unit of time in
    which servers have mean rate 1:

        dV = (beta - mu_min V - mu_max X) dt + sqrt(2) dW + dL ,   V >= 0 ,
        dX = -mu_max X dt + dL ,

    L growing only while V = 0.  V is the position and X the memory of the `ReflectedOU`.  For
    equal servers, mu_min = mu_max = 1, and X_1 = -V, X_2 = X this is the diffusion of Eschenfeldt
    and Gamarnik.  For others under JFSQ (our derivation) the idle are the slowest and second jobs
    are with the fastest.  In equilibrium

        E V = beta / mu_min ,   E V X = beta E X / (mu_min + mu_max) ,
        Var V = (1 - mu_max E V X) / mu_min ,
        sqrt(N) P(wait) -> mu_max E X ,   sqrt(N) E wait -> E X .

    Arguments:
        beta: any finite number; equilibrium needs beta > 0.
        service_rates: (C,) rates of the classes, in any unit; None: equal servers.
        shares: (C,) shares of the servers, sum 1; None: equal ones.
        num_servers: N, to include the next order of unequal speeds, beta - c / sqrt(N) for beta
            with c = `fast_idle_rate`; None for the limit.

    Returns:
        The model, for `atlas.simulate_reflected_ou`.

    Raises: ValueError that names the argument, its value and the remedy.

    Source: [EschenfeldtGamarnik2018]; identities and unequal speeds are our derivation.
    """
    beta = check_number("beta", beta, remedy="a finite number, positive for an equilibrium")
    classes = speed_classes(service_rates, shares).normalised()
    rates = classes.rates[classes.shares > 0.0]
    if num_servers is not None:
        count = check_integer("num_servers", num_servers, minimum=1, remedy="an int >= 1, or None")
        beta -= fast_idle_rate(classes.rates, classes.shares) / sqrt(count)
    slowest, fastest = float(rates.min()), float(rates.max())
    return ReflectedOU(
        drift=beta,
        decay=slowest,
        variance=2.0,
        memory_decays=[fastest],
        memory_weights=[fastest],
    )
