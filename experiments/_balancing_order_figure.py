"""The figure of `balancing_order`: waits over chi, the optimum's order, the delay diffusion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import atlas
import queueing
from atlas.ensemble import Estimate

from ._balancing_order_runs import spread_ratio
from ._frame import (
    BAND_COLOUR,
    COLOURS,
    MARKERS,
    THEORY_COLOUR,
    label_round_values,
    label_values,
    new_figure,
)

if TYPE_CHECKING:
    from ._balancing_order_runs import Runs


def draw(runs: Runs) -> Figure:
    """Four panels."""
    figure = new_figure(11.4, 7.4)
    (waits, order), (pooling, spread) = figure.subplots(2, 2)
    _draw_waits(waits, runs)
    _draw_order(order, runs)
    _draw_pooling(pooling, runs)
    _draw_spread(spread, runs)
    return figure


def _draw_waits(panel: Axes, runs: Runs) -> None:
    for index, scale in enumerate(runs.scales):
        chi = np.array([each.chi for each in scale.waits])
        pooled = scale.waits[0].regime.pooled_wait
        panel.errorbar(
            chi,
            [float(each.mean_wait.value) / pooled for each in scale.waits],
            yerr=[3 * float(each.mean_wait.std_error) / pooled for each in scale.waits],
            fmt=MARKERS[index],
            color=COLOURS[index],
            label=f"1 - load = {scale.excess:g}",
        )
        grid = np.geomspace(chi[0], chi[-1], 100)
        panel.plot(grid, scale.best.curve(grid) / pooled, color=COLOURS[index], linewidth=0.8)
    panel.axhline(1, color=THEORY_COLOUR, linestyle=":", label="pooled server")
    panel.set(
        title="Waits, and fitted cubics (bars: 3 s.e., of common noise)",
        xscale="log",
        xlabel="chi",
        ylabel="mean wait / that of one pooled server",
    )
    label_round_values(panel.xaxis)
    panel.legend()


def _draw_order(panel: Axes, runs: Runs) -> None:
    excess = np.array(runs.settings.excess)
    place = [scale.best.place for scale in runs.scales]
    panel.errorbar(
        excess,
        [float(each.value) for each in place],
        yerr=[3 * float(each.std_error) for each in place],
        fmt=MARKERS[0],
        color=COLOURS[0],
        label="optimal chi (bars: 3 s.e.)",
        zorder=3,
    )
    grid = np.geomspace(excess[-1] / 1.3, excess[0] * 1.3, 50)
    law = runs.order
    panel.plot(
        grid, law(grid), color=COLOURS[0], linewidth=0.8, label=f"fit, power {law.exponent:.3f}"
    )
    for name, rule, style in (
        ("root of excess", queueing.RootOfExcess(), "--"),
        ("1/root of delay", queueing.ReciprocalRootOfDelay(), "-."),
        ("delay optimum", queueing.DelayOptimum(), ":"),
    ):
        chi = [_rule(rule, runs.settings.delay, each) for each in grid]
        panel.plot(grid, chi, style, color=THEORY_COLOUR, linewidth=0.9, label=name)
    panel.set(
        title="Order of the optimum, and the rules of thumb",
        xscale="log",
        yscale="log",
        xlabel="1 - load = n^{-1/2}",
        ylabel="chi",
    )
    label_values(panel.xaxis, excess)
    label_round_values(panel.yaxis)
    panel.legend()


def _rule(rule: queueing.BalancingRule, delay: float, excess: float) -> float:
    return queueing.remote([1.0, 1.0], 1 - excess, delay / excess, rule).fraction


def _draw_pooling(panel: Axes, runs: Runs) -> None:
    root = np.sqrt(runs.settings.excess)
    for index, factor in enumerate(runs.scales[0].spread):
        pairs = [spread_ratio(runs.settings, scale, factor) for scale in runs.scales]
        panel.errorbar(
            root,
            [value for value, _ in pairs],
            yerr=[3 * error for _, error in pairs],
            marker=MARKERS[index],
            color=COLOURS[index],
            linewidth=0.8,
            label=f"chi = {factor:g} x the expected optimum",
        )
    panel.axhline(1, color=THEORY_COLOUR, linestyle=":")
    panel.set(
        title="Queues against the delay diffusion (bars: 3 s.e.)",
        xlabel="sqrt(1 - load)",
        ylabel="E|Q_1 - Q_2| / the diffusion's",
        xlim=(0, None),
    )
    panel.legend()


def _draw_spread(panel: Axes, runs: Runs) -> None:
    kappa = np.array(runs.settings.kappa)
    estimates = [Estimate.from_samples(samples) for samples in runs.kappa_spread]
    panel.errorbar(
        kappa,
        [float(each.value) for each in estimates],
        yerr=[3 * float(each.std_error) for each in estimates],
        fmt=MARKERS[0],
        color=COLOURS[0],
        label="delay diffusion (bars: 3 s.e., of common noise)",
    )
    grid = np.geomspace(kappa[0], kappa[-1], 100)
    panel.plot(grid, runs.kappa_best.curve(grid), color=COLOURS[0], linewidth=0.8, label="quartic")
    panel.plot(grid, 1 / (2 * grid), "--", color=THEORY_COLOUR, label="no delay: 1/(2 kappa)")
    panel.plot(grid, grid / 2, "-.", color=THEORY_COLOUR, label="no noise: kappa/2")
    low, high = atlas.OPTIMAL_DELAY_GAIN.interval(0.997)
    panel.axvspan(float(low), float(high), color=BAND_COLOUR, label="stored optimum, 3 s.e.")
    panel.set(
        title="Two stations without a floor",
        xlabel="kappa = Lambda chi sqrt(d) / sigma",
        ylabel="E|D| / (sigma sqrt(d))",
        ylim=(0.2, 1.9),
    )
    panel.legend(loc="upper center", ncols=2, fontsize=7.5)
