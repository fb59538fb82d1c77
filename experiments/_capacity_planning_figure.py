"""The figure of `capacity_planning`: a map of the plan, and times to service over the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_round_values, new_figure
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
    for panel in (times, shares):
        panel.set_xticks([plan.load for plan in plans])
        panel.set_xlabel("load")
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
        demand = settings.demand[index] * plan.load * settings.capacity
        panel.scatter(*place, s=1500 * demand, color=COLOURS[5], linewidth=0, zorder=2)
        panel.scatter(
            *place,
            s=1500 * rates[index],
            facecolor="none",
            edgecolor=COLOURS[0],
            linewidth=1.5,
            zorder=3,
        )
        text = f"{name}\ncapacity {rates[index]:.2f}, demand {demand:.2f}"
        # Beside the circles, away from the roads.
        offset, side = (
            ((-30, -48), "left") if index == 0 else ((0, -46 if index == 1 else 32), "center")
        )
        panel.annotate(
            text, place, offset, textcoords="offset points", ha=side, fontsize=8, va="bottom"
        )
    panel.set(
        title=f"Plan at load {plan.load:g}, chi = {plan.best.chi:.2f}\n"
        "(area of rings: capacity, of discs: demand, in jobs\n"
        "per time unit; lines: travel times)",
        xlim=(-1.6, 5.4),
        ylim=(-1.8, 5.6),
        aspect="equal",
    )
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(visible=False)
    for spine in panel.spines.values():
        spine.set_visible(False)


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
        ylabel="travel + wait, in time units",
        yscale="log",
    )
    label_round_values(panel.yaxis)
    panel.legend(fontsize=8)


def _draw_shares(panel: Axes, plans: list[Plan]) -> None:
    load = [plan.load for plan in plans]
    possible = np.array([plan.nearest_exact - plan.pooled for plan in plans])
    times = [plan.best.mean_time_to_service for plan in plans]
    saved = [
        plan.nearest_exact - float(time.value) for plan, time in zip(plans, times, strict=True)
    ]
    panel.errorbar(
        load,
        saved / possible,
        yerr=3 * np.array([float(time.std_error) for time in times]) / possible,
        fmt="s-",
        color=COLOURS[2],
        label="part of the possible saving (bars: 3 s.e.)",
    )
    # The least is flat in chi, so this is where the search stopped and no more.
    chi = [plan.best.chi for plan in plans]
    panel.plot(load, chi, "o:", color=COLOURS[0], label="chi, where the search stopped")
    panel.set(
        title="Fraction that looks, and what is saved by it",
        ylabel="fraction",
        ylim=(0, 1.25),
    )
    panel.legend()
