"""The figure of `start_matters`: starts that stay, starts that do not, and how fast they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atlas.ensemble import Estimate

from ._escape_rate import escape_rate, thinning
from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, new_figure

if TYPE_CHECKING:
    from ._start_matters_runs import Kept, Runs

_SQUARE_ROOT_2 = 2**0.5


def draw(runs: Runs) -> Figure:
    """Six panels, from densities that stay to those that do not."""
    figure = new_figure(12.4, 7.4)
    (means, laws, off), (queues, escape, rates) = figure.subplots(2, 3)
    _draw_means(means, runs)
    _draw_laws(laws, runs)
    _draw_off(off, runs)
    _draw_queues(queues, runs)
    _draw_escape(escape, runs)
    _draw_rates(rates, runs)
    return figure


def _lowest_mean(kept: Kept) -> Estimate:
    return Estimate.from_samples(kept.gaps[:, :, 0].T)


def _draw_means(panel: Axes, runs: Runs) -> None:
    starts = [(each, f"a = {each.a:g}, its own law", "-") for each in runs.family]
    starts.append((runs.off, f"a = {runs.off.a:g}, lowest gap too small", ":"))
    for (kept, label, style), colour, marker in zip(starts, COLOURS, MARKERS, strict=False):
        estimate = _lowest_mean(kept)
        if style == "-":
            panel.axhline(1 / kept.rates[0], color=colour, linewidth=0.8)
        panel.errorbar(
            kept.times,
            estimate.value,
            yerr=3 * estimate.std_error,
            fmt=marker,
            linestyle=style if style == ":" else "none",
            color=colour,
            label=label,
        )
    panel.set(
        title=f"One drift b = {runs.settings.b:g}, four starts",
        xlabel="time t",
        ylabel="mean of the lowest rank (bars: 3 s.e.)",
    )
    # Room for the legend above the curves.
    panel.set_ylim(0, 1.6 * max(1 / kept.rates[0] for kept in runs.family))
    panel.legend(loc="upper right")


def _draw_laws(panel: Axes, runs: Runs) -> None:
    for kept, colour, marker in zip(runs.family, COLOURS, MARKERS, strict=False):
        for k, face in ((0, colour), (1, "white")):
            ascending = np.sort(kept.gaps[-1, :, k])
            tails = np.geomspace(1, 0.005, 18)[1:]
            points = ascending[(len(ascending) * (1 - tails)).astype(int)]
            label = f"a = {kept.a:g}, gap {k + 1}"
            panel.plot(points, tails, marker, color=colour, markerfacecolor=face, label=label)
            panel.plot(points, np.exp(-kept.rates[k] * points), color=colour, linewidth=0.8)
    panel.set(
        title=f"Each start's own law is still there at t = {runs.off.times[-1]:g}",
        yscale="log",
        xlabel="gap x",
        ylabel="P(gap > x); lines: the start's law",
    )
    panel.legend(fontsize=7.5)


def _draw_off(panel: Axes, runs: Runs) -> None:
    off, kept = runs.off, runs.family[len(runs.family) // 2]
    own = kept.a - kept.b
    x = np.linspace(0, 4 / own, 200)
    panel.plot(
        x, np.exp(-off.rates[0] * x), ":", color=COLOURS[3], label="start, lowest gap too small"
    )
    panel.plot(x, np.exp(-own * x), color=THEORY_COLOUR, label="invariant law")
    for gaps, time, colour, marker in (
        (off.gaps[1], off.times[1], COLOURS[4], MARKERS[3]),
        (off.gaps[-1], off.times[-1], COLOURS[1], MARKERS[1]),
    ):
        points = np.linspace(0.1, 3.9, 16) / own
        ascending = np.sort(gaps[:, 0])
        tail = 1 - np.searchsorted(ascending, points) / ascending.size
        panel.plot(points, tail, marker, color=colour, label=f"from that start, t = {time:g}")
    panel.set(
        title=f"Off the law of a = {off.a:g}: the lowest rank moves",
        yscale="log",
        xlabel="lowest rank x",
        ylabel="P(lowest rank > x)",
    )
    panel.legend()


def _draw_queues(panel: Axes, runs: Runs) -> None:
    queues = runs.queues
    ranks = np.arange(1, queues.ranks.shape[2] + 1)
    low, high = queues.a
    ratio = Estimate.from_ratio(queues.ranks[1], queues.ranks[0])
    b = runs.settings.b
    own = [1 / (a - b) + (ranks - 1) / a for a in (low, high)]
    panel.axhline(1, color=THEORY_COLOUR, linewidth=0.8, label="equal")
    panel.errorbar(
        ranks,
        ratio.value,
        yerr=3 * ratio.std_error,
        fmt=MARKERS[0],
        color=COLOURS[0],
        label=f"queues from one start, n = {queues.n}, t = {queues.horizon:g}",
    )
    label = "in the limit, each from its own law"
    panel.plot(ranks, own[1] / own[0], MARKERS[1], color=COLOURS[1], label=label)
    panel.set(
        title="Same b, different a: the start makes the difference",
        xlabel="rank k",
        ylabel=f"mean of rank k at a = {high:g} / at a = {low:g}",
        ylim=(0, 1.5),
    )
    panel.set_xticks(ranks)
    panel.legend(loc="upper right")


def _draw_escape(panel: Axes, runs: Runs) -> None:
    for each, colour, marker in zip(runs.escapes, COLOURS, MARKERS, strict=False):
        roots = np.sqrt(each.times)
        lowest = each.lowest.T
        estimate = Estimate.from_samples(lowest)
        low, high = np.quantile(lowest, [0.1, 0.9], axis=0)
        panel.fill_between(roots, low, high, color=colour, alpha=0.15, linewidth=0)
        kappa = escape_rate(each.density, runs.settings.b)
        panel.plot(roots, estimate.value, marker, color=colour, label=f"density {each.density:g}")
        # The limit says nothing of a constant: the line goes through the last point.
        line = estimate.value[-1] + kappa * (roots - roots[-1])
        panel.plot(roots, line, color=colour, linewidth=0.9, label=f"slope κ = {kappa:.3f}")
    panel.set(
        title=f"Densities below b = {runs.settings.b:g}: the lowest rank escapes",
        xlabel="√t",
        ylabel="mean lowest rank (bands: 10 to 90 %)",
        ylim=(0, None),
    )
    panel.legend(loc="upper left")


def _draw_rates(panel: Axes, runs: Runs) -> None:
    b, times = runs.settings.b, runs.escapes[0].times
    k = np.linspace(0, 4, 200)
    shares = np.array([thinning(value) for value in k])
    panel.plot(shares, _SQUARE_ROOT_2 * k, color=THEORY_COLOUR, label="theory")
    panel.axvspan(1, 1.25, color=BAND_COLOUR, alpha=0.5, label="above b: a law that stays")
    for each, colour, marker in zip(runs.escapes, COLOURS, MARKERS, strict=False):
        slope = each.slope(1, 3)
        panel.errorbar(
            each.density / b,
            slope.value,
            yerr=3 * slope.std_error,
            fmt=marker,
            color=colour,
            markersize=6,
            label=f"density {each.density:g}, measured",
        )
    panel.set(
        title=f"Slope in √t, t = {times[1]:g} to {times[3]:g} (bars: 3 s.e.)",
        xlabel="density of the start / b",
        ylabel="κ, limit of lowest rank / √t",
        xlim=(0, 1.25),
        ylim=(0, 4.5),
    )
    panel.legend(loc="upper right")
