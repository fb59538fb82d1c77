"""Three cities plan their stations: most jobs stay at home, and the few that travel pool the rest.

Customers of three cities, with a matrix of travel times, go to the nearest station, but for a
fraction chi that goes where the queue is shortest. Capacities and chi are chosen to make the mean
time to service, travel + wait, least, on common random numbers, and then measured on others. Beside
it stand nearest-station routing at its own best capacities, which is exact, and a single pooled
server with the least travel, which nobody can beat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate

from ._capacity_planning_figure import draw
from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._remote_waits import shortfall
from ._three_cities import Plan, make_plan


@dataclass(frozen=True)
class Settings:
    demand: tuple[float, float, float] = (0.5, 0.3, 0.2)
    """Share of the customers of each city."""
    capacity: float = 3.0
    """Sum of the service rates."""
    load: tuple[float, ...] = (0.9, 0.95, 0.98)
    """Loads, ascending; the plan is shown at the last but one."""
    jobs: float = 4e6
    """Jobs of each run at the first load, all replicas together; more as relaxation slows."""
    replicas: int = 32
    """Replicas of each run."""
    evaluations: int = 36
    """Runs of the search for capacities and chi, at each load."""

    def __post_init__(self) -> None:
        if len(self.demand) != 3 or min(self.demand) <= 0 or abs(sum(self.demand) - 1) > 1e-9:
            raise ValueError(f"demand is {self.demand}: give 3 positive shares that sum to 1")
        if len(self.load) < 2 or list(self.load) != sorted(self.load) or self.load[-1] >= 1:
            raise ValueError(f"load is {self.load}: give at least 2 below 1, ascending")
        if self.replicas < 8 or self.evaluations < 8 or not self.capacity > 0:
            raise ValueError("give at least 8 replicas and evaluations, and a positive capacity")


def run(settings: Settings, *, seed: int) -> Outcome:
    plans = [make_plan(settings, load, spawn_seed(seed, i)) for i, load in enumerate(settings.load)]
    shown = plans[-2]
    rates = ", ".join(f"{rate:.2f}" for rate in shown.best.regime.system.service_rates)
    notes = [
        f"load {shown.load:g}: capacities {rates}, chi = {shown.best.chi:.3f}; time to service "
        f"{float(shown.best.mean_time_to_service.value):.2f}, nearest station "
        f"{shown.nearest_exact:.2f}, one pooled server {shown.pooled:.2f}."
    ]
    return Outcome(list(claims(settings, plans)), list(rows(plans)), draw(settings, plans), notes)


def claims(settings: Settings, plans: list[Plan]) -> Iterator[Claim]:
    for plan in plans:
        nearest = plan.nearest.mean_time_to_service
        yield Claim(
            "P4.5",
            "Everybody to the nearest station: M/M/1 queues, by formula.",
            f"load {plan.load:g}: time to service under nearest-station routing",
            float(nearest.value),
            float(nearest.std_error),
            plan.nearest_exact,
            dof=float(nearest.dof),
        )
        best = plan.best.mean_time_to_service
        for statement, quantity, difference in (
            (
                "A few travellers make the plan better than nearest-station routing at its best.",
                "min(0, nearest station - plan)",
                Estimate(plan.nearest_exact - best.value, best.std_error, best.dof),
            ),
            (
                "No plan beats one pooled server with the least travel.",
                "min(0, plan - pooled server)",
                Estimate(best.value - plan.pooled, best.std_error, best.dof),
            ),
        ):
            value, error, dof = shortfall(difference)
            label = f"load {plan.load:g}, time to service: {quantity}"
            yield Claim("P4.5", statement, label, value, error, 0.0, dof=dof)
    yield from trend_claims(plans)


def trend_claims(plans: list[Plan]) -> Iterator[Claim]:
    """As the load grows the plan comes nearer to the pooled server."""
    first, last = excess(plans[0]), excess(plans[-1])
    drop = Estimate(first.value - last.value, np.hypot(first.std_error, last.std_error), first.dof)
    value, error, dof = shortfall(drop)
    yield Claim(
        "P4.5",
        "As the load grows the plan is as good as one pooled server with the least travel.",
        f"min(0, fall of plan/pooled from load {plans[0].load:g} to {plans[-1].load:g})",
        value,
        error,
        0.0,
        dof=dof,
    )


def excess(plan: Plan) -> Estimate:
    """Time to service of the plan over that of the pooled server."""
    best = plan.best.mean_time_to_service
    return Estimate(best.value / plan.pooled, best.std_error / plan.pooled, best.dof)


def rows(plans: list[Plan]) -> Iterator[dict[str, object]]:
    """One row for each load and way of planning."""
    for plan in plans:
        for name, each in (("plan", plan.best), ("nearest station", plan.nearest)):
            yield {
                "load": plan.load,
                "planning": name,
                "chi": each.chi,
                "capacities": " ".join(f"{m:.4f}" for m in each.regime.system.service_rates),
                "time_to_service": float(each.mean_time_to_service.value),
                "std_error": float(each.mean_time_to_service.std_error),
                "pooled": plan.pooled,
            }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P4",
    Settings(),
    Settings(load=(0.9, 0.95), jobs=2e5, replicas=16, evaluations=20),
    run,
)
