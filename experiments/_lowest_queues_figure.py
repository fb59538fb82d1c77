"""The figure of `lowest_queues`: laws of the lowest ranks, what is between, and the bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from atlas.ensemble import Estimate

from ._congestion_laws import bulk_profile, gumbel_cdf, rank_cdf, rank_mean
from ._frame import BAND_COLOUR, COLOURS, MARKERS, THEORY_COLOUR, new_figure
from ._rank_snapshots import SHARES

if TYPE_CHECKING:
    from .lowest_queues import Runs

# Half the width of the band that holds sup |F_n - F| with probability 99 %, times sqrt(n).
_BAND = float(np.sqrt(np.log(2 / 0.01) / 2))


def draw(runs: Runs) -> Figure:
    """Six panels: laws, differences, means; imbalance, bulk, waits."""
    figure = new_figure(12.4, 7.4)
    (laws, differences, means), (imbalance, bulk, waits) = figure.subplots(2, 3)
    _draw_laws(laws, runs)
    _draw_differences(differences, runs)
    _draw_means(means, runs)
    _draw_imbalance(imbalance, runs)
    _draw_bulk(bulk, runs)
    _draw_waits(waits, runs)
    return figure


def _shown(runs: Runs) -> list[int]:
    count = runs.settings.num_ranks
    return sorted({1, (count + 1) // 2, count})


def _draw_laws(panel: Axes, runs: Runs) -> None:
    a, b = runs.settings.a, runs.settings.b
    ranks = runs.scaled_ranks(runs.large)
    x = np.linspace(0, np.quantile(ranks, 0.999), 300)
    centres = np.linspace(0, x[-1], 33)
    for k, colour in zip(_shown(runs), COLOURS, strict=False):
        counts, edges = np.histogram(ranks[:, k - 1], bins=centres)
        density = counts / (len(ranks) * np.diff(edges))
        label = f"rank {k}"
        panel.stairs(density, edges, color=colour, fill=True, alpha=0.25)
        exact = np.gradient(rank_cdf(x, k, a, b), x)
        panel.plot(x, exact, color=colour, label=label)
    panel.set(
        title=f"Lowest queues, n = {runs.settings.n}",
        xlabel="length / √n",
        ylabel="density (steps: queues, lines: limit)",
        xlim=(0, x[-1]),
        ylim=(0, None),
    )
    panel.legend(title="limit Exp(a − b) + Gamma(k − 1, a)", title_fontsize=8)


def _draw_differences(panel: Axes, runs: Runs) -> None:
    a, b = runs.settings.a, runs.settings.b
    ranks = runs.scaled_ranks(runs.large)
    probs = np.linspace(0.002, 0.998, 250)
    half = _BAND / len(ranks) ** 0.5
    panel.fill_between([0, 1], -half, half, color=BAND_COLOUR, alpha=0.5, lw=0,
                       label="99 % of exact samples stay inside")  # fmt: skip
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8)
    for k, colour in zip(_shown(runs), COLOURS, strict=False):
        points = np.quantile(ranks[:, k - 1], probs)
        exact = rank_cdf(points, k, a, b)
        panel.plot(exact, probs - exact, color=colour, label=f"rank {k}")
    panel.set(
        title="Distribution functions less their limits",
        xlabel="distribution function of the limit",
        ylabel="queues minus limit",
    )
    panel.margins(y=0.6)
    panel.legend(loc="upper right", fontsize=7.5)


def _draw_means(panel: Axes, runs: Runs) -> None:
    a, b = runs.settings.a, runs.settings.b
    exact = np.array([rank_mean(k, a, b) for k in range(1, runs.settings.num_ranks + 1)])
    for which, colour, marker, shift in (
        (runs.coarse, COLOURS[1], MARKERS[1], -0.08),
        (runs.large, COLOURS[0], MARKERS[0], 0.08),
    ):
        means = which.rank_means()
        root = which.n**0.5
        panel.errorbar(
            np.arange(1, exact.size + 1) + shift,
            means.value / root / exact - 1,
            yerr=3 * means.std_error / root / exact,
            fmt=marker,
            color=colour,
            label=f"n = {which.n}",
        )
    panel.axhline(0, color=THEORY_COLOUR, linewidth=0.8, label="limit")
    panel.set(
        title="Mean lowest queues (bars: 3 s.e.)",
        xlabel="rank k",
        ylabel="mean length / limit − 1",
    )
    panel.set_xticks(np.arange(1, exact.size + 1))
    panel.margins(y=0.3)
    panel.legend()


def _draw_imbalance(panel: Axes, runs: Runs) -> None:
    scaled = runs.large.scaled_imbalance()
    x = np.linspace(-2.5, 7, 300)
    panel.hist(
        scaled,
        bins=np.linspace(-2.5, 7, 48).tolist(),
        density=True,
        color=COLOURS[4],
        alpha=0.6,
        label=f"n = {runs.large.n}, as started",
    )
    panel.plot(x, np.exp(-x) * gumbel_cdf(x), color=THEORY_COLOUR, label="Gumbel")
    for each, colour in zip(runs.small, COLOURS[1:], strict=False):
        mean = each.a * each.n**-1.5 * each.imbalance.mean() - np.log(each.n)
        panel.axvline(mean, color=colour, linewidth=1, linestyle="--", label=f"mean, n = {each.n}")
    panel.axvline(
        np.euler_gamma, color=THEORY_COLOUR, linewidth=1, linestyle=":", label="mean, Gumbel"
    )
    panel.set(
        title="Imbalance: longest minus shortest queue",
        xlabel="a (longest − shortest) / $n^{3/2}$ − log n",
        ylabel="density",
        xlim=(-2.5, 7),
    )
    panel.legend(fontsize=7.5)


def _draw_bulk(panel: Axes, runs: Runs) -> None:
    a = runs.settings.a
    share = np.linspace(0, 0.985, 200)
    panel.plot(share, bulk_profile(share, a), color=THEORY_COLOUR, label="−log(1 − x)/a")
    for each, colour, marker in zip(runs.small, COLOURS[1:], MARKERS[1:], strict=False):
        # Rank k of n stands for the share (k - 1/2)/n.
        at = (np.arange(1, each.n + 1) - 0.5) / each.n
        label = f"n = {each.n}, long run"
        panel.plot(at, each.profile / each.n**1.5, marker, color=colour, label=label)
    mean = Estimate.from_samples(runs.large.profile / runs.large.n**1.5)
    label = f"n = {runs.large.n}, as started"
    panel.plot(SHARES, mean.value, MARKERS[0], color=COLOURS[0], markersize=6, label=label)
    panel.set(
        title="The bulk: all ranks, from the shortest",
        xlabel="share x of the ranks below",
        ylabel="length / $n^{3/2}$",
    )
    panel.legend(loc="upper left")


def _draw_waits(panel: Axes, runs: Runs) -> None:
    slack = runs.settings.a - runs.settings.b
    for each in (runs.coarse, runs.large):
        wait = each.rank_means()[0]
        panel.errorbar(
            each.n,
            wait.value / each.n**0.5,
            yerr=3 * wait.std_error / each.n**0.5,
            fmt=MARKERS[0],
            color=COLOURS[0],
            label="premium jobs" if each is runs.large else None,
        )
    for each in runs.jsq:
        panel.errorbar(
            each.n,
            each.wait.value * each.n**0.5,
            yerr=3 * each.wait.std_error * each.n**0.5,
            fmt=MARKERS[1],
            color=COLOURS[1],
            label="full JSQ, every job" if each is runs.jsq[-1] else None,
        )
    n = np.geomspace(8, 4000, 100)
    panel.plot(n, n / runs.settings.a, color=COLOURS[2], label="marginal JSQ, every job")
    panel.plot(n, n / slack, "--", color=COLOURS[3], label="random routing, every job")
    panel.axhline(1 / slack, color=THEORY_COLOUR, linewidth=0.8, label="limit 1/(a − b)")
    panel.set(
        title="Mean waits at equal load (bars: 3 s.e.)",
        xscale="log",
        yscale="log",
        xlabel="number of servers n",
        ylabel="√n × mean wait",
    )
    panel.legend(fontsize=7.5)
