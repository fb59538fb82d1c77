"""Unequal speeds: what JFSQ gains from the fast servers, what blindness costs, and losses.

At a fixed load busy servers and response times are held to the fluid limits of JFSQ, the fastest
busy first, and of JSQ, which takes an idle server at random; sizes N, 4N and 16N take out what
falls like 1/N. Losses with short buffers are held to linear algebra: three servers with any buffer,
many with one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isnan

from ._frame import Claim, Experiment, Outcome
from ._heterogeneity_figure import draw
from ._heterogeneity_runs import Farm, Runs, SystemFactory, farm, simulate
from ._size_extrapolation import extrapolate

_RATIO = 4.0


@dataclass(frozen=True)
class Settings:
    load: float = 0.85
    """Arrivals over capacity of the large systems, below 1."""
    spreads: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    """Half the servers work at 1 + spread, half at 1 - spread."""
    sizes: tuple[int, int, int] = (400, 1600, 6400)
    """Servers, each four times the former."""
    events: float = 8e7
    """Ticks of each run, all replicas together."""
    replicas: int = 24
    """Replicas of each run."""
    buffers: tuple[int, ...] = (1, 2, 3, 4)
    """Places at a server, the one in service included."""
    few_load: float = 0.9
    """Load of three servers of speeds 1.5, 1 and 0.5 with buffers."""
    loss_servers: int = 20
    """Servers of the larger system with buffers, an even number."""
    loss_load: float = 0.98
    """Its load."""
    loss_events: float = 2e7
    """Ticks of each run with a buffer, all replicas together."""

    def __post_init__(self) -> None:
        for name in ("load", "few_load", "loss_load"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give one between 0 and 1")
        if not all(0 <= spread < 1 for spread in self.spreads):
            raise ValueError(f"spreads are {self.spreads}: give some from 0 to below 1")
        if any(large != 4 * small for small, large in pairwise(self.sizes)) or self.sizes[0] < 20:
            raise ValueError(f"sizes are {self.sizes}: each four times the former, from 20")
        if self.replicas < 20:
            raise ValueError("replicas: give at least 20, for an error")
        if min(self.buffers) < 1 or self.loss_servers % 2:
            raise ValueError("buffers are at least 1, and loss_servers is even")


def run(settings: Settings, *, seed: int, system_of: SystemFactory = farm) -> Outcome:
    runs = simulate(settings, seed=seed, system_of=system_of)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def all_claims(runs: Runs) -> Iterator[Claim]:
    for each in runs.farms:
        yield from fluid_claims(runs.settings, each)
    for loss in runs.losses:
        if isnan(loss.exact):
            continue
        yield Claim(
            "P2.3",
            "Losses with short buffers are those of linear algebra.",
            f"{loss.policy}, {loss.count} servers ({loss.servers}), buffer {loss.buffer}: P(loss)",
            float(loss.measured.value),
            float(loss.measured.std_error),
            loss.exact,
            0.0,
            float(loss.measured.dof),
        )


def fluid_claims(settings: Settings, each: Farm) -> Iterator[Claim]:
    fluid = each.fluid(settings.load)
    if each.policy == "JFSQ":
        statement = "JFSQ keeps the fastest servers busy, up to what the load needs."
    else:
        statement = "JSQ is blind to speed: idle servers are taken at random, at a cost."
    for name, estimates, theory in (
        ("busy servers / N", each.busy, fluid.busy_servers),
        ("E response", each.response, fluid.response),
    ):
        limit, bias = extrapolate(estimates, _RATIO)
        yield Claim(
            "P2.3",
            statement,
            f"{each.policy}, {each.profile.name}, N -> infinity: {name}",
            float(limit.value),
            float(limit.std_error),
            theory,
            float(bias),
            float(limit.dof),
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    settings = runs.settings
    for each in runs.farms:
        fluid = each.fluid(settings.load)
        for name, estimates, theory in (
            ("busy servers / N", each.busy, fluid.busy_servers),
            ("E response", each.response, fluid.response),
        ):
            for n, value in zip(settings.sizes, estimates, strict=True):
                yield _row(each.policy, each.profile.name, n, None, name, value, theory)
    for loss in runs.losses:
        yield _row(
            loss.policy,
            loss.servers,
            loss.count,
            loss.buffer,
            "P(loss)",
            loss.measured,
            None if isnan(loss.exact) else loss.exact,
        )


def _row(policy, servers, n, buffer, quantity, estimate, theory) -> dict[str, object]:
    return {
        "policy": policy,
        "servers": servers,
        "N": n,
        "buffer": buffer,
        "quantity": quantity,
        "value": float(estimate.value),
        "std_error": float(estimate.std_error),
        "theory": theory,
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P2",
    Settings(),
    Settings(spreads=(0.5,), sizes=(100, 400, 1600), events=2e6, buffers=(1, 2), loss_events=1e6),
    run,
)
