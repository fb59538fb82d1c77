"""The figure of `routing_tradeoff`: what grows with b, and what messages buy at one load."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atlas.ensemble import Estimate

from ._congestion_laws import imbalance_mean
from ._frame import COLOURS, MARKERS, THEORY_COLOUR, new_figure
from ._routing_tradeoff_runs import (
    Point,
    Runs,
    identity_mean_queue,
    random_imbalance,
    random_mean_queue,
)

_MARGINAL, _RANDOM, _JSQ, _PREMIUM = COLOURS[0], COLOURS[3], COLOURS[1], COLOURS[2]


def draw(runs: Runs) -> Figure:
    """Six panels: three over b, then the Pareto pictures, and premium jobs at large n."""
    figure = new_figure(12.4, 7.4)
    (queue, imbalance, waits), (front, remaining, premium) = figure.subplots(2, 3)
    _draw_queue(queue, runs)
    _draw_imbalance(imbalance, runs)
    _draw_waits(waits, runs)
    _draw_front(front, runs)
    _draw_remaining(remaining, runs)
    _draw_premium(premium, runs)
    return figure


def _bars(panel: Axes, x, estimates: Sequence[Estimate], colour, marker, label, face=None) -> None:
    panel.errorbar(
        x,
        [float(each.value) for each in estimates],
        yerr=[3 * float(each.std_error) for each in estimates],
        fmt=marker,
        color=colour,
        markerfacecolor=face or colour,
        label=label,
    )


def _grid(runs: Runs) -> np.ndarray:
    a = runs.settings.a
    return np.linspace(0.02 * a, 0.96 * a, 120)


def _finish(panel: Axes, runs: Runs, title: str, ylabel: str) -> None:
    panel.set(
        title=title,
        yscale="log",
        xlabel=f"b (a = {runs.settings.a:g}, n = {runs.settings.small_n})",
        ylabel=ylabel,
    )
    # Room for the legend.
    low, high = panel.get_ylim()
    panel.set_ylim(low, high * (high / low) ** 0.35)
    panel.legend(fontsize=7.5, loc="upper left", ncols=2)


def _draw_queue(panel: Axes, runs: Runs) -> None:
    n, a = runs.settings.small_n, runs.settings.a
    b, grid = [point.marginal.b for point in runs.sweep], _grid(runs)
    random = [random_mean_queue(n, a - each) for each in grid]
    panel.plot(grid, random, "--", color=_RANDOM, label="random, exact")
    limit = [identity_mean_queue(n, a, each, n**0.5 / (a - each)) for each in grid]
    panel.plot(grid, limit, color=_MARGINAL, linewidth=0.9, label="marginal, identity")
    means = [Estimate.from_samples(point.marginal.mean_queue) for point in runs.sweep]
    _bars(panel, b, means, _MARGINAL, MARKERS[0], "marginal JSQ")
    full = [_scaled(point.jsq.total, 1 / n) for point in runs.sweep]
    _bars(panel, b, full, _JSQ, MARKERS[1], "full JSQ")
    _finish(panel, runs, "Mean queue (bars: 3 s.e.)", "jobs at a server")


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(estimate.value * factor, estimate.std_error * factor, estimate.dof)


def _draw_imbalance(panel: Axes, runs: Runs) -> None:
    n, a = runs.settings.small_n, runs.settings.a
    b, grid = [point.marginal.b for point in runs.sweep], _grid(runs)
    random = [random_imbalance(n, a - each) for each in grid]
    panel.plot(grid, random, "--", color=_RANDOM, label="random, exact")
    limit = np.full(grid.size, imbalance_mean(n, a))
    panel.plot(grid, limit, color=_MARGINAL, linewidth=0.9, label="product law")
    means = [Estimate.from_samples(point.marginal.imbalance) for point in runs.sweep]
    _bars(panel, b, means, _MARGINAL, MARKERS[0], "marginal JSQ")
    _bars(panel, b, [point.jsq.imbalance for point in runs.sweep], _JSQ, MARKERS[1], "full JSQ")
    _finish(panel, runs, "Imbalance (bars: 3 s.e.)", "longest minus shortest queue, jobs")


def _draw_waits(panel: Axes, runs: Runs) -> None:
    n, a = runs.settings.small_n, runs.settings.a
    b, grid = [point.marginal.b for point in runs.sweep], _grid(runs)
    random = [random_mean_queue(n, a - each) for each in grid]
    panel.plot(grid, random, "--", color=_RANDOM, label="random, exact")
    overall = [Estimate.from_samples(point.marginal.wait) for point in runs.sweep]
    _bars(panel, b, overall, _MARGINAL, MARKERS[0], "marginal JSQ, all")
    full = [_scaled(point.jsq.wait, n) for point in runs.sweep]
    _bars(panel, b, full, _JSQ, MARKERS[1], "full JSQ, all", "none")
    premium = [Estimate.from_samples(point.marginal.shortest) for point in runs.sweep]
    _bars(panel, b, premium, _PREMIUM, MARKERS[2], "premium jobs")
    _finish(panel, runs, "Mean wait (bars: 3 s.e.)", "wait, in mean services")


def _front_points(runs: Runs) -> list[Point]:
    at_load = [p for p in runs.sweep if abs(p.slack - runs.settings.slack) < 1e-9]
    return sorted([*at_load, *runs.front], key=lambda point: point.messages)


def _draw_front(panel: Axes, runs: Runs) -> None:
    n, slack = runs.settings.small_n, runs.settings.slack
    points = _front_points(runs)
    b = np.geomspace(0.05, min(60.0, n**1.5 - slack - 1e-9), 200)
    jobs = n * n - slack * n**0.5
    exact = [identity_mean_queue(n, slack + each, each, n**0.5 / slack) for each in b]
    panel.plot(b * n**1.5 / jobs, exact, color=_MARGINAL, linewidth=0.9)
    means = [Estimate.from_samples(point.marginal.mean_queue) for point in points]
    messages = [point.messages for point in points]
    _bars(panel, messages, means, _MARGINAL, MARKERS[0], "marginal JSQ (labels: b)")
    for point, mean in zip(points, means, strict=True):
        where = (point.messages, float(mean.value))
        panel.annotate(f"{point.marginal.b:g}", where, (6, 4), textcoords="offset points")
    random, jsq = random_mean_queue(n, slack), points[0].jsq
    panel.axhline(random, linestyle="--", color=_RANDOM, label="random, no messages")
    panel.plot(n, jsq.total.value / n, MARKERS[1], color=_JSQ, markersize=7, label="full JSQ")
    panel.set(
        title=f"One load: a − b = {slack:g}, n = {n} (bars: 3 s.e.)",
        xscale="log",
        yscale="log",
        xlabel="messages per job",
        ylabel="mean queue, jobs at a server",
        ylim=(None, random * 2),
    )
    panel.legend(fontsize=7.5, loc="lower left")


def _draw_remaining(panel: Axes, runs: Runs) -> None:
    n = runs.settings.small_n
    share = np.linspace(0, 1, 50)
    panel.plot(share, 1 - share, color=THEORY_COLOUR, linewidth=0.9, label="limit 1 − b/a")
    for points, colour, marker, label in (
        (runs.sweep, _MARGINAL, MARKERS[0], f"a = {runs.settings.a:g}"),
        (runs.front, _PREMIUM, MARKERS[2], f"a − b = {runs.settings.slack:g}"),
    ):
        ratios = [
            _scaled(
                Estimate.from_samples(point.marginal.mean_queue),
                1 / random_mean_queue(n, point.slack),
            )
            for point in points
        ]
        x = [point.marginal.b / point.marginal.a for point in points]
        _bars(panel, x, ratios, colour, marker, f"{label}, n = {n}")
    panel.set(
        title="Left of random routing's queue (bars: 3 s.e.)",
        xlabel="b/a = messages per job × √n/a",
        ylabel="mean queue / that under random routing",
        ylim=(0, 1.05),
    )
    panel.legend()


def _draw_premium(panel: Axes, runs: Runs) -> None:
    a = runs.settings.a
    for premium, colour in zip(runs.premium, COLOURS, strict=False):
        limit = 1 / (a - premium.b)
        for name, marker, face, sizes in (
            ("premium jobs", MARKERS[2], colour, [premium.coarse, premium.large]),
            ("full JSQ", MARKERS[1], "white", premium.jsq),
        ):
            waits = [_scaled_wait(each) for each in sizes]
            panel.errorbar(
                [each.n**-0.5 for each in sizes],
                [float(wait.value) / limit for wait in waits],
                yerr=[3 * float(wait.std_error) / limit for wait in waits],
                fmt=marker,
                color=colour,
                markerfacecolor=face,
                label=f"b = {premium.b:g}, {name}",
            )
    panel.axhline(1, color=THEORY_COLOUR, linewidth=0.8, label="limit 1/(a-b)")
    panel.set(
        title="Premium jobs and full JSQ (bars: 3 s.e.)",
        xlabel="1/√n",
        ylabel="√n × mean wait / limit",
        xlim=(0, None),
    )
    panel.margins(y=0.4)
    panel.legend(fontsize=7.5)


def _scaled_wait(each) -> Estimate:
    """sqrt(n) E wait, of premium jobs from snapshots or of all jobs under full JSQ."""
    if hasattr(each, "wait"):
        return _scaled(each.wait, each.n**0.5)
    return each.scaled_rank_means()[0]
