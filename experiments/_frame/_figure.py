"""One style for all figures: colours that colour-blind readers can tell apart, files that repeat.

Figures are made without pyplot, so that nothing depends on a display or on global state.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from atlas.ensemble import check_path

# Okabe and Ito's palette, without its yellow, which is too light for lines on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
THEORY_COLOUR = "#000000"
BAND_COLOUR = "#BBBBBB"

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "errorbar.capsize": 2.0,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "#DDDDDD",
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
    # Text is drawn with the fonts that matplotlib ships, so that files do not depend on a machine.
    "svg.hashsalt": "atlas-queueing",
    "text.usetex": False,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the project's style inside the block, whatever the user's own settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(width: float = 8.0, height: float = 4.5) -> Figure:
    """An empty figure with a file-only canvas; sizes in inches."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def label_values(axis: Axis, values: Iterable[float], form: str = "g") -> None:
    """Ticks at these values alone, labelled by the format: for logarithmic axes.

    Arguments:
        axis: `panel.xaxis` or `panel.yaxis`.
        values: where the ticks are.
        form: a format specification, such as "g" or ",.0f".
    """
    ticks = list(values)
    axis.set_ticks(ticks, [format(tick, form) for tick in ticks], minor=False)
    axis.set_ticks([], minor=True)


def label_round_values(axis: Axis) -> None:
    """Ticks at 1, 2 and 5 times powers of ten alone, for logarithmic axes of a few decades.

    Arguments:
        axis: `panel.xaxis` or `panel.yaxis`, its limits as they shall be.
    """
    low, high = axis.get_view_interval()
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    label_values(axis, [value for value in values if low <= value <= high])


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure in the format that the suffix names, without dates or versions in it.

    Raises: ValueError unless `path` ends in .png or .pdf.
    """
    suffix = check_path("path", path).suffix
    if suffix not in _METADATA:
        raise ValueError(f"path is {str(path)!r}: choose one that ends in {' or '.join(_METADATA)}")
    with figure_style():
        figure.savefig(path, metadata=_METADATA[suffix])


_METADATA: dict[str, dict[Any, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
