"""The figure of `solver_bias`: relative bias of each mean gap against the step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, label_values, new_figure

if TYPE_CHECKING:
    from ._scheme_bias import Bias, Case

# A bias below so many standard errors is drawn as what is known of it: an upper end.
_VISIBLE = 2.0


def draw(steps: Sequence[float], biases: Mapping[str, Bias], cases: Sequence[Case]) -> Figure:
    """One panel for each gap shown, one colour for each scheme, fitted curves where orders were."""
    num_gaps = next(iter(biases.values())).value.shape[1]
    shown = range(num_gaps) if num_gaps <= 4 else (0, 1, 2, num_gaps - 1)
    figure = new_figure(2.9 * len(shown), 3.9)
    panels = figure.subplots(1, len(shown), sharey=True)
    for panel, gap in zip(panels, shown, strict=True):
        for row, (case, colour, marker) in enumerate(zip(cases, COLOURS, MARKERS, strict=False)):
            _draw_scheme(panel, np.array(steps), biases[case.name], gap, case.name, colour, marker)
            if gap == range(num_gaps)[case.gap]:
                _draw_fit(panel, np.array(steps), biases[case.name], case.order, colour, row)
        panel.axhspan(1e-5, 0.01, color="#EFEFEF", zorder=0, label="below 1 %")
        panel.set(xscale="log", yscale="log", xlabel="step (time)", ylim=(1e-3, 0.6))
        panel.set_xlim(min(steps) / 1.35, max(steps) * 1.35)
        label_values(panel.xaxis, steps)
        name = "lowest gap" if gap == 0 else f"gap {gap + 1}"
        panel.set_title(f"highest gap ({name})" if gap == num_gaps - 1 else name)
    panels[0].set_ylabel("|relative bias of the mean gap|")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.suptitle(
        "Bars: one standard error; hollow with an arrow: bias below two of them. "
        "Dashed: fitted power laws.",
        fontsize=8.5,
    )
    return figure


def _draw_scheme(panel, steps, bias, gap, name, colour, marker) -> None:
    value, error = np.abs(bias.value[:, gap]), bias.std_error[:, gap]
    visible = value > _VISIBLE * error
    panel.errorbar(
        steps[visible],
        value[visible],
        yerr=error[visible],
        fmt=marker,
        color=colour,
        label=name,
    )
    panel.errorbar(
        steps[~visible],
        (value + _VISIBLE * error)[~visible],
        yerr=(value + _VISIBLE * error)[~visible] / 2,
        uplims=True,
        fmt=marker,
        color=colour,
        markerfacecolor="white",
        elinewidth=0.8,
    )


def _draw_fit(panel, steps, bias, order, colour, row) -> None:
    # The fit is of differences to the half step; the bias itself follows by summing them up.
    fit = bias.fits[1]
    grid = np.geomspace(steps.min() / 1.3, steps.max() * 1.3, 50)
    halvings = grid[:, None] / 2.0 ** np.arange(60)
    total = np.abs(fit(halvings).sum(axis=1))
    panel.plot(grid, total, "--", color=colour, linewidth=1.0)
    name = {0.5: "1/2", 1.5: "3/2"}.get(order, f"{order:g}")
    panel.text(
        0.03,
        0.97 - 0.07 * row,
        f"order {fit.exponent:.2f} ± {fit.exponent_error:.2f} (theory {name})",
        transform=panel.transAxes,
        verticalalignment="top",
        color=colour,
        fontsize=8,
    )
