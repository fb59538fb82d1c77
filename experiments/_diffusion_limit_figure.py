"""The figure of `diffusion_limit`: laws from three starts, and distances that fall with n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._diffusion_limit_claims import TRANSFORMS, transform_ratios
from ._diffusion_limit_distances import Distance
from ._diffusion_limit_runs import Comparison
from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure

if TYPE_CHECKING:
    from .diffusion_limit import Rate

_POINTS = 22


def draw(
    comparisons: Sequence[Comparison],
    rates: Sequence[Rate],
    distances: Sequence[Mapping[tuple[str, str, int], Distance]],
) -> Figure:
    """Above the laws of the ranks from each start, below how fast they are reached."""
    figure = new_figure(12.4, 7.6)
    laws, (wasserstein, energy, transforms) = figure.subplots(2, 3)
    for panel, comparison in zip(laws, comparisons, strict=True):
        _draw_laws(panel, comparison)
    # One key for the three panels, where no curve is under it.
    laws[0].legend(loc="lower right")
    _draw_wasserstein(wasserstein, comparisons[0], distances[0])
    _draw_energies(energy, comparisons, rates)
    _draw_transforms(transforms, comparisons)
    return figure


def _draw_laws(panel: Axes, comparison: Comparison) -> None:
    largest, smallest = comparison.largest, min(comparison.queues)
    limit = comparison.diffusion.fine[-1]
    probs = (np.arange(_POINTS) + 0.5) / _POINTS
    grid = np.linspace(0.002, 0.998, 300)
    for k in range(limit.shape[-1]):
        colour = COLOURS[k % len(COLOURS)]
        panel.plot(np.quantile(limit[:, k], grid), grid, color=colour)
        small = comparison.queues[smallest].smooth[-1][:, k]
        panel.plot(np.quantile(small, grid), grid, ":", color=colour, linewidth=1.1)
        large = comparison.queues[largest].smooth[-1][:, k]
        panel.plot(np.quantile(large, probs), probs, MARKERS[k % 7], color=colour, markersize=3.4)
    panel.plot([], [], color=THEORY_COLOUR, label="diffusion")
    panel.plot([], [], "o", color=THEORY_COLOUR, markersize=3.4, label=f"queues, n = {largest:,}")
    panel.plot([], [], ":", color=THEORY_COLOUR, label=f"queues, n = {smallest:,}")
    panel.set(
        title=f"Start: {comparison.start.name}",
        xlabel=f"ranks 1 to {limit.shape[-1]} over √n at t = {comparison.times[-1]:g}",
        ylabel="distribution function",
        xlim=(0, np.quantile(limit[:, -1], 0.985)),
        ylim=(0, 1),
    )


def _draw_wasserstein(
    panel: Axes, comparison: Comparison, distances: Mapping[tuple[str, str, int], Distance]
) -> None:
    sizes = np.array(list(comparison.queues), float)
    names = list(dict.fromkeys(name for name, _, _ in distances))
    for i, name in enumerate(names):
        found = [distances[name, "W1", int(n)] for n in sizes]
        panel.errorbar(
            sizes * 1.06 ** (i - 1.5),
            [each.value for each in found],
            yerr=[2 * each.std_error for each in found],
            fmt=MARKERS[i] + "-",
            linewidth=0.8,
            color=COLOURS[i],
            label=name,
        )
        panel.plot(sizes, [each.chance for each in found], ":", color=COLOURS[i], lw=0.9)
    panel.plot([], [], ":", color=THEORY_COLOUR, lw=0.9, label="equal laws, by chance")
    top = max(distances[name, "W1", int(sizes[0])].value for name in names)
    lowest = min(each.chance for (_, label, _), each in distances.items() if label == "W1")
    slope = top * np.sqrt(sizes[0] / sizes)
    panel.plot(sizes, slope, "--", color=THEORY_COLOUR, lw=0.9, label="∝ 1/√n")
    panel.set(
        title=f"Single laws, start: {comparison.start.name}",
        xlabel="number of queues n",
        ylabel="Wasserstein-1 distance, bars 2 s.e.",
        xscale="log",
        yscale="log",
        ylim=(lowest / 3, 5 * top),
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend(ncols=2, fontsize=7.5, loc="upper right")


def _draw_energies(panel: Axes, comparisons: Sequence[Comparison], rates: Sequence[Rate]) -> None:
    for i, (comparison, rate) in enumerate(zip(comparisons, rates, strict=True)):
        seen = rate.energies > rate.errors
        root = np.sqrt(rate.energies[seen])
        sizes = rate.sizes * 1.06 ** (i - 1)
        panel.errorbar(
            sizes[seen],
            root,
            yerr=np.minimum(rate.errors[seen] / root, 0.95 * root),
            fmt=MARKERS[i],
            color=COLOURS[i],
            label=f"{comparison.start.name}: n^({-rate.fit.exponent / 2:.2f} ± "
            f"{rate.fit.exponent_error / 2:.2f})",
        )
        # What noise hides is shown as a bound: without it only chance's large values would be seen.
        bound = np.sqrt(np.maximum(rate.energies, 0) + 2 * rate.errors)[~seen]
        panel.errorbar(
            sizes[~seen], bound, yerr=bound / 2, uplims=True, fmt="_", color=COLOURS[i], lw=1
        )
        grid = np.geomspace(rate.sizes[0], rate.sizes[-1], 50)
        panel.plot(grid, np.sqrt(np.maximum(rate.fit(1 / grid), 0)), color=COLOURS[i], lw=0.9)
    panel.set(
        title="Joint law of all ranks and times",
        xlabel="number of queues n",
        ylabel="energy distance, 2 s.e. (arrows: at most)",
        xscale="log",
        yscale="log",
    )
    # Room for the legend above the points.
    low, high = panel.get_ylim()
    panel.set_ylim(low, high * (high / low) ** 0.35)
    label_values(panel.xaxis, rates[0].sizes, ",.0f")
    panel.legend(title="start, fitted rate", loc="upper right", fontsize=7.5)


def _draw_transforms(panel: Axes, comparisons: Sequence[Comparison]) -> None:
    sizes = np.array(list(comparisons[0].queues), float)
    for i, comparison in enumerate(comparisons):
        for j, transform in enumerate((TRANSFORMS[0], TRANSFORMS[2])):
            ratios = transform_ratios(comparison, transform)
            value, error = (np.array(column) for column in zip(*ratios.values(), strict=True))
            panel.errorbar(
                sizes * 1.05 ** (2 * i + j - 2.5),
                value - 1,
                yerr=2 * error,
                fmt=MARKERS[i],
                color=COLOURS[i],
                markerfacecolor="white" if j else COLOURS[i],
                label=f"{('product', 'determ.', 'denser')[i]}, {'gaps' if j else 'ranks'}",
            )
    panel.axhspan(-0.03, 0.03, color=BAND_COLOUR, alpha=0.35, lw=0, label="±3 %")
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title="Joint Laplace transforms, bars 2 s.e.",
        xlabel="number of queues n",
        ylabel="queues / diffusion − 1",
        xscale="log",
    )
    label_values(panel.xaxis, sizes, ",.0f")
    panel.legend(fontsize=7, loc="lower right")
