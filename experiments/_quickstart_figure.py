"""The figure of `quickstart`: paths side by side, gaps on their law, error against n."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import beta

from atlas.ensemble import Estimate

from ._diffusion_limit_distances import Distance
from ._diffusion_limit_runs import Comparison, gaps_of
from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._quickstart_paths import Paths

if TYPE_CHECKING:
    from .quickstart import Settings

_POINTS = 45
# Chance that a plotted point of an exact sample leaves the band.
_BAND_RATE = 0.01


def draw(
    comparison: Comparison,
    settings: Settings,
    paths: Paths,
    gaps: Mapping[int, Estimate],
    distances: Mapping[tuple[str, int], Distance],
) -> Figure:
    """Above the paths, queues beside particles; below gaps, means and distances."""
    figure = new_figure(12.0, 8.2)
    panels = figure.subplot_mosaic("QQQPPP;qqmmdd")
    _draw_paths(panels["Q"], panels["P"], paths)
    _draw_quantiles(panels["q"], comparison, settings)
    _draw_means(panels["m"], gaps, settings)
    _draw_distances(panels["d"], distances)
    return figure


def _draw_paths(queues: Axes, particles: Axes, paths: Paths) -> None:
    top = 1.12 * max(paths.queues.max(), paths.particles.max())
    for panel, ranks, title in (
        (queues, paths.queues, f"The shortest {paths.queues.shape[1]} of {paths.n:,} queues"),
        (particles, paths.particles, "Reflected Atlas process, from the same start"),
    ):
        for k in range(ranks.shape[1] - 1, -1, -1):
            colour = COLOURS[1] if k == 0 else COLOURS[0]
            label = {0: "lowest rank, the only one pushed up", 1: "ranks above"}.get(k)
            panel.plot(
                paths.times, ranks[:, k], color=colour, lw=1.5 if k == 0 else 0.8,
                alpha=1.0 if k == 0 else max(0.35, 0.95 - 0.07 * k), label=label,
            )  # fmt: skip
        panel.axhline(0, color=THEORY_COLOUR, lw=2.2)
        panel.set(title=title, xlabel="time", ylim=(-0.02 * top, top), xlim=(0, paths.times[-1]))
    queues.set_ylabel("ranked queue / √n")
    particles.set_ylabel("ranked particle (length)")
    particles.legend(loc="upper left", ncols=2)


def _draw_quantiles(panel: Axes, comparison: Comparison, settings: Settings) -> None:
    n = comparison.largest
    gaps = gaps_of(comparison.queues[n].smooth[-1])
    rates = np.full(gaps.shape[1], settings.a)
    rates[0] -= settings.b
    count = len(gaps)
    probs = -np.expm1(-np.linspace(0.02, log(count / 4), _POINTS))
    orders = np.ceil(probs * count).astype(int)
    exact = -np.log1p(-orders / (count + 1))
    share = _BAND_RATE / (2 * _POINTS)
    for k, marker in ((0, MARKERS[0]), (1, MARKERS[1])):
        low = -np.log1p(-beta.ppf(share, orders, count - orders + 1)) / rates[k]
        high = -np.log1p(-beta.isf(share, orders, count - orders + 1)) / rates[k]
        panel.fill_between(exact / rates[k], low, high, color=BAND_COLOUR, alpha=0.6, lw=0)
        law = f"Exp({rates[k]:g})"
        panel.plot(
            exact / rates[k], np.sort(gaps[:, k])[orders - 1], marker, color=COLOURS[k],
            markersize=3.2, label=f"gap {k + 1} against {law}",
        )  # fmt: skip
    ends = [0, exact[-1] / rates.min()]
    panel.plot(ends, ends, color=THEORY_COLOUR, lw=0.8)
    panel.fill_between([], [], [], color=BAND_COLOUR, alpha=0.6, label="99 % of exact samples")
    panel.set(
        title=f"Gaps on the product law, n = {n:,}",
        xlabel="quantile of the exponential law",
        ylabel="quantile of the queues' gap / √n",
    )
    panel.legend(loc="upper left")


def _draw_means(panel: Axes, gaps: Mapping[int, Estimate], settings: Settings) -> None:
    sizes = np.array(list(gaps), float)
    for k in range(len(next(iter(gaps.values())).value)):
        values = np.array([float(each.value[k]) for each in gaps.values()])
        errors = np.array([float(each.std_error[k]) for each in gaps.values()])
        panel.errorbar(
            sizes * 1.09 ** (k - 2), values - 1, yerr=2 * errors, fmt=MARKERS[k],
            color=COLOURS[k], label=f"gap {k + 1}",
        )  # fmt: skip
        # Of n particles gap k has the rate a (n - k + 1) / n; the lattice takes 1/2 off the first.
        own = sizes / (sizes - k) - 1 if k else -(settings.a - settings.b) / (2 * np.sqrt(sizes))
        panel.plot(
            sizes * 1.09 ** (k - 2), own, "_", color=THEORY_COLOUR, markersize=9,
            label="law of n particles" if k == 0 else None,
        )  # fmt: skip
    panel.axhline(0, color=THEORY_COLOUR, lw=0.8)
    panel.set(
        title="Mean gaps less the limit's, bars 2 s.e.",
        xlabel="number of queues n",
        ylabel="mean gap / limit − 1",
        xscale="log",
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend(ncols=2, fontsize=7.5)


def _draw_distances(panel: Axes, distances: Mapping[tuple[str, int], Distance]) -> None:
    names = list(dict.fromkeys(name for name, _ in distances))
    sizes = np.array(sorted({n for _, n in distances}), float)
    for i, name in enumerate(names):
        found = [distances[name, int(n)] for n in sizes]
        panel.errorbar(
            sizes * 1.06 ** (i - 1.5), [each.value for each in found],
            yerr=[2 * each.std_error for each in found], fmt=MARKERS[i] + "-", lw=0.8,
            color=COLOURS[i], label=name,
        )  # fmt: skip
        panel.plot(sizes, [each.chance for each in found], ":", color=COLOURS[i], lw=1.0)
    panel.plot([], [], ":", color=THEORY_COLOUR, label="equal laws, by chance")
    top = max(distances[name, int(sizes[0])].value for name in names)
    panel.plot(
        sizes, top * sqrt(sizes[0]) / np.sqrt(sizes), "--", color=THEORY_COLOUR, lw=0.9,
        label="∝ 1/√n",
    )  # fmt: skip
    lowest = min(distance.chance for distance in distances.values())
    panel.set(
        title="Distance from the diffusion, bars 2 s.e.",
        xlabel="number of queues n",
        ylabel="Wasserstein-1 distance (length)",
        xscale="log",
        yscale="log",
        ylim=(lowest / 3, 4 * top),
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend(ncols=2, fontsize=7.5, loc="upper right")
