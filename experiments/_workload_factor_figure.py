"""The figure of `workload_factor`: the factor over b and over messages, and its approach in n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._rank_rules import gap_rates

if TYPE_CHECKING:
    from .workload_factor import Point, Runs


def draw(runs: Runs) -> Figure:
    """Three panels."""
    figure = new_figure(13.0, 4.6)
    factor, messages, sizes = figure.subplots(1, 3)
    _draw_factor(factor, runs)
    _draw_messages(messages, runs)
    _draw_sizes(sizes, runs)
    return figure


def _by_rule(runs: Runs) -> list[tuple[list[Point], str, str]]:
    names = list(dict.fromkeys(point.rule.name for point in runs.points))
    groups = [[point for point in runs.points if point.rule.name == name] for name in names]
    return list(zip(groups, COLOURS, MARKERS, strict=False))


def _limit_factor(point: Point, b: float, slack: float) -> float:
    """Total over K/v in the limit."""
    probs = point.rule.probs
    rates = gap_rates(probs, slack, b)
    return float(np.sum(np.arange(probs.size, 0, -1) / rates)) * slack / probs.size


def _draw_factor(panel: Axes, runs: Runs) -> None:
    settings = runs.settings
    pooled = settings.num_servers / settings.slack
    grid = np.geomspace(0.1, 3 * max(settings.b), 100)
    for points, colour, marker in _by_rule(runs):
        name = points[0].rule.name
        curve = [_limit_factor(points[0], b, settings.slack) for b in grid]
        panel.plot(grid, curve, color=colour, label=f"{name}, limit")
        limits = [point.limit[0] for point in points]
        panel.errorbar(
            settings.b,
            [float(each.value) / pooled for each in limits],
            yerr=[3 * float(each.std_error) / pooled for each in limits],
            fmt=marker,
            color=colour,
            label=f"{name}, n extrapolated",
        )
    panel.axhline(settings.num_servers, color=COLOURS[3], linestyle="--", label="all at random")
    panel.axhline(1, color=THEORY_COLOUR, linestyle=":", label="every job to the shortest")
    panel.set(
        title="Workload over that of one pooled server (bars: 3 s.e.)",
        xscale="log",
        yscale="log",
        xlabel="strength b of the thin stream",
        ylabel="E total / (K sqrt(n) / v)",
        ylim=(0.9, 2.6 * settings.num_servers),
    )
    label_values(panel.yaxis, [1, 2, 3, 5, 10])
    panel.legend(fontsize=7.5, loc="upper right", ncols=2)


def _draw_messages(panel: Axes, runs: Runs) -> None:
    settings, n = runs.settings, runs.settings.sizes[-1]
    pooled = settings.num_servers / settings.slack * n**0.5
    for points, colour, marker in _by_rule(runs):
        last = [point.sizes[-1] for point in points]
        panel.errorbar(
            [run.messages for run in last],
            [float(run.total.value) * n**0.5 / pooled for run in last],
            yerr=[3 * float(run.total.std_error) * n**0.5 / pooled for run in last],
            fmt=marker + "-",
            color=colour,
            label=points[0].rule.name,
        )
        for run, point in zip(last, points, strict=True):
            at = (run.messages, float(run.total.value) * n**0.5 / pooled)
            offset = (5, 5) if colour == COLOURS[1] else (-5, -12)
            panel.annotate(
                f"b = {point.b:g}", at, textcoords="offset points", xytext=offset, fontsize=7.5
            )
    full = runs.every_job[-1]
    value = float(full.total.value) * n**0.5 / pooled
    panel.plot(full.messages, value, MARKERS[5], color=THEORY_COLOUR, label="every job, shortest")
    panel.axhline(
        settings.num_servers * (1 - settings.slack / settings.num_servers / n**0.5),
        color=COLOURS[3],
        linestyle="--",
        label="all at random, no messages",
    )
    panel.set(
        title=f"What messages buy at n = {n} (bars: 3 s.e.)",
        xscale="log",
        xlabel="queues asked per job",
        ylabel="E total / (K sqrt(n) / v)",
        ylim=(0.8, 1.35 * settings.num_servers),
    )
    panel.legend(fontsize=7.5, loc="upper right")


def _draw_sizes(panel: Axes, runs: Runs) -> None:
    at = np.array(runs.settings.sizes, float) ** -0.5
    for points, colour, marker in _by_rule(runs):
        for i, point in enumerate(points):
            values = np.array([float(run.total.value) for run in point.sizes])
            errors = np.array([float(run.total.std_error) for run in point.sizes])
            label = points[0].rule.name if i == 0 else None
            panel.errorbar(
                at,
                values / point.total - 1,
                yerr=3 * errors / point.total,
                fmt=marker + "-",
                color=colour,
                alpha=1 - 0.25 * i,
                label=label,
            )
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title="Approach to the limit (each b; the larger, the paler)",
        xlabel="1 / sqrt(n)",
        ylabel="E total / limit - 1",
        xlim=(0, None),
    )
    panel.locator_params(axis="x", nbins=5)
    panel.legend(loc="lower left")
