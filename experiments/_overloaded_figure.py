"""The figure of `overloaded`: paths, the spread over time, its law, and its approach in n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atlas.ensemble import Estimate

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._large_n import large_n_limit
from ._overloaded_runs import POINTS, free_range, spread_tail

if TYPE_CHECKING:
    from .overloaded import Runs


def draw(runs: Runs) -> Figure:
    """Four panels."""
    figure = new_figure(12.4, 8.2)
    (ranks, spread), (law, gaps) = figure.subplots(2, 2)
    _draw_ranks(ranks, runs)
    _draw_spread(spread, runs)
    _draw_law(law, runs)
    _draw_gaps(gaps, runs)
    return figure


def _draw_ranks(panel: Axes, runs: Runs) -> None:
    for each, colour, name in (
        (runs.followed, COLOURS[0], "thin stream to the shortest"),
        (runs.random, COLOURS[3], "all at random"),
    ):
        means = each.ranked.mean(axis=1)
        for rank in range(means.shape[1]):
            label = name if rank == 0 else None
            panel.plot(each.times, means[:, rank], MARKERS[0] + "-", color=colour, label=label)
    slope = -runs.settings.slacks[0] / runs.settings.num_servers
    times = np.array([0, runs.followed.times[-1]])
    panel.plot(times, slope * times, "--", color=THEORY_COLOUR, label="-v t / K")
    panel.set(
        title=f"Mean ranked queues above their common start, n = {runs.settings.n}",
        xlabel="time",
        ylabel="length / sqrt(n)",
    )
    panel.legend(loc="upper left")


def _draw_spread(panel: Axes, runs: Runs) -> None:
    for each, colour, marker, name in (
        (runs.followed, COLOURS[0], MARKERS[0], "thin stream to the shortest"),
        (runs.random, COLOURS[3], MARKERS[1], "all at random"),
    ):
        spread = Estimate.from_samples(each.spread, axis=1)
        panel.errorbar(
            each.times,
            spread.value,
            yerr=3 * spread.std_error,
            fmt=marker,
            color=colour,
            label=name,
        )
    times = np.geomspace(runs.followed.times[0] / 1.5, runs.followed.times[-1] * 1.2, 60)
    count = runs.settings.num_servers
    panel.plot(
        times,
        free_range(count) * np.sqrt(2 * times),
        color=COLOURS[3],
        linewidth=0.9,
        label="range of independent queues",
    )
    limit = float(np.sum(1 / runs.long[0][0].rates))
    panel.axhline(limit, color=THEORY_COLOUR, linestyle="--", label="(K/b)(1 + ... + 1/(K-1))")
    panel.set(
        title="Spread over time (bars: 3 s.e.)",
        xscale="log",
        yscale="log",
        xlabel="time",
        ylabel="E(max - min) / sqrt(n)",
    )
    label_values(panel.yaxis, [3, 5, 10, 20, 30])
    panel.legend(loc="upper left")


def _draw_law(panel: Axes, runs: Runs) -> None:
    from .overloaded import label_of

    x = np.linspace(0.05, 1.1 * POINTS[-1], 200)
    for i, (sizes, colour, marker) in enumerate(zip(runs.long, COLOURS, MARKERS, strict=False)):
        limit, _ = large_n_limit([run.tails for run in sizes])
        panel.plot(x, spread_tail(x, sizes[0].rates), color=colour, linewidth=0.9)
        panel.errorbar(
            np.array(POINTS) + 0.1 * (i - 1),
            limit.value,
            yerr=3 * limit.std_error,
            fmt=marker,
            color=colour,
            label=label_of(sizes),
        )
    panel.set(
        title="Law of the spread, n extrapolated (bars: 3 s.e.; lines: theory)",
        yscale="log",
        xlabel="x",
        ylabel="P(max - min > x sqrt(n))",
        ylim=(8e-3, 1.3),
    )
    panel.legend(loc="lower left")


def _draw_gaps(panel: Axes, runs: Runs) -> None:
    from .overloaded import label_of

    gaps = np.arange(2, runs.settings.num_servers + 1)
    largest = runs.settings.sizes[-1]
    for i, (sizes, colour, marker) in enumerate(zip(runs.long, COLOURS, MARKERS, strict=False)):
        limit, bound = large_n_limit([run.gaps for run in sizes])
        rates, at = sizes[0].rates, gaps + 0.1 * (i - 1)
        panel.errorbar(
            at,
            limit.value * rates - 1,
            yerr=(3 * limit.std_error + bound) * rates,
            fmt=marker,
            color=colour,
            label=label_of(sizes),
        )
        finite = sizes[-1].gaps.value * rates - 1
        panel.plot(at, finite, marker, color=colour, markerfacecolor="none", alpha=0.8)
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    panel.set(
        title=f"Mean gaps over theory (filled: n extrapolated, hollow: n = {largest})",
        xlabel="gap k (bars: 3 s.e. and the bound on what is left)",
        ylabel="mean gap / theory - 1",
    )
    panel.set_xticks(gaps)
    panel.margins(y=0.25)
    panel.legend(loc="upper right")
