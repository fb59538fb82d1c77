"""The figure of `paused_and_original`: one limit, half a job apart, independent gaps."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import beta

from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._paused_claims import limit_rates, mean_queue_difference
from ._paused_independence import Dependence
from ._paused_runs import Snapshot, paused_law

if TYPE_CHECKING:
    from .paused_and_original import Settings

_POINTS = 50
# Chance that a plotted point of an exact sample leaves the band.
_BAND_RATE = 0.01


def draw(
    settings: Settings,
    exact: Mapping[int, np.ndarray],
    originals: Mapping[int, Snapshot],
    matrices: Mapping[str, tuple[np.ndarray, float]],
    dependences: Mapping[str, Dependence],
) -> Figure:
    """Above the laws and their differences, below the mean queue and independence."""
    figure = new_figure(12.6, 7.6)
    (laws, quantiles, jobs), (queues, matrix, distance) = figure.subplots(2, 3)
    _draw_closed_form(laws, exact)
    _draw_quantiles(quantiles, settings, originals)
    _draw_jobs(jobs, settings, originals)
    _draw_mean_queue(queues, settings, originals)
    _draw_correlations(matrix, matrices)
    _draw_dependence(distance, dependences)
    return figure


def _draw_closed_form(panel: Axes, exact: Mapping[int, np.ndarray]) -> None:
    sizes = np.array(list(exact), float)
    for k in range(2):
        distances = [found[1, k] for found in exact.values()]
        panel.plot(sizes, distances, MARKERS[k] + "-", color=COLOURS[k], label=f"gap {k + 1}")
    first = exact[int(sizes[0])][1, 1]
    panel.plot(sizes, 1.6 * first * np.sqrt(sizes[0] / sizes), "--", color=THEORY_COLOUR, lw=0.9,
               label="slope −1/2")  # fmt: skip
    panel.set(
        title="With pauses, in closed form",
        xlabel="number of queues n",
        ylabel="distance from the limit: sup |F − Exp|",
        xscale="log",
        yscale="log",
    )
    panel.legend()


def _draw_quantiles(panel: Axes, settings: Settings, originals: Mapping[int, Snapshot]) -> None:
    n = max(originals)
    gaps = originals[n].smooth_gaps[-1] * limit_rates(settings) / sqrt(n)
    count = len(gaps)
    probs = -np.expm1(-np.linspace(0.02, log(count / 40), _POINTS))
    orders = np.ceil(probs * count).astype(int)
    exact = -np.log1p(-orders / (count + 1))
    share = _BAND_RATE / (2 * _POINTS)
    low = -np.log1p(-beta.ppf(share, orders, count - orders + 1))
    high = -np.log1p(-beta.isf(share, orders, count - orders + 1))
    panel.fill_between(
        exact, low - exact, high - exact, color=BAND_COLOUR, alpha=0.6, lw=0,
        label="99 % of exact samples stay inside",
    )  # fmt: skip
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    for k in range(gaps.shape[1]):
        sample = np.sort(gaps[:, k])[orders - 1]
        panel.plot(
            exact, sample - exact, MARKERS[k] + "-", color=COLOURS[k], markersize=2.6, lw=0.8,
            markevery=4, label=f"gap {k + 1}",
        )  # fmt: skip
    panel.set(
        title=f"Original, n = {n:,}: QQ, detrended",
        xlabel="quantile of the limit (mean gaps)",
        ylabel="sample − limit (mean gaps)",
    )
    panel.margins(y=0.2)
    panel.legend(fontsize=7.5, loc="upper left")


def _draw_jobs(panel: Axes, settings: Settings, originals: Mapping[int, Snapshot]) -> None:
    shown = sorted(originals)[:3]
    for i, n in enumerate(shown):
        gaps = originals[n].gaps.mean(axis=0)
        difference = gaps.mean(axis=0) - paused_law(settings.a, settings.b, n).mean[: gaps.shape[1]]
        error = gaps.std(axis=0) / sqrt(len(gaps))
        k = np.arange(1, gaps.shape[1] + 1) + 0.14 * (i - 1)
        panel.errorbar(
            k, difference, yerr=2 * error, fmt=MARKERS[i], color=COLOURS[i], label=f"n = {n:,}"
        )
    panel.axhline(0.5, color=THEORY_COLOUR, lw=0.9, ls="--", label="half a job")
    panel.set(
        title="Original − paused, gap by gap",
        xlabel="gap",
        ylabel="mean gaps, difference (jobs); bars 2 s.e.",
    )
    panel.margins(y=0.3)
    panel.set_xticks(range(1, settings.num_gaps + 1))
    panel.legend(loc="upper right")


def _draw_mean_queue(panel: Axes, settings: Settings, originals: Mapping[int, Snapshot]) -> None:
    sizes = np.array(sorted(originals), float)
    pairs = [mean_queue_difference(int(n), originals[int(n)], settings) for n in sizes]
    values, errors = (np.array(column) / 4 for column in zip(*pairs, strict=True))
    panel.errorbar(
        sizes,
        values,
        yerr=2 * errors,
        fmt="o-",
        lw=0.8,
        color=COLOURS[0],
        label="measured (bars: 2 s.e.)",
    )
    panel.axhline(0.25, color=THEORY_COLOUR, lw=0.9, ls="--", label="1/4")
    panel.set(
        title="Original − paused, mean queue",
        xlabel="number of queues n",
        ylabel="mean queues, difference / n (jobs)",
        xscale="log",
        ylim=(0.2, 0.32),
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend()


def _draw_correlations(panel: Axes, matrices: Mapping[str, tuple[np.ndarray, float]]) -> None:
    (upper_name, (upper, upper_error)), (lower_name, (lower, lower_error)) = matrices.items()
    count = len(upper)
    shown = np.triu(upper, 1) + np.tril(lower, -1)
    np.fill_diagonal(shown, np.nan)
    image = panel.imshow(shown, cmap="PuOr", vmin=-0.1, vmax=0.1)
    for j in range(count):
        for k in range(count):
            if j != k:
                panel.text(k, j, f"{shown[j, k]:+.3f}", ha="center", va="center", fontsize=8)
    panel.set(
        title=f"Correlation of gaps 1 to {count}",
        xlabel=f"above the diagonal: {upper_name} (s.e. {upper_error:.3f})",
        ylabel=f"below: {lower_name} (s.e. {lower_error:.3f})",
    )
    panel.grid(False)
    panel.set_xticks(range(count), [str(k + 1) for k in range(count)])
    panel.set_yticks(range(count), [str(k + 1) for k in range(count)])
    panel.figure.colorbar(image, ax=panel, shrink=0.8, pad=0.02, ticks=[-0.1, 0, 0.1])


def _draw_dependence(panel: Axes, dependences: Mapping[str, Dependence]) -> None:
    for i, each in enumerate(dependences.values()):
        panel.axhspan(
            each.null_low, each.null_high, alpha=0.16, lw=0, color=COLOURS[i],
            label="bands: 99 % of permuted gaps" if i == 0 else None,
        )  # fmt: skip
    for i, (name, each) in enumerate(dependences.items()):
        places = np.arange(len(each.pairs)) + 0.2 * (i - 0.5)
        panel.errorbar(
            places, each.values, yerr=2 * each.errors, fmt=MARKERS[i], color=COLOURS[i], label=name
        )
        names = [f"{j + 1},{k + 1}" for j, k in each.pairs]
        panel.set_xticks(np.arange(len(names)), names)
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title="Distance correlation² (0: independent)",
        xlabel="pair of gaps",
        ylabel="unbiased estimate, bars 2 s.e.",
    )
    panel.margins(y=0.35)
    panel.legend(loc="upper right", fontsize=7.5)
