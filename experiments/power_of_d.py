"""The shortest of d sampled queues: occupancies of many servers against their mean field.

What parts N servers from infinitely many falls like 1/N, so two sizes, one four times the other,
take it out, and a third bounds what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import queueing

from ._frame import Claim, Experiment, Outcome
from ._power_of_d_figure import draw
from ._power_of_d_runs import Case, Finite, PolicyFactory, Runs, simulate
from ._size_extrapolation import extrapolate

_RATIO = 4.0
# Occupancies below this are too rare to be seen: a claim on one would hold whatever happened.
_RAREST = 1e-3


@dataclass(frozen=True)
class Settings:
    load: float = 0.9
    """Arrivals over capacity, below 1."""
    choices: tuple[int, ...] = (1, 2, 3, 5)
    """Numbers d of queues that are compared."""
    buffer: int = 4
    """Places at a server, where there is a limit."""
    sizes: tuple[int, int, int] = (250, 1000, 4000)
    """Servers, each four times the former."""
    events: float = 1e8
    """Ticks of each long run, all replicas together."""
    replicas: int = 32
    """Replicas of each long run."""
    times: tuple[float, ...] = (1.0, 3.0, 10.0)
    """Times at which the transient from empty is looked at, ascending."""
    transient_servers: int = 2**21
    """Servers of each size's transient, all replicas together."""
    num_levels: int = 4
    """How many levels are held to the mean field."""

    def __post_init__(self) -> None:
        if not 0 < self.load < 1:
            raise ValueError(f"load is {self.load}: give one between 0 and 1")
        if any(large != 4 * small for small, large in pairwise(self.sizes)) or self.sizes[0] < 8:
            raise ValueError(f"sizes are {self.sizes}: each four times the former, from 8")
        if not all(1 <= d <= self.sizes[0] for d in self.choices):
            raise ValueError(f"choices are {self.choices}: at least 1, at most the servers")
        if self.replicas < 20:
            raise ValueError("replicas: give at least 20, for an error")
        if self.num_levels > self.buffer:
            raise ValueError(f"num_levels is {self.num_levels}: at most buffer = {self.buffer}")


def run(settings: Settings, *, seed: int, policy_of: PolicyFactory = queueing.PowerOfD) -> Outcome:
    runs = simulate(settings, seed=seed, policy_of=policy_of)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def all_claims(runs: Runs) -> Iterator[Claim]:
    for finite in runs.long_runs:
        yield from occupancy_claims(runs.settings, finite)
    yield from transient_claims(runs)


def occupancy_claims(settings: Settings, finite: Finite) -> Iterator[Claim]:
    case = finite.case
    field = case.mean_field(settings.load)
    exact = field.fixed_point().occupancy
    limit, bias = extrapolate(finite.occupancy, _RATIO)
    for level in range(min(settings.num_levels, exact.size)):
        if exact[level] < _RAREST:
            continue
        yield Claim(
            "P2.2",
            "Two choices, the usual remedy, settle at their mean field: most jobs wait.",
            f"{case.label}, N -> infinity: servers with at least {level + 1}",
            float(limit.value[level]),
            float(limit.std_error[level]),
            float(exact[level]),
            float(bias[level]),
            float(limit.dof[level]),
        )
    for name, estimates, theory in (
        ("P(wait)", finite.prob_wait, field.prob_wait()),
        ("P(loss)", finite.prob_loss, field.prob_loss()),
    ):
        if name == "P(loss)" and case.buffer is None:
            continue
        limit, bias = extrapolate(estimates, _RATIO)
        yield Claim(
            "P2.2",
            "Two choices, the usual remedy, settle at their mean field: most jobs wait.",
            f"{case.label}, N -> infinity: {name}",
            float(limit.value),
            float(limit.std_error),
            theory,
            float(bias),
            float(limit.dof),
        )


def transient_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    exact = Case(2).mean_field(settings.load).solve(settings.times).occupancy
    limit, bias = extrapolate(runs.transient, _RATIO)
    for i, time in enumerate(settings.times):
        for level in range(settings.num_levels):
            if exact[i, level] < _RAREST:
                continue
            yield Claim(
                "P2.2",
                "From empty, occupancies follow the mean field's differential equation.",
                f"d=2, N -> infinity, t={time:g}: servers with at least {level + 1}",
                float(limit.value[i, level]),
                float(limit.std_error[i, level]),
                float(exact[i, level]),
                float(bias[i, level]),
                float(limit.dof[i, level]),
            )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    settings = runs.settings
    for finite in runs.long_runs:
        exact = finite.case.mean_field(settings.load).fixed_point().occupancy
        for n, occupancy in zip(settings.sizes, finite.occupancy, strict=True):
            for level in range(min(settings.num_levels, exact.size)):
                yield {
                    "case": finite.case.label,
                    "time": "stationary",
                    "N": n,
                    "level": level + 1,
                    "value": float(occupancy.value[level]),
                    "std_error": float(occupancy.std_error[level]),
                    "mean_field": float(exact[level]),
                }
    path = Case(2).mean_field(settings.load).solve(settings.times).occupancy
    for n, occupancy in zip(settings.sizes, runs.transient, strict=True):
        for i, time in enumerate(settings.times):
            for level in range(settings.num_levels):
                yield {
                    "case": Case(2).label,
                    "time": time,
                    "N": n,
                    "level": level + 1,
                    "value": float(occupancy.value[i, level]),
                    "std_error": float(occupancy.std_error[i, level]),
                    "mean_field": float(path[i, level]),
                }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P2",
    Settings(),
    Settings(
        choices=(1, 2), sizes=(50, 200, 800), events=6e6, times=(1.0, 3.0), transient_servers=2**17
    ),
    run,
)
