"""The figure of `rank_routing`: mean gaps, tails of the lowest gap, and the spread against n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._large_n import large_n_limit
from ._thin_streams import POINTS

if TYPE_CHECKING:
    from .rank_routing import Runs

_FULL = COLOURS[6]


def draw(runs: Runs) -> Figure:
    """Four panels: gaps, gaps over theory, tails of the lowest, spread."""
    figure = new_figure(12.4, 8.2)
    (gaps, ratios), (tails, spread) = figure.subplots(2, 2)
    _draw_gaps(gaps, runs)
    _draw_ratios(ratios, runs)
    _draw_tails(tails, runs)
    _draw_spread(spread, runs)
    handles, labels = gaps.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def _styles(runs: Runs):
    return zip(runs.rules, COLOURS, MARKERS, strict=False)


def _draw_gaps(panel: Axes, runs: Runs) -> None:
    count = runs.settings.num_servers
    ranks = np.arange(1, count + 1)
    for i, (each, colour, marker) in enumerate(_styles(runs)):
        limit, _ = large_n_limit([run.gaps for run in each.sizes])
        at = ranks + 0.08 * (i - 2)
        panel.plot(ranks, 1 / each.rates, color=colour, linewidth=0.9)
        panel.errorbar(
            at,
            limit.value,
            yerr=3 * limit.std_error,
            fmt=marker,
            color=colour,
            label=f"thin stream: {each.rule.name}",
        )
    panel.set(
        title="Mean gaps, n extrapolated (bars: 3 s.e.; lines: product law)",
        xlabel="gap k (1: to zero)",
        ylabel="mean gap / sqrt(n)",
    )
    panel.set_xticks(ranks)


def _draw_ratios(panel: Axes, runs: Runs) -> None:
    ranks = np.arange(1, runs.settings.num_servers + 1)
    largest = runs.settings.sizes[-1]
    for i, (each, colour, marker) in enumerate(_styles(runs)):
        limit, bound = large_n_limit([run.gaps for run in each.sizes])
        at = ranks + 0.12 * (i - 2)
        finite = each.sizes[-1].gaps.value * each.rates - 1
        panel.plot(at, finite, marker, color=colour, markerfacecolor="none", alpha=0.8)
        panel.errorbar(
            at,
            limit.value * each.rates - 1,
            yerr=(3 * limit.std_error + bound) * each.rates,
            fmt=marker,
            color=colour,
        )
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title=f"Over the product law (filled: n extrapolated, hollow: n = {largest})",
        xlabel="gap k (bars: 3 s.e. and the bound on what the extrapolation leaves)",
        ylabel="mean gap / theory - 1",
    )
    panel.set_xticks(ranks)


def _draw_tails(panel: Axes, runs: Runs) -> None:
    slack = runs.settings.slack
    x = np.linspace(0, 1.1 * POINTS[-1], 100)
    panel.plot(x, np.exp(-slack * x), color=THEORY_COLOUR, label="exp(-v x)")
    for i, (each, colour, marker) in enumerate(_styles(runs)):
        limit, _ = large_n_limit([run.tails[0] for run in each.sizes])
        panel.errorbar(
            np.array(POINTS) + 0.02 * (i - 2),
            limit.value,
            yerr=3 * limit.std_error,
            fmt=marker,
            color=colour,
        )
    panel.set(
        title="The lowest gap: one law under all rules",
        yscale="log",
        xlabel="x",
        ylabel="P(lowest gap > x sqrt(n)), n extrapolated",
    )
    panel.legend(loc="upper right")


def _draw_spread(panel: Axes, runs: Runs) -> None:
    sizes = np.array(runs.settings.sizes, float)
    grid = np.geomspace(sizes[0] / 1.4, sizes[-1] * 1.4, 20)
    for each, colour, marker in _styles(runs):
        spread = np.array([float(run.spread.value) for run in each.sizes])
        panel.plot(sizes, spread * sizes**0.5, marker, color=colour)
        panel.plot(grid, np.sum(1 / each.rates[1:]) * grid**0.5, color=colour, linewidth=0.9)
    full = np.array([float(run.spread.value) for run in runs.every_job])
    panel.plot(
        sizes, full * sizes**0.5, "-" + MARKERS[5], color=_FULL, label="every job to the shortest"
    )
    panel.set(
        title="Spread: sqrt(n) with a thin stream, bounded if every job looks",
        xscale="log",
        yscale="log",
        xlabel="rate n of a server (lines: limit of the thin streams)",
        ylabel="E(max - min), jobs",
    )
    label_values(panel.xaxis, sizes)
    label_values(panel.yaxis, [1, 3, 10, 30, 100, 300])
    panel.legend(loc="upper left")
