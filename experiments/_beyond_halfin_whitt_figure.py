"""The figure of `beyond_halfin_whitt`: how the shape is approached, and the law itself."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import queueing

from ._beyond_halfin_whitt_runs import CASES, GRID, Runs, Total
from ._frame import COLOURS, MARKERS, new_figure


def draw(runs: Runs) -> Figure:
    """One row: the mean against what is left of beta, then the tail for each profile."""
    figure = new_figure(12.4, 4.2)
    shape, *tails = figure.subplots(1, 1 + len(CASES))
    _draw_shape(shape, runs)
    for panel, (profile, policy), colour in zip(tails, CASES, COLOURS, strict=False):
        _draw_tail(panel, runs, profile, type(policy).__name__, colour)
    return figure


def _limit(profile) -> float:
    return queueing.total_beyond_halfin_whitt(1.0, profile.rates, profile.shares).shape


def _draw_shape(panel: Axes, runs: Runs) -> None:
    settings = runs.settings
    for (profile, policy), colour in zip(CASES, COLOURS, strict=False):
        label = f"{profile.name}, {type(policy).__name__}"
        limit = _limit(profile)
        panel.axhline(limit, color=colour, linewidth=0.9)
        panel.annotate(
            f"Gamma({limit:.3g})", (0.0, limit), (4, 3), textcoords="offset points", color=colour
        )
        queues = runs.queues[profile.name]
        x = [settings.beta * each.parameter ** (0.5 - settings.alpha) for each in queues]
        _bars(panel, x, queues, colour, MARKERS[0], colour, f"{label}: queues")
        diffusions = runs.diffusions[profile.name]
        x = [each.parameter for each in diffusions]
        _bars(panel, x, diffusions, colour, MARKERS[1], "white", f"{label}: diffusion")
    panel.set(
        title="Mean of the total (bars: 3 s.e.; lines: limits)",
        xlabel=r"queues: $\beta N^{1/2-\alpha}$; diffusion: its β",
        ylabel=r"rate × E β (jobs − N) / $N^\alpha$",
        xlim=(0, None),
        ylim=(0, 3.0),
    )
    panel.legend(fontsize=7.5, loc="upper right")


def _bars(panel: Axes, x, totals: list[Total], colour, marker, face, label: str) -> None:
    shapes = [each.shape for each in totals]
    panel.errorbar(
        x,
        [float(each.value) for each in shapes],
        yerr=[3 * float(each.std_error) for each in shapes],
        fmt=marker,
        color=colour,
        markerfacecolor=face,
        label=label,
    )


def _draw_tail(panel: Axes, runs: Runs, profile, policy: str, colour: str) -> None:
    settings, queues = runs.settings, runs.queues[profile.name]
    for total, marker, strength in zip(queues, MARKERS, (0.35, 0.6, 1.0), strict=False):
        cdf = total.cdf
        panel.errorbar(
            # In units of the rate that is left at this N, so that the limit is one curve.
            GRID * total.rate,
            1 - cdf.value,
            yerr=3 * cdf.std_error,
            fmt=marker,
            color=colour,
            alpha=strength,
            label=f"N = {total.parameter:,}",
        )
    x, shape = np.linspace(0, GRID[-1], 200), _limit(profile)
    panel.plot(
        x, queueing.GammaLaw(shape, 1.0).survival(x), color="black", label=f"Gamma({shape:.3g})"
    )
    other = 2.0 if shape < 1.9 else 1.0
    panel.plot(
        x,
        queueing.GammaLaw(other, 1.0).survival(x),
        "--",
        color="#777777",
        label=f"Gamma({other:.3g}), for comparison",
    )
    panel.set(
        title=f"{profile.name}, {policy}, α = {settings.alpha:g} (bars: 3 s.e.)",
        xlabel=r"rate × β (jobs − N) / $N^\alpha$",
        ylabel="P(above)",
        yscale="log",
        ylim=(1e-3, 1.2),
        xlim=(0, GRID[-1]),
    )
    # Where neither points nor bars are.
    panel.legend(fontsize=7.5, loc="upper right")
