"""The figure of `capacity_planning`: a map of the plan, and times to service over the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure
from ._three_cities import CITIES, Plan, travel_times

if TYPE_CHECKING:
    from .capacity_planning import Settings


def draw(settings: Settings, plans: list[Plan]) -> Figure:
    """The map, the times, and what is planned, over the load."""
    figure = new_figure(13.2, 4.6)
    plan_map, times, shares = figure.subplots(1, 3)
    _draw_map(plan_map, settings, plans[-2])
    _draw_times(times, plans)
    _draw_shares(shares, plans)
    return figure


def _draw_map(panel: Axes, settings: Settings, plan: Plan) -> None:
    places = np.array(list(CITIES.values()))
    rates = plan.best.regime.system.service_rates
    travel = travel_times()
    for one in range(3):
        for other in range(one):
            ends = places[[one, other]]
            panel.plot(*ends.T, color="#777777", linewidth=0.8, zorder=1)
            panel.annotate(
                f"{travel[one, other]:.1f}",
                tuple(ends.mean(axis=0)),
                ha="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
    for index, (name, place) in enumerate(CITIES.items()):
        panel.scatter(*place, s=1500 * rates[index], color=COLOURS[0], alpha=0.35, zorder=2)
        panel.scatter(
            *place,
            s=1500 * settings.demand[index] * plan.load * settings.capacity,
            color=COLOURS[1],
            alpha=0.6,
            zorder=3,
        )
        text = f"{name}\nrate {rates[index]:.2f}, demand {settings.demand[index]:.0%}"
        # Beside the circles, away from the roads.
        offset, side = (
            ((-30, -48), "left") if index == 0 else ((0, -46 if index == 1 else 32), "center")
        )
        panel.annotate(
            text, place, offset, textcoords="offset points", ha=side, fontsize=8, va="bottom"
        )
    panel.set(
        title=f"Plan at load {plan.load:g}, chi = {plan.best.chi:.3f}\n"
        "(blue: capacity, red: demand; lines: travel times)",
        xlim=(-1.6, 5.4),
        ylim=(-1.8, 5.6),
        aspect="equal",
    )
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(visible=False)


def _draw_times(panel: Axes, plans: list[Plan]) -> None:
    load = [plan.load for plan in plans]
    for index, (label, values) in enumerate(
        (
            ("plan", [plan.best.mean_time_to_service for plan in plans]),
            ("nearest station, simulated", [plan.nearest.mean_time_to_service for plan in plans]),
        )
    ):
        panel.errorbar(
            load,
            [float(each.value) for each in values],
            yerr=[3 * float(each.std_error) for each in values],
            fmt=MARKERS[index],
            color=COLOURS[index],
            label=label,
        )
    exact = [plan.nearest_exact for plan in plans]
    panel.plot(load, exact, "--", color=COLOURS[1], linewidth=0.9, label="nearest station, exact")
    pooled = [plan.pooled for plan in plans]
    panel.plot(load, pooled, ":", color=THEORY_COLOUR, label="one pooled server, least travel")
    panel.set(
        title="Time to service (bars: 3 s.e.)",
        xlabel="load",
        ylabel="travel + wait, in time units",
        yscale="log",
    )
    panel.legend(fontsize=8)


def _draw_shares(panel: Axes, plans: list[Plan]) -> None:
    load = [plan.load for plan in plans]
    panel.plot(load, [plan.best.chi for plan in plans], "o-", color=COLOURS[0], label="chi")
    saved = [
        (plan.nearest_exact - float(plan.best.mean_time_to_service.value))
        / (plan.nearest_exact - plan.pooled)
        for plan in plans
    ]
    panel.plot(load, saved, "s-", color=COLOURS[2], label="part of the possible saving")
    panel.set(
        title="Fraction that looks, and what is saved by it",
        xlabel="load",
        ylim=(0, 1),
    )
    panel.legend()
