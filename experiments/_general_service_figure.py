"""The figure of `general_service`: means of gaps against size, and their laws in the limit."""

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
    """One panel per gap with its mean against n, and one with all tails in the limit."""
    num_gaps = runs.settings.num_servers
    figure = new_figure(3.6 * (num_gaps + 1), 4.2)
    panels = figure.subplots(1, num_gaps + 1)
    for gap, panel in enumerate(panels[:-1]):
        _draw_means(panel, runs, gap)
        panel.sharey(panels[0])
    panels[0].set_ylabel("mean gap over its limit (bars: 2 s.e.)")
    panels[0].legend(title="services", title_fontsize=8)
    _draw_tails(panels[-1], runs)
    return figure


def _draw_means(panel: Axes, runs: Runs, gap: int) -> None:
    """Means at every size, and what lines through them give at 0."""
    spread = np.linspace(-0.012, 0.0, len(runs.series))
    for series, colour, marker, place in zip(runs.series, COLOURS, MARKERS, spread, strict=False):
        panel.errorbar(
            series.small,
            [float(run.means.value[gap]) for run in series.runs],
            yerr=[2.0 * float(run.means.std_error[gap]) for run in series.runs],
            color=colour,
            marker=marker,
            label=series.name,
        )
        limit = series.mean_limit(gap)
        panel.errorbar(
            [place], [limit.value], yerr=[2.0 * limit.std_error], color=colour, marker=marker
        )
    panel.axhline(1.0, color=THEORY_COLOUR, linestyle="--")
    sizes = runs.settings.sizes
    panel.set_xticks([0.0, *(n**-0.5 for n in sizes)], ["inf", *(str(n) for n in sizes)])
    panel.set(title=f"Gap {gap + 1}", xlabel="n (1 + c^2)/2, on a scale of 1/sqrt")


def _draw_tails(panel: Axes, runs: Runs) -> None:
    num_gaps = runs.settings.num_servers
    shift = np.linspace(-0.12, 0.12, len(runs.series) * num_gaps)
    for i, series in enumerate(runs.series):
        for gap in range(num_gaps):
            limits = [series.tail_limit(gap, k) for k in range(POINTS.size)]
            panel.errorbar(
                POINTS + shift[i * num_gaps + gap],
                [limit.value for limit in limits],
                yerr=[2.0 * limit.std_error for limit in limits],
                color=COLOURS[i],
                marker=MARKERS[gap],
                linestyle="none",
                label=f"gap {gap + 1}" if i == 0 else None,
            )
    panel.axhline(1.0, color=THEORY_COLOUR, linestyle="--")
    panel.set(
        title="Tails over exponential ones, n = inf",
        xlabel="x, in mean gaps (colours as left)",
        xticks=POINTS,
    )
    panel.legend()
