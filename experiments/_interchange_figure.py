"""The figure of `interchange`: errors against n, the laws of the gaps, and the two orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atlas.ensemble import Estimate

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, PowerLaw, new_figure
from ._large_n import large_n_limit

if TYPE_CHECKING:
    from .interchange import Runs


def draw(runs: Runs, fits: Mapping[str, tuple[PowerLaw, PowerLaw]]) -> Figure:
    """Three panels."""
    figure = new_figure(13.0, 4.8)
    errors, laws, orders = figure.subplots(1, 3)
    _draw_errors(errors, runs, fits)
    _draw_laws(laws, runs)
    _draw_orders(orders, runs)
    return figure


def _draw_errors(panel: Axes, runs: Runs, fits: Mapping[str, tuple[PowerLaw, PowerLaw]]) -> None:
    exact = np.array(runs.settings.exact_sizes, float)
    sizes = np.array([run.stream.n for run in runs.long], float)
    distances = np.array([each.distance for each in runs.exact])
    lowest = np.array([each.means[0] * each.rates[0] - 1 for each in runs.exact])
    total = np.array([float(run.total.value) / runs.total - 1 for run in runs.long])
    error = np.array([3 * float(run.total.std_error) / runs.total for run in runs.long])
    none = np.zeros_like(exact)
    # Relative errors of means, whose fits are of absolute ones.
    series = [
        (exact, distances, none, 1.0, "2 servers, exact: sup |law - product|"),
        (exact, np.abs(lowest), none, 1 / float(runs.exact[0].rates[0]), "2 servers, exact: gap 1"),
        (sizes, np.abs(total), error, runs.total, f"{runs.rates.size} servers: total"),
    ]
    for (x, y, error, scale, name), (_, fit), colour, marker in zip(
        series, fits.values(), COLOURS, MARKERS, strict=False
    ):
        panel.errorbar(x, y, yerr=error, fmt=marker, color=colour, label=name)
        grid = np.geomspace(x[0], x[-1], 60)
        exponent = f"{fit.exponent:.3f}"
        if np.any(error):
            exponent += f" ± {fit.exponent_error:.3f}"
        label = f"exponent {exponent}"
        panel.plot(grid, np.abs(fit(grid)) / scale, color=colour, linewidth=0.9, label=label)
    panel.set(
        title="Error at finite n (bars: 3 s.e.; theory -1/2)",
        xscale="log",
        yscale="log",
        xlabel="rate n of a server",
        ylabel="distance to the product law",
    )
    panel.legend(fontsize=7.5, loc="lower left")


def _draw_laws(panel: Axes, runs: Runs) -> None:
    x = np.linspace(0, 5, 200)
    for k, rate in enumerate(runs.exact[0].rates):
        panel.plot(x, np.exp(-rate * x), color=THEORY_COLOUR, label="product law" if k == 0 else "")
    for each, colour in zip((runs.exact[0], runs.exact[-2]), COLOURS, strict=False):
        for k, line in enumerate(("-", "--")):
            tail = each.tails[:, 0] if k == 0 else each.tails[0]
            at = np.arange(tail.size) / each.n**0.5
            shown = at <= 5
            label = f"gap {k + 1}, n = {each.n}"
            panel.plot(at[shown], tail[shown], line, color=colour, drawstyle="steps", label=label)
    panel.set(
        title="Two servers: exact laws of the gaps",
        yscale="log",
        xlabel="x",
        ylabel="P(gap / sqrt(n) >= x)",
        ylim=(3e-3, 1.3),
    )
    panel.legend(fontsize=7.5, loc="lower left")


def _draw_orders(panel: Axes, runs: Runs) -> None:
    gaps = np.arange(1, runs.rates.size + 1)
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    limit, bound = large_n_limit([run.gaps for run in runs.long[-4:-1]])
    panel.errorbar(
        gaps - 0.08,
        limit.value * runs.rates - 1,
        yerr=(3 * limit.std_error + bound) * runs.rates,
        fmt=MARKERS[0],
        color=COLOURS[0],
        label="time first, then n (extrapolated)",
    )
    end = Estimate.from_samples(runs.diffusion)
    panel.errorbar(
        gaps + 0.08,
        end.value * runs.rates - 1,
        yerr=(3 * end.std_error + runs.diffusion_bias) * runs.rates,
        fmt=MARKERS[1],
        color=COLOURS[1],
        label="n first, then time (diffusion)",
    )
    panel.set(
        title=f"{gaps.size} servers: both orders of the limits",
        xlabel="gap k (bars: 3 s.e. and bounds on the bias)",
        ylabel="mean gap / product law - 1",
        xlim=(0.5, gaps.size + 0.5),
    )
    panel.set_xticks(gaps)
    panel.margins(y=0.3)
    panel.legend(fontsize=8, loc="upper right")
