"""The differential equation of the mean field of power-of-d routing, solved by diffrax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax

from atlas.ensemble import jax_settings

if TYPE_CHECKING:
    from ._mean_field import PowerOfDMeanField

_RELATIVE, _ABSOLUTE = 1e-8, 1e-11
_MAX_STEPS = 1_000_000


def solve_mean_field(field: PowerOfDMeanField, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(time, class, level) from `start` (class, level), in float64."""
    end = float(times[-1])
    if end == 0.0:
        return np.tile(start, (times.size, 1, 1))
    with jax_settings(x64=True):
        arrays = (field.arrival_rate, field.classes.rates, field.classes.shares, start, times)
        problem = tuple(jnp.asarray(array) for array in arrays)
        return np.asarray(_integrate(problem, field.num_choices))


@eqx.filter_jit
def _integrate(problem, num_choices: int):
    arrival_rate, rates, shares, start, times = problem

    def derivative(_, occupancy, __):
        below = jnp.concatenate([jnp.ones_like(occupancy[:, :1]), occupancy[:, :-1]], axis=1)
        above = jnp.concatenate([occupancy[:, 1:], jnp.zeros_like(occupancy[:, :1])], axis=1)
        births = arrival_rate * _difference_quotient(
            shares @ below, shares @ occupancy, num_choices
        )
        return births * (below - occupancy) - rates[:, None] * (occupancy - above)

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(derivative),  # type: ignore[arg-type]
        diffrax.Tsit5(),
        t0=0.0,
        t1=times[-1],
        dt0=None,
        y0=start,
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=_RELATIVE, atol=_ABSOLUTE),
        max_steps=_MAX_STEPS,
    )
    return solution.ys


def _difference_quotient(first, second, num_choices: int):
    """(a^d - b^d)/(a - b) as a polynomial, right where a = b too."""

    def add_power(_, carry):
        quotient, power = carry
        return quotient * second + power, power * first

    start = (jnp.zeros_like(first), jnp.ones_like(first))
    return lax.fori_loop(0, num_choices, add_power, start)[0]
