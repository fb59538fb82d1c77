"""The figure of `heterogeneity`: response and busy servers over the spread, losses over buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import queueing
from atlas.ensemble import Estimate

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._heterogeneity_runs import POLICIES, Runs

_LIMITS = {"JFSQ": queueing.jfsq_fluid, "JSQ": queueing.jsq_fluid}


def draw(runs: Runs) -> Figure:
    """Two panels over the spread, the approach in N, and losses."""
    figure = new_figure(11.0, 8.0)
    (response, busy), (approach, losses) = figure.subplots(2, 2)
    _draw_spread(
        response, runs, "response", "Time in system", "mean time, in mean services (bars: 3 s.e.)"
    )
    _draw_spread(busy, runs, "busy", "Busy servers", "busy servers / N (bars: 3 s.e.)")
    _draw_approach(approach, runs)
    _draw_losses(losses, runs)
    return figure


def _bars(panel: Axes, x, estimates: Sequence[Estimate], colour, marker, label, line="") -> None:
    panel.errorbar(
        x,
        [float(each.value) for each in estimates],
        yerr=[3 * float(each.std_error) for each in estimates],
        marker=marker,
        linestyle=line,
        linewidth=0.8,
        color=colour,
        label=label,
    )


def _draw_spread(panel: Axes, runs: Runs, field: str, title: str, ylabel: str) -> None:
    settings = runs.settings
    grid = np.linspace(0, 0.95, 191)
    for name, colour, marker in zip(POLICIES, COLOURS, MARKERS, strict=False):
        fluids = [_LIMITS[name]([1 + s, 1 - s], load=settings.load) for s in grid]
        values = [each.response if field == "response" else each.busy_servers for each in fluids]
        panel.plot(grid, values, color=colour, linewidth=0.9, label=f"{name}, fluid limit")
        farms = [each for each in runs.farms if each.policy == name and not np.isnan(each.spread)]
        largest = [getattr(each, field)[-1] for each in farms]
        label = f"{name}, N = {settings.sizes[-1]:,}"
        _bars(panel, [each.spread for each in farms], largest, colour, marker, label)
    panel.set(
        title=f"{title}: half the speeds 1 + s, half 1 − s; load {settings.load:g}",
        xlabel="spread s",
        ylabel=ylabel,
    )
    panel.legend()


def _draw_approach(panel: Axes, runs: Runs) -> None:
    """Busy servers less those of the fluid limit, a constant for large N."""
    settings = runs.settings
    sizes = np.array(settings.sizes)
    names = dict.fromkeys(each.profile.name for each in runs.farms)
    for each in runs.farms:
        fluid = each.fluid(settings.load)
        index = list(names).index(each.profile.name)
        extra = [
            Estimate(n * (value.value - fluid.busy_servers), n * value.std_error, value.dof)
            for n, value in zip(sizes, each.busy, strict=True)
        ]
        label = f"{each.profile.name}" if each.policy == "JFSQ" else None
        line = "-" if each.policy == "JFSQ" else ":"
        # Side by side, so that no bar hides another.
        place = sizes * 1.03 ** (2 * index - len(names) + (each.policy == "JSQ"))
        _bars(panel, place, extra, COLOURS[index], MARKERS[index], label, line)
        if each.profile.has_classes and each.policy == "JFSQ" and np.isfinite(fluid.extra_busy):
            panel.plot(sizes[-1] * 1.7, fluid.extra_busy, "_", color=COLOURS[index], markersize=14)
    panel.plot([], [], "_", color=THEORY_COLOUR, markersize=14, label="next order of JFSQ")
    panel.plot([], [], ":", color=THEORY_COLOUR, linewidth=0.8, label="dotted: JSQ")
    panel.set(
        title="Busy servers less the fluid limit's (bars: 3 s.e.)",
        xlabel="number of servers N",
        ylabel="busy servers − N × limit",
        xscale="log",
        yscale="symlog",
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend(fontsize=7.5, ncols=2)


def _draw_losses(panel: Axes, runs: Runs) -> None:
    cases = dict.fromkeys((loss.count, loss.servers) for loss in runs.losses)
    for index, (count, servers) in enumerate(cases):
        for name in POLICIES:
            losses = [
                loss
                for loss in runs.losses
                if (loss.count, loss.servers, loss.policy) == (count, servers, name)
            ]
            label = f"{count} servers ({servers}), {name}"
            line = "-" if name == "JFSQ" else ":"
            marker = MARKERS[index] if name == "JFSQ" else "x"
            buffers = [loss.buffer for loss in losses]
            measured = [loss.measured for loss in losses]
            _bars(panel, buffers, measured, COLOURS[index], marker, label, line)
            exact = [loss.exact for loss in losses]
            panel.plot(buffers, exact, "_", color=THEORY_COLOUR, markersize=14)
    panel.plot([], [], "_", color=THEORY_COLOUR, markersize=14, label="exact")
    panel.set(
        title="Losses (bars: 3 s.e.)",
        xlabel="buffer, the job in service included",
        ylabel="P(loss)",
        yscale="log",
        xticks=runs.settings.buffers,
    )
    panel.legend(fontsize=7.5)
