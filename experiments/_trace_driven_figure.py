"""The figure of `trace_driven`: queues against slack, and how dispersion grows with time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, new_figure
from ._trace_driven_runs import BURSTY, SERVICE, formula

if TYPE_CHECKING:
    from .trace_driven import Runs


def draw(runs: Runs) -> Figure:
    """Two panels: r E Z for traces and surrogates; the index of dispersion of the arrivals."""
    figure = new_figure(10.5, 4.4)
    queues, dispersion = figure.subplots(1, 2)
    _draw_queues(queues, runs)
    _draw_dispersion(dispersion, runs)
    return figure


def _draw_queues(panel: Axes, runs: Runs) -> None:
    r = np.array([each.r for each in runs.replays])
    for place, (name, label) in enumerate(
        (("trace", "bursty trace"), ("surrogate", "renewal surrogate"))
    ):
        samples = np.array([getattr(each, name) for each in runs.replays])
        errors = samples.std(axis=1, ddof=1) / samples.shape[1] ** 0.5
        panel.errorbar(
            r,
            samples.mean(axis=1),
            yerr=2.0 * errors,
            color=COLOURS[place],
            marker=MARKERS[place],
            label=label,
        )
    scv = float(formula(runs.replays[0].scv, SERVICE.scv).mean())
    panel.axhline(scv, color=COLOURS[1], linestyle="--", label="formula, scv of one interarrival")
    limit = formula(BURSTY.asymptotic_scv, SERVICE.scv)
    panel.axhline(limit, color=COLOURS[0], linestyle="--", label="formula, lim Var N / E N")
    panel.set(
        title=f"{runs.settings.num_servers} servers, JSQ",
        xlabel="slack r",
        ylabel="r E Z (bars: 2 s.e.)",
        xlim=(0, None),
        ylim=(0, 1.25 * limit),
    )
    panel.legend(fontsize=8, loc="upper right", ncols=2)


def _draw_dispersion(panel: Axes, runs: Runs) -> None:
    times = np.geomspace(0.05, 2000.0, 120)
    panel.plot(
        times,
        [BURSTY.index_of_dispersion(time) for time in times],
        color=COLOURS[0],
        label="Var N(t) / E N(t) of the bursty stream",
    )
    panel.axhline(BURSTY.asymptotic_scv, color=COLOURS[0], linestyle="--", label="its limit")
    scv = float(runs.replays[0].scv.mean())
    panel.axhline(scv, color=COLOURS[1], linestyle="--", label="scv of one interarrival time")
    panel.set(
        title="What one interarrival time does not show",
        xlabel="t, in mean interarrival times",
        xscale="log",
        ylim=(0, None),
    )
    panel.legend()
