"""Waiting vanishes as servers grow in number, below and above alpha = 1/2, under JFSQ.

N servers of four profiles of speed at load 1 - N^{-alpha}, buffers of five. The slopes of waiting
in log-log pictures are -(1 - alpha) from alpha = 1/2 on, slowly so above it, and steeper than -1/2
below it.
Constants are held to the Halfin-Whitt diffusion at the same load. Under two choices most jobs wait,
as the mean field says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._frame import Claim, Experiment, Outcome, fit_power_law
from ._server_profiles import PROFILES
from ._zero_waiting_figure import draw
from ._zero_waiting_runs import Diffusion, RegimeFactory, Runs, Waits, simulate

# By the diffusion; where waiting is rarer, a run sees too little of it to say how rare.
_RAREST = 1e-4


@dataclass(frozen=True)
class Settings:
    alphas: tuple[float, ...] = (0.4, 0.5, 0.65)
    """Exponents of the load's distance from 1, in (0, 1)."""
    sizes: tuple[int, ...] = (100, 400, 1600, 6400)
    """Servers, each four times the former; at least three."""
    buffer: int = 5
    """Places at a server, the one in service included."""
    events: float = 2.5e7
    """Ticks of each run, all replicas together; five times as many for JFSQ above alpha = 1/2."""
    replicas: int = 24
    """Replicas of each run."""
    paths: int = 2**13
    """Paths of each diffusion."""

    def __post_init__(self) -> None:
        if not all(0 < alpha < 1 for alpha in self.alphas):
            raise ValueError(f"alphas are {self.alphas}: give some between 0 and 1")
        steps = [large == 4 * small for small, large in pairwise(self.sizes)]
        if len(self.sizes) < 3 or not all(steps) or self.sizes[0] < 10:
            raise ValueError(f"sizes are {self.sizes}: three or more from 10, each four times")
        if self.buffer < 2:
            raise ValueError(f"buffer is {self.buffer}: at least 2, or nobody waits")
        if min(self.replicas, self.paths) < 20:
            raise ValueError("replicas and paths: give at least 20, for an error")


def run(settings: Settings, *, seed: int, regime: RegimeFactory = queueing.zero_waiting) -> Outcome:
    runs = simulate(settings, seed=seed, regime=regime)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs))


def identifier(alpha: float) -> str:
    return "P2.1" if alpha < 0.5 else "P2.2"


def all_claims(runs: Runs) -> Iterator[Claim]:
    for waits in runs.waits:
        if waits.policy == "JFSQ":
            yield from slope_claims(runs.settings, waits)
    for diffusion in runs.diffusions:
        if diffusion.prob_wait[-1].value >= _RAREST:
            yield from constant_claims(runs, diffusion)
    for waits in runs.waits:
        if waits.policy == "two choices" and waits.profile in PROFILES[:2]:
            yield two_choices_claim(runs.settings, waits)


def slope_claims(settings: Settings, waits: Waits) -> Iterator[Claim]:
    for name, values in (("P(wait)", waits.prob_wait), ("E wait", waits.wait)):
        slope, error, drift = local_slope(settings.sizes, values)
        label = f"{waits.profile.name}, alpha={waits.alpha:g}: slope of {name} in N"
        if waits.alpha < 0.5:
            statement = "JFSQ: waiting vanishes faster than N^(-1/2) below alpha = 1/2."
            yield _at_most("P2.1", statement, label, slope, error, -0.5)
        elif waits.alpha > 0.5 and name == "P(wait)":
            # Where the fast are few, second jobs fill them all and wait elsewhere at these N.
            statement = "JFSQ: the probability of waiting vanishes above alpha = 1/2 too."
            yield _at_most("P2.2", statement, label, slope, error, (waits.alpha - 1) / 4)
        else:
            yield Claim(
                "P2.2",
                "JFSQ: waiting vanishes like N^-(1-alpha) from alpha = 1/2 to 1.",
                label,
                slope,
                error,
                waits.alpha - 1,
                drift * remaining(waits),
            )


def _at_most(
    claim: str, statement: str, label: str, slope: float, error: float, bound: float
) -> Claim:
    """A claim on the excess of the slope over its bound, 0 where there is none."""
    excess = max(0.0, slope - bound)
    return Claim(claim, statement, f"{label}, its excess over {bound:.3g}", excess, error, 0.0)


def remaining(waits: Waits) -> float:
    """How far the slope over three sizes is from its limit, in units of the drift before.

    At alpha = 1/2 corrections fall like 1/sqrt(N). Above, those of the diffusion's law do, like
    beta^shape with beta = N^(1/2 - alpha), and they are slower: half a drift to
    the last two sizes, and then a geometric series.
    """
    shape = 1 + waits.profile.slowest / waits.profile.fastest
    exponent = (waits.alpha - 0.5) * shape if waits.alpha > 0.5 else 0.5
    return 0.5 + 1 / (4**exponent - 1)


def local_slope(sizes: Sequence[int], values: Sequence[Estimate]) -> tuple[float, float, float]:
    """Slope at the three largest N, its standard error, and how much slopes drift from N to 4N.

    The drift is that between the slopes at the first three sizes, where it is largest and seen
    best, and one standard error of it.
    """
    x, y = np.array(sizes, float), np.array([float(each.value) for each in values])
    errors = np.array([float(each.std_error) for each in values])
    # A size at which nobody waited counts as one that had less than its error.
    errors = np.maximum(errors, 1e-3 * np.abs(y).max() * (errors == 0))
    fit = fit_power_law(x[-3:], y[-3:], errors[-3:] ** 2)
    # Where nobody waited the drift is unknown, and a claim that leans on it fails.
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.diff(np.log(y[:3])) / np.log(4)
        relative = errors[:3] / y[:3] / np.log(4)
        noise = np.sqrt(relative[0] ** 2 + 4 * relative[1] ** 2 + relative[2] ** 2)
        drift = float(abs(steps[1] - steps[0]) + noise)
    return fit.exponent, fit.exponent_error, drift


def find(runs: Runs, policy: str, like: Diffusion) -> Waits:
    return next(
        waits
        for waits in runs.waits
        if (waits.policy, waits.profile, waits.alpha) == (policy, like.profile, like.alpha)
    )


def constant_claims(runs: Runs, diffusion: Diffusion) -> Iterator[Claim]:
    """What parts N servers from the diffusion falls like 1/sqrt(N) or N^(alpha - 1): N/4 shows."""
    waits = find(runs, "JFSQ", diffusion)
    for name, queues, paths in (
        ("P(wait)", waits.prob_wait, diffusion.prob_wait),
        ("E wait", waits.wait, diffusion.wait),
    ):
        ratios = [_ratio(*pair) for pair in zip(queues[-2:], paths, strict=True)]
        shrink = 4 ** min(0.5, 1 - diffusion.alpha)
        bias = (abs(ratios[0][0] - 1) + ratios[0][1]) / shrink
        yield Claim(
            identifier(diffusion.alpha),
            "JFSQ: waiting is that of the Halfin-Whitt diffusion of the same load.",
            f"{diffusion.profile.name}, alpha={diffusion.alpha:g}, N={runs.settings.sizes[-1]}: "
            f"{name} / the diffusion's",
            ratios[1][0],
            ratios[1][1],
            1.0,
            bias,
        )


def _ratio(above: Estimate, below: Estimate) -> tuple[float, float]:
    ratio = float(above.value / below.value)
    relative = np.hypot(above.std_error / max(above.value, 1e-300), below.std_error / below.value)
    return ratio, float(ratio * relative)


def two_choices_claim(settings: Settings, waits: Waits) -> Claim:
    """What parts N servers from the mean field falls like N^(alpha - 1), at least by half."""
    gaps = []
    for n, estimate in zip(settings.sizes[-2:], waits.prob_wait[-2:], strict=True):
        field = queueing.PowerOfDMeanField(
            2, 1 - n**-waits.alpha, waits.profile.rates, waits.profile.shares, settings.buffer
        )
        gaps.append((estimate, field.prob_wait()))
    (quarter, quarter_theory), (large, theory) = gaps
    shrink = 4 ** (1 - waits.alpha) - 1
    return Claim(
        identifier(waits.alpha),
        "Two choices do not do it: P(wait) stays that of the mean field.",
        f"{waits.profile.name}, alpha={waits.alpha:g}, N={settings.sizes[-1]}: P(wait)",
        float(large.value),
        float(large.std_error),
        theory,
        float(abs(quarter.value - quarter_theory) + quarter.std_error) / max(shrink, 1.0),
        float(large.dof),
    )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    for waits in runs.waits:
        for name, values in (("P(wait)", waits.prob_wait), ("E wait", waits.wait)):
            for n, value in zip(runs.settings.sizes, values, strict=True):
                yield _row(waits.policy, waits.profile.name, waits.alpha, n, name, value)
    for diffusion in runs.diffusions:
        for name, values in (("P(wait)", diffusion.prob_wait), ("E wait", diffusion.wait)):
            for n, value in zip(runs.settings.sizes[-2:], values, strict=True):
                label = "Halfin-Whitt diffusion"
                yield _row(label, diffusion.profile.name, diffusion.alpha, n, name, value)


def _row(policy, profile, alpha, n, quantity, estimate: Estimate) -> dict[str, object]:
    return {
        "policy": policy,
        "servers": profile,
        "alpha": alpha,
        "N": n,
        "quantity": quantity,
        "value": float(estimate.value),
        "std_error": float(estimate.std_error),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P2",
    Settings(),
    Settings(alphas=(0.4, 0.65), sizes=(25, 100, 400), events=8e5, replicas=20, paths=2**9),
    run,
)
