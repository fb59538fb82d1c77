"""The figure of `general_service`: means of gaps against size, and their laws at the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure
from ._general_service_runs import POINTS

if TYPE_CHECKING:
    from .general_service import Runs


def draw(runs: Runs) -> Figure:
    """One panel per gap with its mean against n, and one with all tails at the largest n."""
    num_gaps = runs.series[0].runs[0].theory.size
    figure = new_figure(4.2 * (num_gaps + 1), 4.2)
    panels = figure.subplots(1, num_gaps + 1)
    for gap in range(num_gaps):
        _draw_means(panels[gap], runs, gap)
    _draw_tails(panels[-1], runs)
    return figure


def _draw_means(panel: Axes, runs: Runs, gap: int) -> None:
    for series, colour, marker in zip(runs.series, COLOURS, MARKERS, strict=False):
        panel.errorbar(
            [run.n**-0.5 for run in series.runs],
            [float(run.means.value[gap]) for run in series.runs],
            yerr=[2.0 * float(run.means.std_error[gap]) for run in series.runs],
            color=colour,
            marker=marker,
            label=series.name,
        )
        panel.plot([0.0], [series.runs[0].theory[gap]], color=colour, marker="*", markersize=12)
    panel.set(
        title=f"Gap {gap + 1}: E / sqrt(n)",
        xlabel="1 / sqrt(n)   (stars at 0: limit; bars: 2 s.e.)",
        ylim=(0, None),
        xticks=[0.0, 0.05, 0.1, 0.15],
    )
    if gap == 0:
        panel.legend(title="services", title_fontsize=8)


def _draw_tails(panel: Axes, runs: Runs) -> None:
    num_gaps = runs.series[0].runs[0].theory.size
    shift = np.linspace(-0.06, 0.06, len(runs.series) * num_gaps)
    place = 0
    for series, colour in zip(runs.series, COLOURS, strict=False):
        largest = series.runs[0]
        for gap in range(num_gaps):
            panel.errorbar(
                POINTS + shift[place],
                largest.tails.value[gap] - np.exp(-POINTS),
                yerr=2.0 * largest.tails.std_error[gap],
                color=colour,
                marker=MARKERS[gap],
                linestyle="none",
                label=f"gap {gap + 1}" if series is runs.series[0] else None,
            )
            place += 1
    panel.axhline(0.0, color=THEORY_COLOUR, linestyle="--")
    panel.set(
        title=f"Tails less exp(-x), n = {runs.series[0].runs[0].n}",
        xlabel="x, in limit means (colours as left; bars: 2 s.e.)",
    )
    panel.legend()
