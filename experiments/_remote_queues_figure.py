"""The figure of `remote_queues`: waits over chi, the oscillation, and what the rules give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure

if TYPE_CHECKING:
    from .remote_queues import Runs


def draw(runs: Runs) -> Figure:
    """Four panels."""
    figure = new_figure(11.4, 7.4)
    (waits, rules), (path, spectrum) = figure.subplots(2, 2)
    _draw_waits(waits, runs)
    _draw_rules(rules, runs)
    _draw_path(path, runs)
    _draw_spectrum(spectrum, runs)
    return figure


def _draw_waits(panel: Axes, runs: Runs) -> None:
    settings = runs.settings
    for index, (delay, sweep) in enumerate(runs.sweeps.items()):
        panel.errorbar(
            [each.chi for each in sweep],
            [float(each.mean_wait.value) for each in sweep],
            yerr=[3 * float(each.mean_wait.std_error) for each in sweep],
            marker=MARKERS[index],
            color=COLOURS[index],
            linewidth=0.8,
            label=f"travel time {delay:g}",
        )
    nothing = settings.load / (1 - settings.load)
    panel.axhline(nothing, color=COLOURS[3], linestyle="--", label="no information, exact")
    pooled = next(iter(runs.sweeps.values()))[0].regime.pooled_wait
    panel.axhline(
        pooled, color=THEORY_COLOUR, linestyle=":", label="one pooled server, wait in queue"
    )
    panel.set(
        title=f"Two stations at load {settings.load:g} (bars: 3 s.e.)",
        xlabel="fraction chi of the jobs that go to the shorter queue",
        ylabel="mean wait, in mean services",
    )
    panel.legend()


def _draw_rules(panel: Axes, runs: Runs) -> None:
    """Ratios, not waits: on common random numbers they are known several times better."""
    ratios = runs.rule_ratios()
    names = [f"{name}\nchi = {runs.rules[name].chi:.3f}" for name in ratios]
    panel.errorbar(
        np.arange(len(names)),
        [float(each.value) for each in ratios.values()],
        yerr=[3 * float(each.std_error) for each in ratios.values()],
        fmt=MARKERS[0],
        color=COLOURS[0],
    )
    label = f"least over chi, {float(runs.best.least.value):.2f} mean services"
    panel.axhline(1, color=COLOURS[2], label=label)
    panel.axhline(1.1, color=THEORY_COLOUR, linestyle="--", linewidth=0.9, label="a tenth longer")
    panel.set_xticks(np.arange(len(names)), names)
    panel.set(
        title=f"Rules of thumb, travel time {runs.settings.delay:g} (bars: 3 s.e.)",
        ylabel="mean wait / least",
        xlim=(-0.6, len(names) - 0.4),
    )
    panel.margins(y=0.35)
    panel.legend(loc="upper left")


def _draw_path(panel: Axes, runs: Runs) -> None:
    for name, colour, oscillation in (
        ("JSQ", COLOURS[1], runs.full),
        (f"chi = {runs.some_chi:g}", COLOURS[0], runs.some),
    ):
        path = oscillation.path[:160]
        panel.plot(np.arange(path.size) / 8, path, color=colour, label=name, linewidth=1)
    panel.set(
        title=f"One path of the difference of the queues, travel time {runs.settings.delay:g}",
        xlabel="time, in travel times",
        ylabel="$Q_1 - Q_2$, jobs",
    )
    panel.legend(loc="upper right", ncols=2)


def _draw_spectrum(panel: Axes, runs: Runs) -> None:
    for name, colour, style, oscillation in (
        ("JSQ, queues", COLOURS[1], "-", runs.full),
        ("JSQ, delay diffusion", THEORY_COLOUR, "--", runs.diffusion),
        (f"chi = {runs.some_chi:g}, queues", COLOURS[0], "-", runs.some),
    ):
        shown = (oscillation.frequency > 0) & (oscillation.frequency <= 1)
        panel.plot(
            oscillation.frequency[shown],
            oscillation.power[shown],
            style,
            color=colour,
            label=name,
        )
    panel.axvline(0.25, color="#777777", linewidth=0.8, label="period of four travel times")
    panel.set(
        title=f"Spectrum of the difference, mean over {runs.settings.replicas} paths (Welch)",
        xlabel="frequency, per travel time",
        ylabel="power, jobs² × travel time",
        yscale="log",
    )
    panel.legend()
