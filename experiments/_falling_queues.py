"""The animation for the README: ranked queues of three sizes fall into the bands of the diffusion.

`python -m experiments._falling_queues [FOLDER]` writes FOLDER/falling_queues.gif again, in less
than half a minute; without FOLDER into docs/images.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

import atlas
import queueing
from atlas.ensemble import check_path

from ._frame import COLOURS, figure_style, new_figure

_SIZES = (16, 128, 1024)
_RANKS = (1, 4, 8, 12)
_A, _B = 2.0, 1.0
# The start: an even column, denser than any that the drift b can hold up.
_LOWEST, _SPACING = 3.0, 0.25
_HORIZON, _FRAMES, _STEPS_PER_FRAME = 4.0, 40, 8
_PARTICLES, _REPLICAS, _SEED = 128, 1024, 11
_COLOURS_IN_FILE = 128
_MILLISECONDS, _PAUSE = 90, 2500


@dataclass(frozen=True)
class Film:
    """What the frames show.

    Arguments:
        times: of the paths, shape (time,).
        paths: by n, ranked lengths over sqrt(n) of one system, shape (time, rank).
        frame_times: of the bands, shape (frame,).
        bands: 10 %, 50 % and 90 % points of the diffusion's ranks, shape (3, frame, rank).
    """

    times: np.ndarray
    paths: dict[int, np.ndarray]
    frame_times: np.ndarray
    bands: np.ndarray


def _column(count: int) -> np.ndarray:
    return _LOWEST + _SPACING * np.arange(count)


def simulate() -> Film:
    """One system of each size, and many replicas of the diffusion, from the same column."""
    times = np.linspace(0, _HORIZON, _FRAMES * _STEPS_PER_FRAME + 1)
    frame_times = times[::_STEPS_PER_FRAME]
    shown = np.array(_RANKS) - 1
    paths = {}
    for n in _SIZES:
        run = queueing.simulate(
            queueing.extreme_congestion(n, _A, _B),
            times=times,
            initial=np.round(_column(n) * n**0.5),
            replicas=1,
            seed=_SEED,
            num_ranks=max(_RANKS),
        )
        paths[n] = run.lengths_ranked[:, 0, shown] / n**0.5
    diffusion = atlas.simulate(
        atlas.reflected_atlas(_PARTICLES, 1 / _SPACING, _B, closure="free"),
        atlas.Splitting(_HORIZON / _FRAMES / 5),
        times=frame_times,
        initial=_column(_PARTICLES),
        replicas=_REPLICAS,
        key=_SEED,
        num_ranks=max(_RANKS),
    )
    bands = np.quantile(diffusion.ranked[:, :, shown], [0.1, 0.5, 0.9], axis=1)
    return Film(times, paths, frame_times, bands)


def frames(film: Film) -> Iterator[Image.Image]:
    """One picture for each frame, paths drawn up to its time."""
    with figure_style():
        figure = new_figure(9.6, 3.5)
        panels = figure.subplots(1, len(_SIZES), sharey=True)
        lines = [_draw_panel(panel, film, n) for panel, n in zip(panels, _SIZES, strict=True)]
        panels[0].set_ylabel("ranked queues / sqrt(n)")
        for frame in range(_FRAMES + 1):
            last = frame * _STEPS_PER_FRAME + 1
            for n, of_panel in zip(_SIZES, lines, strict=True):
                for k, line in enumerate(of_panel):
                    line.set_data(film.times[:last], film.paths[n][:last, k])
            yield _picture(figure)


def _draw_panel(panel: Axes, film: Film, n: int) -> list:
    lines = []
    for k, rank in enumerate(_RANKS):
        low, middle, high = film.bands[:, :, k]
        panel.fill_between(film.frame_times, low, high, color=COLOURS[k], alpha=0.16, linewidth=0)
        panel.plot(film.frame_times, middle, ":", color=COLOURS[k], linewidth=1)
        lines += panel.step(
            [], [], where="post", color=COLOURS[k], linewidth=1.3, label=f"rank {rank}"
        )
    panel.set(
        title=f"n = {n} servers",
        xlabel="time (bands: diffusion, 10 to 90 %)",
        xlim=(0, _HORIZON),
        ylim=(0, film.paths[_SIZES[-1]].max() + 1.0),
    )
    if n == _SIZES[0]:
        panel.legend(loc="upper right", ncols=2, fontsize=7.5)
    return lines


def _picture(figure: Figure) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return Image.open(buffer).convert("RGB")


def write(folder: Path) -> Path:
    """Write falling_queues.gif into the folder, with one palette, so that nothing flickers."""
    pictures = list(frames(simulate()))
    palette = pictures[-1].quantize(_COLOURS_IN_FILE, dither=Image.Dither.NONE)
    first, *rest = [
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures
    ]
    folder = check_path("folder", folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "falling_queues.gif"
    durations = [_MILLISECONDS] * len(rest) + [_PAUSE]
    first.save(path, save_all=True, append_images=rest, duration=durations, loop=0, optimize=True)
    return path


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[1] / "docs" / "images"
    print(write(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
