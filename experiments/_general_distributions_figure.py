"""The figure of `general_distributions`: means, laws and differences of queues against r."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure

if TYPE_CHECKING:
    from .general_distributions import Runs, Series

_QUANTILES = np.linspace(0.1, 4.0, 40)


def draw(runs: Runs) -> Figure:
    """Six panels: means under either policy, laws by quantiles; differences, tails, heavy tails."""
    figure = new_figure(13.0, 7.6)
    (means, choices, laws), (imbalance, tails, heavy) = figure.subplots(2, 3)
    for panel, policy in ((means, "JSQ"), (choices, "two choices")):
        _draw_means(panel, [each for each in runs.series if each.policy == policy], policy)
    _draw_laws(laws, runs)
    _draw_imbalance(imbalance, runs)
    _draw_tails(tails, runs)
    _draw_heavy(heavy, runs)
    return figure


def _mark_slacks(panel: Axes, slacks: Sequence[float]) -> None:
    """A logarithmic axis with the slacks themselves as ticks."""
    panel.set_xscale("log")
    panel.set_xticks(slacks, [f"{r:g}" for r in slacks])
    panel.minorticks_off()


def _by_pair(series: list[Series]):
    return zip(series, COLOURS, MARKERS, strict=False)


def _draw_means(panel: Axes, series: list[Series], policy: str) -> None:
    for each, colour, marker in _by_pair(series):
        r = [run.r for run in each.runs]
        panel.errorbar(
            r,
            [float(run.overall.value) for run in each.runs],
            yerr=[2.0 * float(run.overall.std_error) for run in each.runs],
            color=colour,
            marker=marker,
            label=each.pair.name,
        )
    panel.axhline(1.0, color=THEORY_COLOUR, linestyle="--", label="limit")
    panel.set(
        title=f"Mean queue, {policy}",
        xlabel="slack r",
        ylabel="r E Z / m (bars: 2 s.e.)",
    )
    _mark_slacks(panel, [run.r for run in series[0].runs])
    if policy == "two choices":
        # Under JSQ lines go up and down everywhere; colours are the same in all panels.
        panel.legend(title="arrivals, services", title_fontsize=8, fontsize=7)


def _quantiles(series: Series) -> np.ndarray:
    """Quantiles of r (Z + U)/m at the probabilities that Exp(1) has at `_QUANTILES`."""
    run = series.runs[0]
    at_least = np.concatenate([[1.0], run.occupancy.mean(axis=0)])
    levels = np.arange(at_least.size) * run.r / run.limit_mean
    return np.interp(-np.exp(-_QUANTILES), -at_least, levels)


def _draw_laws(panel: Axes, runs: Runs) -> None:
    jsq = [each for each in runs.series if each.policy == "JSQ"]
    panel.plot([0, 4], [0, 4], color=THEORY_COLOUR, linestyle="--", label="limit")
    for each, colour, marker in _by_pair(jsq):
        panel.plot(
            _QUANTILES,
            _quantiles(each),
            color=colour,
            marker=marker,
            markevery=6,
            label=each.pair.name,
        )
    panel.set(
        title=f"Quantiles under JSQ, r = {runs.settings.slacks[0]:g}",
        xlabel="quantile of Exp(1)",
        ylabel="same quantile of r (Z + U) / m",
    )
    panel.legend(fontsize=7)


def _draw_imbalance(panel: Axes, runs: Runs) -> None:
    for policy, style in (("JSQ", "-"), ("two choices", ":")):
        chosen = [each for each in runs.series if each.policy == policy]
        for each, colour, marker in _by_pair(chosen):
            panel.errorbar(
                [run.r for run in each.runs],
                [float(run.mean_imbalance.value) for run in each.runs],
                yerr=[2.0 * float(run.mean_imbalance.std_error) for run in each.runs],
                color=colour,
                marker=marker,
                linestyle=style,
                label=each.pair.name if policy == "JSQ" else None,
            )
    panel.set(
        title="Difference of queues (solid: JSQ, dotted: two choices)",
        xlabel="slack r",
        ylabel="E(max - min), jobs (bars: 2 s.e.)",
        ylim=(0, None),
    )
    _mark_slacks(panel, runs.settings.slacks)


def _draw_tails(panel: Axes, runs: Runs) -> None:
    x = np.linspace(0.1, 3.0, 30)
    chosen = [each for each in runs.series if each.policy == "two choices"]
    for each, colour, marker in _by_pair(chosen):
        tails = each.runs[0].tails(x)
        difference = tails.value - np.exp(-x)
        panel.plot(x, difference, color=colour, marker=marker, markevery=5, label=each.pair.name)
        error = 2.0 * tails.std_error
        panel.fill_between(x, difference - error, difference + error, color=colour, alpha=0.15)
    panel.axhline(0.0, color=THEORY_COLOUR, linestyle="--")
    panel.set(
        title=f"Tail less its limit, two choices, r = {runs.settings.slacks[0]:g} (bands: 2 s.e.)",
        xlabel="x",
        ylabel="P(r (Z + U) > m x) - exp(-x)",
    )


def _draw_heavy(panel: Axes, runs: Runs) -> None:
    quartiles = np.array([each.quartiles for each in runs.heavy])
    panel.errorbar(
        [each.r for each in runs.heavy],
        quartiles[:, 1],
        yerr=[quartiles[:, 1] - quartiles[:, 0], quartiles[:, 2] - quartiles[:, 1]],
        color=COLOURS[6],
        marker="X",
        label="services Pareto 1.5, Poisson arrivals",
    )
    panel.set(
        title="Below two moments, JSQ: no limit (no claim)",
        xlabel="slack r",
        ylabel="r median(Z) (bars: quartiles of the replicas)",
        ylim=(0, None),
    )
    _mark_slacks(panel, [each.r for each in runs.heavy])
    panel.legend()
