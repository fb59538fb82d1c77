"""The figure of `rank_bias`: differences between a step and its half, with fitted powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, PowerLaw, label_round_values, label_values, new_figure

if TYPE_CHECKING:
    from .rank_bias import Found

# Colour and marker belong to the scheme, whatever the problem.
_SCHEMES = ("ProjectedEuler", "BridgeEuler", "Splitting", "HeunBridge", "CollisionBridge")
_ORDERS = {0.5: "1/2", 0.75: "3/4", 1.5: "3/2"}


def draw(found: Sequence[Found]) -> Figure:
    """One panel for each problem."""
    names = list(dict.fromkeys(each.problem.name for each in found))
    num_columns = min(3, len(names))
    num_rows = -(-len(names) // num_columns)
    figure = new_figure(4.2 * num_columns, 3.7 * num_rows + 0.4)
    panels = figure.subplots(num_rows, num_columns, squeeze=False).ravel()
    for panel, name in zip(panels, names, strict=False):
        group = [each for each in found if each.problem.name == name]
        _draw_problem(panel, name, group)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    for panel in panels[::num_columns]:
        panel.set_ylabel("|mean gap(h) - mean gap(h/2)| / mean")
    figure.suptitle(
        "Runs at h and h/2 on one noise (bars: 3 s.e.); lines: fitted power laws, "
        "in brackets the documented order; open: lost in noise.",
        fontsize=9.5,
    )
    return figure


def _exponent(fit: PowerLaw) -> str:
    """The fitted power, where the differences tell it apart from the next one."""
    if fit.exponent_error > 0.5:
        return "open"
    return f"{fit.exponent:.2f} ± {fit.exponent_error:.2f}"


def _draw_problem(panel: Axes, name: str, group: Sequence[Found]) -> None:
    for each in group:
        row = _SCHEMES.index(each.trial.case.name) if each.trial.case.name in _SCHEMES else -1
        colour, marker, gap = COLOURS[row], MARKERS[row], each.trial.case.gap
        steps = np.array(each.trial.steps)
        fit = each.bias.fits[1]
        order = _ORDERS.get(each.trial.case.order, f"{each.trial.case.order:g}")
        panel.errorbar(
            steps,
            np.abs(each.bias.halving[:, gap]),
            yerr=3 * each.bias.halving_error[:, gap],
            fmt=marker,
            color=colour,
            label=f"{each.trial.case.name}, gap {gap + 1}: {_exponent(fit)} ({order})",
        )
        grid = np.geomspace(steps.min() / 1.2, steps.max() * 1.2, 50)
        panel.plot(grid, np.abs(fit(grid)), color=colour, linewidth=0.9)
    steps = sorted({step for each in group for step in each.trial.steps})
    panel.set(title=name, xscale="log", yscale="log", xlabel="step h (time)")
    label_values(panel.xaxis, steps)
    low, high = panel.get_ylim()
    panel.set_ylim(max(low, 1e-5), high * (high / max(low, 1e-5)) ** 0.35)
    label_round_values(panel.yaxis)
    panel.legend(loc="upper left", fontsize=7.5)
