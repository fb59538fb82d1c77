"""Rank-based diffusions for users of diffrax: terms, and solvers that reflect at the floor."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import diffrax
import equinox as eqx
import jax.numpy as jnp
import lineax
import numpy as np
from jax.scipy.special import ndtr

from ._brownian_steps import GuardedPath
from ._drift_flow import drift_flow
from ._model import RankDiffusion
from ._noise import from_slots, to_slots
from ._problem import Problem
from ._scheme._base import rise_from_minimum
from ._scheme._splitting import Splitting

_TERMS = diffrax.MultiTerm[tuple[diffrax.ODETerm, diffrax.AbstractTerm]]


def diffrax_terms(model: RankDiffusion, path: diffrax.AbstractBrownianPath) -> diffrax.MultiTerm:
    """A model as terms of diffrax, for positions y of shape (particle,) in any order.

        dy_i = (drifts[rank_i] + name_drifts[i]) dt + sqrt(variances[rank_i]) dW_i

    The floor is the solver's: pass `ReflectedEuler()` or `ReflectedSplitting(model)` to
    `diffrax.diffeqsolve`; without a floor any Ito solver of constant steps will do.

    Arguments: `model`; `path`, Brownian motion of shape (particle,), of space-time Levy area for
    the reflecting solvers. Its steps are watched: where float32 cannot tell the ends of a step
    apart, diffrax 0.7 repeats noise or loses it (its issue 733), and the solve fails with an error
    that says so. `BrownianSteps` is a path without this limit in float64.
    Raises ValueError for asymmetric collisions, which are no terms, and a path of another shape.
    Cost: two sorts of the particles for each evaluation.
    """
    if not isinstance(model, RankDiffusion):
        raise ValueError(f"model = {model!r} is no RankDiffusion; make one with reflected_atlas.")
    if not model.has_symmetric_collisions:
        raise ValueError(
            "model has asymmetric collisions, which drift and noise do not express; use "
            "atlas.simulate with CollisionBridge."
        )
    if not isinstance(path, diffrax.AbstractBrownianPath):
        raise ValueError(
            f"path = {path!r} is no Brownian path; pass atlas.BrownianSteps or one of diffrax."
        )
    shape = getattr(getattr(path, "shape", None), "shape", None)
    if shape != (model.num_particles,):
        raise ValueError(
            f"path has the shape {shape}; pass one of shape ({model.num_particles},), one motion "
            "for each particle."
        )

    def drift(t, y, args):
        by_rank = jnp.asarray(model.drifts, y.dtype)[_ranks(y)]
        return by_rank if model.name_drifts is None else by_rank + model.name_drifts

    def noise(t, y, args):
        sigmas = jnp.asarray(np.sqrt(model.variances), y.dtype)
        return lineax.DiagonalLinearOperator(sigmas[_ranks(y)])

    return diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(noise, GuardedPath(path)))


def _ranks(y):
    return jnp.argsort(jnp.argsort(y))


class _ReflectingSolver(diffrax.AbstractItoSolver):
    """What the two solvers share: constant steps, linear interpolation, terms of a model."""

    term_structure: ClassVar = _TERMS
    interpolation_cls: ClassVar[Callable[..., diffrax.LocalLinearInterpolation]] = (
        diffrax.LocalLinearInterpolation
    )

    def order(self, terms):
        return 1

    def strong_order(self, terms):
        return 0.5

    def init(self, terms, t0, t1, y0, args):
        return None

    def func(self, terms, t0, y0, args):
        return terms.vf(t0, y0, args)


class ReflectedEuler(_ReflectingSolver):
    """`BridgeEuler` as a solver for diffrax: y' = max(y + S, S - I), reflected at zero.

    S is the increment of the terms, I the minimum of the Brownian bridge to it, drawn from the
    space-time Levy area H of the same step, which is independent of W: U = Phi(H / sqrt(h / 12)).
    Needs a path with `levy_area=diffrax.SpaceTimeLevyArea` and terms with diagonal noise, such as
    those of `diffrax_terms`; constant steps only. Weak order 1.
    """

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        del solver_state, made_jump
        drift, noise = terms.terms
        length = t1 - t0
        area = _levy_area(noise, t0, t1)
        operator = noise.vf(t0, y0, args)
        increment = drift.vf_prod(t0, y0, args, length) + noise.prod(operator, area.W)
        variance = lineax.diagonal(operator) ** 2 * length
        tiny = jnp.finfo(y0.dtype).tiny
        uniform = jnp.maximum(ndtr(area.H / jnp.sqrt(length / 12).astype(y0.dtype)), tiny)
        y1 = jnp.maximum(y0 + increment, rise_from_minimum(increment, variance, uniform))
        return y1, None, dict(y0=y0, y1=y1), None, diffrax.RESULTS.successful


class ReflectedSplitting(_ReflectingSolver):
    """`Splitting` as a solver for diffrax: half a step of noise, the drift flow, half a step.

    Argument: `model`, the one that the terms were made of; the terms give the noise, and the drift
    is solved exactly. Raises ValueError for a model that `Splitting` refuses, and for name drifts
    at a floor. A `VirtualBrownianTree` needs a tolerance below half a step; constant steps only.
    Weak order 3/2.
    """

    model: RankDiffusion = eqx.field(static=True)

    def __check_init__(self):
        if not isinstance(self.model, RankDiffusion):
            raise ValueError(f"model = {self.model!r} is no RankDiffusion; make one.")
        refusal = Splitting(step=1.0).refusal(self.model)
        if refusal is None and self.model.has_names and self.model.floor:
            refusal = "particles have drifts of their own at a floor; ReflectedEuler"
        if refusal is not None:
            raise ValueError(f"ReflectedSplitting cannot solve this model: {refusal} can.")

    def step(self, terms, t0, t1, y0, args, solver_state, made_jump):
        del solver_state, made_jump
        middle = t0 + (t1 - t0) / 2
        y = self._diffuse(terms, t0, middle, y0, args)
        # Particles keep their places: `drift_flow` sorts those that are not kept in order.
        problem = replace(Problem.from_model(self.model, y0.dtype, False), is_sorted=False)
        moved = drift_flow(problem, to_slots(y[:, None, None]), jnp.asarray(t1 - t0, y0.dtype))
        y = from_slots(moved, self.model.num_particles)[:, 0, 0]
        y1 = self._diffuse(terms, middle, t1, y, args)
        return y1, None, dict(y0=y0, y1=y1), None, diffrax.RESULTS.successful

    def _diffuse(self, terms, t0, t1, y, args):
        _, noise = terms.terms
        y = y + noise.vf_prod(t0, y, args, noise.contr(t0, t1))
        if self.model.name_drifts is not None:
            y = y + self.model.name_drifts * jnp.asarray(t1 - t0, y.dtype)
        return jnp.abs(y) if self.model.floor else y


def _levy_area(noise, t0, t1):
    area = noise.contr(t0, t1, use_levy=True)
    if not isinstance(area, diffrax.SpaceTimeLevyArea):
        raise ValueError(
            "ReflectedEuler draws the minimum within a step from the path's space-time Levy area; "
            "make the path with levy_area=diffrax.SpaceTimeLevyArea, or take BrownianSteps."
        )
    return area
