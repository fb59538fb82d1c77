"""The figure of `stale_information`: waits over the refresh period and over the age."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_round_values, new_figure
from ._remote_waits import Waits

if TYPE_CHECKING:
    from .stale_information import Runs


def draw(runs: Runs) -> Figure:
    """Two panels: a board that is refreshed, and one that is late, with travel beside it."""
    figure = new_figure(11.4, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    settings = runs.settings
    for index, chi in enumerate(settings.chi):
        label = f"chi = {chi:g}"
        _curve(left, settings.period, runs.refreshed[chi], index, label)
        left.plot(
            settings.period[0] / 1.6,
            float(runs.present[chi].mean_wait.value),
            MARKERS[index],
            color=COLOURS[index],
            markerfacecolor="white",
        )
        if chi > 0:
            _curve(right, settings.period, runs.delayed[chi], index, f"{label}, age")
            right.plot(
                settings.period[1::2],
                [float(each.mean_wait.value) for each in runs.travel[chi]],
                "x",
                color=COLOURS[index],
                markersize=8,
                label=f"{label}, travel",
            )
    title = f"{settings.num_stations} stations at load {settings.load:g}: lengths refreshed"
    _finish(left, runs, f"{title} (bars: 3 s.e.; open: present)", "time between refreshes")
    _finish(right, runs, "Lengths shown late, or jobs that travel", "age or travel time")
    left.set_ylabel("mean wait, in mean services")
    return figure


def _curve(
    panel: Axes, periods: Sequence[float], waits: Sequence[Waits], index: int, label: str
) -> None:
    panel.errorbar(
        periods,
        [float(each.mean_wait.value) for each in waits],
        yerr=[3 * float(each.mean_wait.std_error) for each in waits],
        marker=MARKERS[index],
        color=COLOURS[index],
        linewidth=0.8,
        label=label,
    )


def _finish(panel: Axes, runs: Runs, title: str, xlabel: str) -> None:
    load = runs.settings.load
    pooled = runs.present[0.0].regime.pooled_wait
    panel.axhline(load / (1 - load), color="#777777", linestyle="--", label="no information")
    panel.axhline(pooled, color=THEORY_COLOUR, linestyle=":", label="one pooled server")
    panel.set(title=title, xlabel=f"{xlabel}, in mean services", xscale="log", yscale="log")
    label_round_values(panel.xaxis)
    label_round_values(panel.yaxis)
    panel.legend(fontsize=7.5, ncols=2)
