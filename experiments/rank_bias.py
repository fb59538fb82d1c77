"""Weak orders and biases of the schemes over a table of rank-based models.

Drifts and variances by rank, drifts by name, asymmetric collisions, with and without a floor.
Replicas start in the exact law where there is one; `_scheme_bias` says how orders are found. Beside
the orders the means extrapolated to step 0 are held to the exact ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import atlas

from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._rank_bias_figure import draw
from ._rank_bias_problems import Problem, Trial, problems
from ._scheme_bias import Bias, Plan, measure, order_claim


@dataclass(frozen=True)
class Settings:
    horizon: float = 4.0
    """Time from the start to the measurement, a multiple of 0.4; longer where there is no law to
    start from."""
    replicas: int = 2**16
    """Paths for each step of each scheme."""
    extrapolation_step: float = 0.1
    """Longest of the three steps that are extrapolated to 0, with `horizon` a multiple of it."""

    problems: tuple[str, ...] = ()
    """Names of the problems that are tried; all of them if none is given."""

    def __post_init__(self) -> None:
        known = [problem.name for problem in problems()]
        unknown = [name for name in self.problems if name not in known]
        if unknown:
            raise ValueError(f"problems {unknown} are unknown: give some of {known}")
        for name, step in (("0.4", 0.4), ("extrapolation_step", self.extrapolation_step)):
            count = self.horizon / step if step > 0 else 0.0
            if count < 1 or abs(count - round(count)) > 1e-9:
                raise ValueError(f"horizon is {self.horizon}: give a multiple of {name} = {step}")
        if self.replicas < 20:
            raise ValueError(f"replicas is {self.replicas}: give at least 20, for an error")


@dataclass(frozen=True)
class Found:
    """One scheme on one problem."""

    problem: Problem
    trial: Trial
    bias: Bias
    extrapolation: atlas.Extrapolation


def simulate(
    settings: Settings, *, seed: int, table: Callable[[], Sequence[Problem]] = problems
) -> list[Found]:
    """Run everything; the tests pass tables in which a scheme claims an order it has not."""
    pairs = [(problem, trial) for problem in table() for trial in problem.trials]
    return [
        _measure(settings, problem, trial, seed, path)
        for path, (problem, trial) in enumerate(pairs)
        if not settings.problems or problem.name in settings.problems
    ]


def _measure(settings: Settings, problem: Problem, trial: Trial, seed: int, path: int) -> Found:
    case = trial.case
    horizon = settings.horizon * problem.relaxations
    plan = Plan(trial.steps, horizon, settings.replicas, problem.initial, problem.mean)
    bias = measure(case, problem.model, plan, seed, path)
    extrapolation = atlas.richardson(
        problem.model,
        case.scheme(settings.extrapolation_step),
        order=case.order,
        horizon=horizon,
        initial=problem.initial,
        replicas=settings.replicas,
        key=spawn_seed(seed, path, 99),
    )
    return Found(problem, trial, bias, extrapolation)


def run(settings: Settings, *, seed: int) -> Outcome:
    found = simulate(settings, seed=seed)
    return Outcome(list(all_claims(found)), list(rows(found)), draw(found))


def all_claims(found: Sequence[Found]) -> Iterator[Claim]:
    for each in found:
        gap = each.trial.case.gap + 1
        label = f"{each.problem.name}, {each.trial.case.name}"
        yield order_claim(f"{label}: order, gap {gap}", each.trial.case, each.bias)
    for each in found:
        yield from extrapolation_claims(each)


def extrapolation_claims(each: Found) -> Iterator[Claim]:
    result, mean = each.extrapolation, each.problem.mean
    for k, exact in enumerate(mean):
        yield Claim(
            "S.1",
            "Means extrapolated to step 0 are the exact ones.",
            f"{each.problem.name}, {each.trial.case.name}: mean gap {k + 1} / exact, extrapolated",
            float(result.estimate.value[0, k] / exact),
            float(result.estimate.std_error[0, k] / exact),
            1.0,
            float((abs(result.remaining.value[0, k]) + each.problem.mean_error[k]) / exact),
        )


def rows(found: Sequence[Found]) -> Iterator[dict[str, object]]:
    """One row for each problem, scheme, step and gap."""
    for each in found:
        for i, step in enumerate(each.trial.steps):
            for k in range(each.problem.mean.size):
                yield {
                    "problem": each.problem.name,
                    "scheme": each.trial.case.name,
                    "step": step,
                    "gap": k + 1,
                    "relative_bias": each.bias.value[i, k],
                    "std_error": each.bias.std_error[i, k],
                    "difference_to_half_step": each.bias.halving[i, k],
                    "difference_std_error": each.bias.halving_error[i, k],
                }


EXPERIMENT: Experiment[Settings] = Experiment(
    "S",
    Settings(),
    Settings(replicas=2**13, problems=("three servers, thin stream", "asymmetric collisions")),
    run,
)
