"""The figure of `power_of_d`: occupancies by level, approach in N, and the transient."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._power_of_d_runs import Case, Runs


def draw(runs: Runs) -> Figure:
    """Three panels."""
    figure = new_figure(12.4, 4.3)
    levels, approach, transient = figure.subplots(1, 3)
    _draw_levels(levels, runs)
    _draw_approach(approach, runs)
    _draw_transient(transient, runs)
    return figure


def _draw_levels(panel: Axes, runs: Runs) -> None:
    settings = runs.settings
    x = np.arange(1, settings.num_levels + 1)
    for finite, colour, marker in zip(runs.long_runs, COLOURS, MARKERS, strict=False):
        exact = finite.case.mean_field(settings.load).fixed_point().occupancy[: x.size]
        panel.plot(x, exact, color=colour, linewidth=0.9)
        largest = finite.occupancy[-1]
        panel.errorbar(
            x,
            largest.value[: x.size],
            yerr=3 * largest.std_error[: x.size],
            fmt=marker,
            color=colour,
            label=finite.case.label,
        )
    panel.set(
        title=f"N = {settings.sizes[-1]:,}, load {settings.load:g} (lines: mean field)",
        xlabel="level: at least so many jobs; colours as beside",
        ylabel="fraction of servers (bars: 3 s.e.)",
        xticks=x,
        ylim=(0, 1.0),
    )


def _draw_approach(panel: Axes, runs: Runs) -> None:
    """N (measured - mean field) at level 2, which settles at a constant."""
    settings = runs.settings
    sizes = np.array(settings.sizes, float)
    for i, finite in enumerate(runs.long_runs):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        exact = finite.case.mean_field(settings.load).fixed_point().occupancy
        panel.errorbar(
            # Side by side, so that no bar hides another.
            sizes * 1.06 ** (i - (len(runs.long_runs) - 1) / 2),
            [
                n * float(each.value[1] - exact[1])
                for n, each in zip(settings.sizes, finite.occupancy, strict=True)
            ],
            yerr=[
                3 * n * float(each.std_error[1])
                for n, each in zip(settings.sizes, finite.occupancy, strict=True)
            ],
            fmt=f"{marker}-",
            color=colour,
            linewidth=0.8,
            label=finite.case.label,
        )
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title="What parts N servers from the mean field",
        xlabel="number of servers N",
        ylabel="N × difference at level 2 (bars: 3 s.e.)",
        xscale="log",
    )
    label_values(panel.xaxis, settings.sizes, ",.0f")
    panel.legend(fontsize=7.5, loc="lower left")


def _draw_transient(panel: Axes, runs: Runs) -> None:
    settings = runs.settings
    times = np.linspace(0, settings.times[-1], 60)
    path = Case(2).mean_field(settings.load).solve(times).occupancy
    for level in range(settings.num_levels):
        colour, marker = COLOURS[level % len(COLOURS)], MARKERS[level % len(MARKERS)]
        panel.plot(times, path[:, level], color=colour, linewidth=0.9)
        panel.errorbar(
            settings.times,
            runs.transient[-1].value[:, level],
            yerr=3 * runs.transient[-1].std_error[:, level],
            fmt=marker,
            color=colour,
            label=f"at least {level + 1}",
        )
    panel.set(
        title=f"d = 2 from empty, N = {settings.sizes[-1]:,} (lines: theory)",
        xlabel="time, in mean services",
        ylabel="fraction of servers (bars: 3 s.e.)",
        ylim=(0, 1.0),
    )
    panel.legend(title="jobs", fontsize=7.5)
