"""The figure of `gap_laws`: QQ plots with bands, means against size, pushes, truncation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import beta

from atlas.ensemble import Estimate

from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._gap_laws_runs import CLOSURES, Pushes, Run, Truncation

# Chance that a plotted point of an exact sample leaves the band.
_BAND_RATE = 0.01
_POINTS = 60
_LOOK = dict(zip(CLOSURES, zip(COLOURS, MARKERS, strict=False), strict=False))


def draw(
    runs: Mapping[tuple[str, int], Run],
    family: Sequence[Run],
    rates: Sequence[Pushes],
    cuts: Sequence[Truncation],
) -> Figure:
    """Six panels, from whole laws to what is left out."""
    largest = max(num for _, num in runs)
    shown = [runs[closure, largest] for closure in CLOSURES]
    figure = new_figure(12.0, 7.4)
    (plain, detrended, means), (members, pushed, cut) = figure.subplots(2, 3)
    _draw_quantiles(plain, shown)
    _draw_quantile_differences(detrended, shown)
    _draw_means(means, list(runs.values()))
    _draw_family(members, [runs["stationary", sorted({n for _, n in runs})[1]], *family])
    _draw_pushes(pushed, rates)
    _draw_truncation(cut, cuts)
    return figure


def _orders(count: int) -> np.ndarray:
    """Which order statistics are plotted: even on the scale of the exponential."""
    probs = -np.expm1(-np.linspace(0.02, log(count / 5), _POINTS))
    return np.ceil(probs * count).astype(int)


def _exact(orders: np.ndarray, count: int) -> np.ndarray:
    return -np.log1p(-orders / (count + 1))


def _band(orders: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Between these all plotted points of an exact sample lie, with probability 1 - _BAND_RATE.

    The k-th of n uniforms has the law Beta(k, n - k + 1); each point gets its share of the rate.
    """
    share = _BAND_RATE / (2 * _POINTS)
    ends = (
        beta.ppf(share, orders, count - orders + 1),
        beta.isf(share, orders, count - orders + 1),
    )
    low, high = (-np.log1p(-end) for end in ends)
    return low, high


def _draw_quantiles(panel: Axes, runs: Sequence[Run]) -> None:
    count = runs[0].gaps.shape[1]
    orders = _orders(count)
    exact = _exact(orders, count)
    low, high = _band(orders, count)
    panel.fill_between(exact, low, high, color=BAND_COLOUR, label="99 % band, all points")
    panel.plot(exact, exact, color=THEORY_COLOUR, linewidth=0.8, label="exact law")
    for run in runs:
        colour, marker = _LOOK[run.closure]
        sample = np.sort(run.gaps[-1, :, 0])[orders - 1]
        panel.plot(exact, sample, marker, color=colour, markersize=3, label=run.closure)
    panel.set(
        title=f"Lowest gap, N = {runs[0].num_particles}",
        xlabel="exact quantile (mean gaps)",
        ylabel="sample quantile (mean gaps)",
    )
    panel.legend()


def _draw_quantile_differences(panel: Axes, runs: Sequence[Run]) -> None:
    count = runs[0].gaps.shape[1]
    orders = _orders(count)
    exact = _exact(orders, count)
    low, high = _band(orders, count)
    panel.fill_between(exact, low - exact, high - exact, color=BAND_COLOUR, alpha=0.6)
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    for run in runs:
        for k, style in ((0, "-"), (1, "--"), (run.gaps.shape[-1] - 1, ":")):
            sample = np.sort(run.gaps[-1, :, k])[orders - 1]
            label = f"{run.closure}, gap {k + 1}"
            panel.plot(exact, sample - exact, style, color=_LOOK[run.closure][0], label=label)
    panel.set(
        title="The same, exact quantile taken off",
        xlabel="exact quantile (mean gaps)",
        ylabel="sample minus exact (mean gaps)",
    )
    panel.legend(ncols=3, fontsize=6.5, loc="upper left")
    panel.margins(y=0.35)


def _draw_means(panel: Axes, runs: Sequence[Run]) -> None:
    for i, closure in enumerate(CLOSURES):
        colour, marker = _LOOK[closure]
        of_closure = [run for run in runs if run.closure == closure]
        for part, face in ((slice(0, 1), colour), (slice(1, None), "white")):
            estimates = [
                Estimate.from_samples(run.gaps[..., part].mean(axis=(0, 2))) for run in of_closure
            ]
            panel.errorbar(
                [run.num_particles * 1.12 ** (i - 1) for run in of_closure],
                [estimate.value - 1 for estimate in estimates],
                yerr=[2 * estimate.std_error for estimate in estimates],
                fmt=marker,
                color=colour,
                markerfacecolor=face,
                label=f"{closure}, " + ("gap 1" if part.start == 0 else "other gaps"),
            )
    sizes = sorted({run.num_particles for run in runs})
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title="Mean gaps at each size (bars: 2 s.e.)",
        xscale="log",
        xlabel="number of particles N",
        ylabel="mean / exact mean - 1",
    )
    panel.set_yscale("symlog", linthresh=0.02)
    panel.margins(x=0.12, y=0.08)
    label_values(panel.xaxis, sizes, ".0f")
    panel.legend(fontsize=7)


def _draw_family(panel: Axes, runs: Sequence[Run]) -> None:
    for run, colour, marker in zip(runs, COLOURS, MARKERS, strict=False):
        count = run.gaps.shape[1]
        orders = _orders(count)
        for k, face in ((0, colour), (1, "white")):
            quantiles = np.sort(run.gaps[-1, :, k])[orders - 1] * run.exact_mean[k]
            panel.plot(
                quantiles,
                1 - orders / (count + 1),
                marker,
                color=colour,
                markersize=3.5,
                markevery=3,
                markerfacecolor=face,
                label=f"a = {run.a:g}, gap {k + 1}",
            )
            panel.plot(quantiles, np.exp(-quantiles / run.exact_mean[k]), color=colour, lw=0.7)
    panel.set(
        title=f"One b, several a (stationary, N = {runs[0].num_particles})",
        yscale="log",
        xlabel="gap (length)",
        ylabel="P(gap > x); lines: exact",
    )
    panel.legend(fontsize=7)


def _draw_pushes(panel: Axes, rates: Sequence[Pushes]) -> None:
    for i, each in enumerate(rates):
        colour, marker = _LOOK[each.closure]
        k = np.arange(each.exact.size) + 0.12 * (i - 0.5)
        error = 2 * each.all.std_error
        label = f"{each.closure}, N = {each.num_particles}"
        panel.errorbar(k, each.all.value, yerr=error, fmt=marker, color=colour, label=label)
        panel.hlines(each.exact, k - 0.3, k + 0.3, color=colour, linewidth=0.8)
    panel.set(
        title="Pushes (lines: exact, bars: 2 s.e.)",
        xlabel="regulator (0: floor, k: ranks k and k+1)",
        ylabel="push per unit of time (length)",
        ylim=(0, None),
    )
    panel.set_xticks(range(rates[0].exact.size))
    panel.legend()


def _draw_truncation(panel: Axes, cuts: Sequence[Truncation]) -> None:
    for closure in CLOSURES:
        colour, marker = _LOOK[closure]
        of_closure = [cut for cut in cuts if cut.closure == closure]
        sizes = np.array([cut.num_particles for cut in of_closure])
        moved = np.array([float(cut.moved.value) for cut in of_closure])
        seen = moved > 1e-6
        panel.plot(sizes[seen], moved[seen], marker + "-", color=colour, label=closure)
        if closure == "free":
            bounds = np.array([cut.bound for cut in of_closure])
            kept = bounds > 1e-6
            panel.plot(sizes[kept], bounds[kept], "k--", lw=1, label="free: bound on P(disturbed)")
            share = np.array([float(cut.disturbed.value) for cut in of_closure])
            kept = share > 0
            panel.plot(sizes[kept], share[kept], "k.", label="free: share disturbed")
    panel.set(
        title=f"N against 2N on one noise, {cuts[0].num_ranks} lowest ranks",
        xscale="log",
        yscale="log",
        xlabel="number of particles N",
        ylabel="mean distance (length), or share",
    )
    sizes = sorted({cut.num_particles for cut in cuts})
    label_values(panel.xaxis, sizes, ".0f")
    panel.legend(fontsize=7)
