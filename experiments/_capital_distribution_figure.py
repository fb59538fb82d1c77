"""The figure of `capital_distribution`: the curve, its local slopes, and the concentration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._capital_market import mean_log_capital, mean_power_sum, weights
from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_round_values, new_figure

if TYPE_CHECKING:
    from .capital_distribution import Market


def draw(markets: list[Market]) -> Figure:
    """Three panels."""
    figure = new_figure(13.0, 4.6)
    curve, slopes, concentration = figure.subplots(1, 3)
    _draw_curve(curve, markets)
    _draw_slopes(slopes, markets)
    _draw_concentration(concentration, markets)
    return figure


def _draw_curve(panel: Axes, markets: list[Market]) -> None:
    for each, colour, marker in zip(markets, COLOURS, MARKERS, strict=False):
        j = np.arange(1, each.num_stocks + 1)
        shares = np.log(weights(each.fine))
        mean = shares.mean(axis=(0, 1))
        low, high = np.quantile(shares, [0.1, 0.9], axis=(0, 1))
        panel.fill_between(j, np.exp(low), np.exp(high), color=colour, alpha=0.15)
        panel.plot(j, np.exp(mean), marker, color=colour, label=f"N = {each.num_stocks}")
        exact = mean_log_capital(each.num_stocks, each.exponent)
        panel.plot(j, np.exp(exact + mean[-1]), color=colour, linewidth=0.9)
    panel.set(
        title="Capital distribution (lines: exact; bands: 10 to 90 %)",
        xscale="log",
        yscale="log",
        xlabel="rank from the largest",
        ylabel="exp(mean log weight)",
    )
    label_round_values(panel.xaxis)
    label_round_values(panel.yaxis)
    panel.legend(loc="lower left")


def _draw_slopes(panel: Axes, markets: list[Market]) -> None:
    panel.axhline(1, color=THEORY_COLOUR, linewidth=0.8, label="Exp(α j)")
    for i, (each, colour, marker) in enumerate(zip(markets, COLOURS, MARKERS, strict=False)):
        gaps, bound = each.estimate(lambda capital: capital[..., :-1] - capital[..., 1:])
        j = np.arange(1, each.num_stocks)
        scale = each.exponent * j
        panel.errorbar(
            j * (1 + 0.03 * i),
            gaps.value * scale,
            yerr=(3 * gaps.std_error + bound) * scale,
            fmt=marker,
            color=colour,
            label=f"N = {each.num_stocks}",
        )
    panel.set(
        title="Gaps (bars: 3 s.e. and the bound on the bias)",
        xscale="log",
        xlabel="rank j from the largest (the last gap cut off)",
        ylabel="α j × mean gap below",
    )
    panel.set_ylim(0.85, 1.2)
    label_round_values(panel.xaxis)
    panel.legend(loc="upper left")


def _draw_concentration(panel: Axes, markets: list[Market]) -> None:
    bins = np.linspace(0, 1, 41)
    for each, colour in zip(markets, COLOURS, strict=False):
        index = np.square(weights(each.fine)).sum(axis=-1).ravel()
        panel.hist(index, bins=bins.tolist(), density=True, color=colour, alpha=0.35)
        mean, _ = each.estimate(lambda capital: np.square(weights(capital)).sum(axis=-1))
        value, error = float(mean.value), float(mean.std_error)
        label = f"mean, N = {each.num_stocks}: {value:.4f} ± {error:.4f} (s.e.)"
        panel.axvline(value, color=colour, label=label)
        exact = mean_power_sum(each.num_stocks, each.exponent, 2.0)
        panel.axvline(exact, color=THEORY_COLOUR, linestyle=":", label=f"exact: {exact:.4f}")
    panel.set(
        title="Concentration of the market",
        xlabel="Herfindahl index, sum of squared weights",
        ylabel="density over markets",
    )
    panel.legend(loc="upper right")
