"""What a scheme is: how it starts a segment, and how it makes one step."""

import abc
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp

from .._check import check_positive
from .._collisions import count_pushes
from .._model import RankDiffusion
from .._noise import Noise, from_slots
from .._problem import Plan, Problem, State


def _check_step(step) -> float:
    return check_positive("step", step, "pass a step length in units of time")


class AbstractScheme(eqx.Module):
    """One step of a reflected, rank-based diffusion.

    A subclass documents its weak `order`, refuses models that it cannot solve, and writes
    `advance`; `simulate` does the rest. Argument: `step` > 0, in units of time.
    """

    step: float = eqx.field(converter=_check_step)

    #: Weak order of the means of gaps; `weak_order` says it of one model.
    order: ClassVar[float]
    #: Noise indices that a segment takes beyond one per step.
    extra_draws: ClassVar[int] = 0
    #: Whether positions have to be kept in ascending order.
    keeps_order: ClassVar[bool] = False
    #: Whether it can accumulate the regulators, and run on the merged noise of a finer step.
    has_regulators: ClassVar[bool] = True
    couples_steps: ClassVar[bool] = True

    @abc.abstractmethod
    def refusal(self, model: RankDiffusion) -> str | None:
        """Why the scheme cannot solve `model` and which one can, or None if it can."""

    def weak_order(self, model: RankDiffusion) -> float:
        """The weak order of the means of gaps of this model, at most `order`."""
        del model
        return float(self.order)

    def begin(self, problem: Problem, noise: Noise, state: State, plan: Plan) -> State:
        """What is done at the start of a segment, before the first step."""
        return state

    @abc.abstractmethod
    def advance(self, problem: Problem, noise: Noise, state: State, plan: Plan, j) -> State:
        """The state after step `j` of the segment."""

    def num_advances(self, problem: Problem, plan: Plan):
        """How many calls of `advance` the steps up to `plan.stop` take."""
        return plan.stop

    def end(self, problem: Problem, noise: Noise, state: State) -> State:
        """What is done at the end of a segment, after the last step."""
        return state

    def describe(self) -> dict:
        """What a result records of the scheme."""
        return {"scheme": type(self).__name__, "step": float(self.step)}


def settle(problem: Problem, state: State, before, after) -> State:
    """The state after a flow that led to `before` without its pushes and to `after` with them."""
    if not problem.is_sorted:
        return State(after, state.regulators, state.peaks)
    after = problem.sort(after)
    regulators = state.regulators
    if regulators is not None:
        start, end = (from_slots(value, problem.num_particles) for value in (before, after))
        regulators = regulators + count_pushes(start, end, problem.floor)
    return State(after, regulators, state.peaks)


NEEDS_ONE_VARIANCE = "variances differ between ranks; BridgeEuler"
NEEDS_SYMMETRY = "collisions are asymmetric; CollisionBridge"


def rise_from_minimum(increment, variance, uniform):
    """How far a Brownian path that ends at S = `increment` lies above its minimum I at the end.

        S - I = (S + sqrt(S^2 - 2 v log U)) / 2 ,   I the minimum of the bridge from 0 to S,

    with v = `variance` of the path over the step; exact, with or without a drift. The path
    reflected at 0 from x ends at max(x + S, S - I).
    """
    return (increment + jnp.sqrt(increment**2 - 2 * variance * jnp.log(uniform))) / 2
