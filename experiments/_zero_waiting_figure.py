"""The figure of `zero_waiting`: waiting against N for each alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, label_values, new_figure
from ._server_profiles import PROFILES
from ._zero_waiting_runs import POLICIES, Runs

_LINES: dict[str, Any] = {"JFSQ": "-", "JSQ": "--", "two choices": ":"}


def draw(runs: Runs) -> Figure:
    """P(wait) above, E wait below; one column for each alpha."""
    alphas = runs.settings.alphas
    figure = new_figure(3.9 * len(alphas) + 0.6, 7.4)
    panels = figure.subplots(2, len(alphas), squeeze=False, sharex=True, sharey="row")
    for column, alpha in enumerate(alphas):
        _draw(panels[0, column], runs, alpha, "prob_wait")
        _draw(panels[1, column], runs, alpha, "wait")
        panels[0, column].set_title(f"alpha = {alpha:g}: load 1 - N^-{alpha:g}")
        panels[1, column].set_xlabel("servers N")
    panels[0, 0].set_ylabel("P(wait) (bars: 3 s.e.)")
    panels[1, 0].set_ylabel("mean wait, in mean services (bars: 3 s.e.)")
    figure.legend(handles=_handles(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _draw(panel: Axes, runs: Runs, alpha: float, field: str) -> None:
    sizes = np.array(runs.settings.sizes)
    for waits in runs.waits:
        if waits.alpha != alpha:
            continue
        values = getattr(waits, field)
        y = np.array([float(each.value) for each in values])
        errors = np.array([3 * float(each.std_error) for each in values])
        seen = y > 0
        index = PROFILES.index(waits.profile)
        panel.errorbar(
            sizes[seen],
            y[seen],
            # A bar that reaches 0 would have no end here.
            yerr=[np.minimum(errors, 0.9 * y)[seen], errors[seen]],
            linestyle=_LINES[waits.policy],
            linewidth=1.0,
            marker=MARKERS[index],
            markersize=3.5,
            color=COLOURS[index],
            markerfacecolor=COLOURS[index] if waits.policy == "JFSQ" else "white",
        )
    slope = alpha - 1 if alpha >= 0.5 else -0.5
    guide = sizes**slope * 0.4 * sizes[0] ** -slope * _lowest_start(runs, alpha, field)
    panel.plot(sizes, guide, color=THEORY_COLOUR, linewidth=2.2, alpha=0.35)
    panel.annotate(f"slope {slope:.2g}", (sizes[1], guide[1]), (0, -14), textcoords="offset points")
    for diffusion in runs.diffusions:
        if diffusion.alpha == alpha:
            values = [float(each.value) for each in getattr(diffusion, field)]
            panel.plot(sizes[-2:], values, "_", color=THEORY_COLOUR, markersize=12)
    panel.set(xscale="log", yscale="log")
    label_values(panel.xaxis, sizes, ".0f")


def _lowest_start(runs: Runs, alpha: float, field: str) -> float:
    """The least value at the smallest N, under which the guide for the slope is drawn."""
    return min(
        float(getattr(waits, field)[0].value)
        for waits in runs.waits
        if waits.alpha == alpha and waits.policy == "JFSQ"
    )


def _handles() -> list[Line2D]:
    profiles = [
        Line2D([], [], color=COLOURS[i], marker=MARKERS[i], linestyle="", label=profile.name)
        for i, profile in enumerate(PROFILES)
    ]
    policies = [
        Line2D([], [], color="#555555", linestyle=_LINES[name], label=name) for name in POLICIES
    ]
    theory = [
        Line2D(
            [],
            [],
            color=THEORY_COLOUR,
            marker="_",
            markersize=12,
            linestyle="",
            label="Halfin-Whitt diffusion (equal, two classes; JFSQ)",
        ),
        Line2D([], [], color=THEORY_COLOUR, linewidth=2.2, alpha=0.35, label="slope of the claim"),
    ]
    return [*profiles, *policies, *theory]
