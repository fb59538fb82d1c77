"""One figure of all that was measured: ratios with their rounds, and costs against size."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure

_ROW = 0.27


def draw(documents: Sequence[dict[str, Any]]) -> Figure:
    """The figure of the documents that the command writes as JSON."""
    groups = [[case for case in each["cases"] if not case["series"]] for each in documents]
    compared = [group for group in groups if len(group) > 1]
    grown = [each for each in documents if each["exponents"]]
    height = max(3.6, 1.6 + _ROW * sum(map(len, compared)))
    figure = new_figure(width=7.6 if not (compared and grown) else 12.4, height=height)
    axes = np.atleast_1d(figure.subplots(1, max(1, bool(compared) + bool(grown))))
    if compared:
        _draw_ratios(axes[0], compared, height)
    if grown:
        _draw_growth(axes[-1], grown)
    return figure


def _draw_ratios(axes: Axes, groups: Sequence[list[dict[str, Any]]], height: float) -> None:
    labels, row = [], 0
    for number, group in enumerate(groups):
        colour = COLOURS[number % len(COLOURS)]
        for case in group:
            ratio = case["ratio_to_baseline"]
            low, high = ratio["median"] - ratio["min"], ratio["max"] - ratio["median"]
            marker = "D" if case is group[0] else "o"
            axes.errorbar(
                ratio["median"], row, xerr=[[low], [high]], fmt=marker, color=colour, capsize=2.5
            )
            for bound, symbol in ((case["at_most"], 4), (case["at_least"], 5)):
                if bound:
                    axes.plot(bound, row, marker=symbol, color=THEORY_COLOUR, linestyle="none")
            labels.append(case["name"])
            row += 1
        axes.axhline(row - 0.5, color="#DDDDDD", linewidth=0.8)
    axes.axvline(1.0, color=THEORY_COLOUR, linewidth=0.8)
    axes.set_yticks(range(row), labels, fontsize=7.5)
    axes.set_ylim(row - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel("cost per unit of work / that of the baseline of its group")
    axes.set_title("Ratios, measured side by side")
    _explain_ratios(axes, below=0.55 / height)


def _explain_ratios(axes: Axes, *, below: float) -> None:
    """The legend, at that share of the axes' height below them."""
    axes.plot([], [], "D", color="#666666", label="baseline of a group (one colour)")
    axes.errorbar([], [], xerr=[], fmt="o", color="#666666", label="median; bar: min to max")
    axes.plot([], [], marker=4, color=THEORY_COLOUR, linestyle="none", label="demanded: at most")
    axes.plot([], [], marker=5, color=THEORY_COLOUR, linestyle="none", label="demanded: at least")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -below), ncols=2, fontsize=7.5)


def _draw_growth(axes: Axes, documents: Sequence[dict[str, Any]]) -> None:
    for number, (series, unit, cases, exponent) in enumerate(_all_series(documents)):
        sizes = np.array([case["size"] for case in cases])
        costs = [case["seconds_per_unit"] for case in cases]
        median = np.array([cost["median"] for cost in costs])
        spread = [median - [c["min"] for c in costs], [c["max"] for c in costs] - median]
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        label = (
            f"{series}: exponent {exponent['median']:.2f} "
            f"[{exponent['min']:.2f}, {exponent['max']:.2f}]\nper {unit}"
        )
        axes.errorbar(
            sizes, median, yerr=spread, fmt=marker, color=colour, capsize=2.5, label=label
        )
        centre = np.exp(np.mean(np.log(sizes))), np.exp(np.mean(np.log(median)))
        fitted = centre[1] * (sizes / centre[0]) ** exponent["median"]
        axes.plot(sizes, fitted, color=colour, linewidth=0.9, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("servers n or particles N")
    axes.set_ylabel("seconds per unit of work")
    axes.set_title("Cost against size")
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        fontsize=7.5,
        title="median; bar: min to max\ndashed: fitted power",
    )


def _all_series(documents: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, list, dict]]:
    """Names, units of work (named by a series where they are its own), cases and exponents."""
    for document in documents:
        for series, exponent in document["exponents"].items():
            name, _, unit = series.partition(", per ")
            cases = [case for case in document["cases"] if case["series"] == series]
            yield name, unit or document["unit"], cases, exponent
