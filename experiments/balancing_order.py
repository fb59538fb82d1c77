"""How much balancing is best: the optimal chi against the scale, and the delay diffusion behind it.

Two stations whose excess capacity epsilon = 1 - load falls as their travel time c/epsilon grows:
n = epsilon^{-2}, and the optimal fraction is of the order n^{-1/4} = sqrt(epsilon).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import atlas
from atlas.ensemble import Estimate

from ._balancing_order_figure import draw
from ._balancing_order_runs import CENTRE, Runs, Scale, simulate, spread_ratio
from ._frame import Claim, Experiment, Outcome, fit_power_law


@dataclass(frozen=True)
class Settings:
    excess: tuple[float, ...] = (0.1, 0.05, 0.025, 0.0125)
    """Values of 1 - load, each half of the former."""
    delay: float = 1.0
    """Travel time times the excess."""
    factor: tuple[float, ...] = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
    """Fractions chi, in units of the optimum that is expected; 0.5, 1 and 2 among them."""
    jobs: float = 2e6
    """Jobs of each run at the first excess; four times as many at the next."""
    replicas: int = 32
    """Replicas of each run of the queues."""
    kappa: tuple[float, ...] = (0.6, 0.75, 0.9, 1.05, 1.25, 1.5, 1.8)
    """Pulls of the delay diffusion without a floor."""
    horizon: float = 200.0
    """Length of its runs, in delays."""
    paths: int = 16384
    """Replicas of the delay diffusions."""

    def __post_init__(self) -> None:
        ratios = np.divide(self.excess[1:], self.excess[:-1])
        if len(self.excess) < 3 or not np.allclose(ratios, 0.5) or not 0 < self.excess[0] < 0.5:
            raise ValueError(f"excess is {self.excess}: give at least 3, each half of the former")
        if not {0.5, 1.0, 2.0} <= set(self.factor) or len(self.factor) < 5:
            raise ValueError(f"factor is {self.factor}: give at least 5 with 0.5, 1 and 2")
        if min(self.replicas, self.paths) < 8:
            raise ValueError("replicas and paths: give at least 8, for an error")


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    order = runs.order
    notes = [
        f"optimal chi = {order.factor:.3f} excess^p, p = {order.exponent:.3f} +- "
        f"{order.exponent_error:.3f}, so n^-{order.exponent / 2:.3f}; "
        f"|D| of the delay diffusion is least at kappa = {float(runs.kappa_best.place.value):.3f} "
        f"+- {float(runs.kappa_best.place.std_error):.3f}.",
    ]
    return Outcome(list(claims(runs)), list(rows(runs)), draw(runs), notes)


def claims(runs: Runs) -> Iterator[Claim]:
    settings, order = runs.settings, runs.order
    # What the largest excess adds to the exponent shows how far it is from its limit.
    rest = runs.scales[1:]
    later = fit_power_law(
        np.array([scale.excess for scale in rest]),
        np.array([float(scale.best.place.value) for scale in rest]),
        np.array([float(scale.best.place.std_error) ** 2 for scale in rest]),
    )
    yield Claim(
        "P4.3",
        "The optimal fraction is of the order n^{-1/4}, up to logarithms.",
        f"travel time {settings.delay:g}/(1-load): p of chi ~ (1-load)^{{2p}}",
        order.exponent / 2,
        order.exponent_error / 2,
        0.25,
        abs(order.exponent - later.exponent) / 2 + later.exponent_error / 2,
    )
    yield from pooling_claims(runs)
    for scale, coarse in zip(runs.scales[1:], runs.scales[:-1], strict=True):
        yield from limit_claims(settings, scale, coarse)
    best = runs.kappa_best
    for quantity, estimate, theory, bias in (
        ("kappa of least E|D|", best.place, atlas.OPTIMAL_DELAY_GAIN, 0.01),
        ("least E|D| / (sigma sqrt d)", best.least, atlas.LEAST_DELAY_SPREAD, 0.002),
    ):
        yield Claim(
            "P4.3",
            "Delay diffusion: the constants that the rule `DelayOptimum` uses.",
            quantity,
            float(estimate.value),
            float(np.hypot(estimate.std_error, theory.std_error)),
            float(theory.value),
            bias,
            float(estimate.dof),
        )


def pooling_claims(runs: Runs) -> Iterator[Claim]:
    """Wait at the best chi over the pooled server's, 1 + c sqrt(excess) + c' excess, extrapolated.

    What a straight line through all but the first excess says beside it bounds what is left.
    """
    root = np.sqrt([scale.excess for scale in runs.scales])
    ratio = np.array([_pooling(scale)[0] for scale in runs.scales])
    error = np.array([_pooling(scale)[1] for scale in runs.scales])

    def intercept(points: slice, degree: int) -> tuple[float, float]:
        line, covariance = np.polyfit(
            root[points], ratio[points], degree, w=1 / error[points], cov="unscaled"
        )
        return float(line[-1]), float(np.sqrt(covariance[-1, -1]))

    whole, later = intercept(slice(None), 2), intercept(slice(1, None), 1)
    yield Claim(
        "P4.2",
        "At the best chi the stations pool: waits tend to those of one server of all capacity.",
        "least mean wait / pooled server's, extrapolated in sqrt(1 - load)",
        whole[0],
        whole[1],
        1.0,
        abs(whole[0] - later[0]) + later[1],
    )


def _pooling(scale: Scale) -> tuple[float, float]:
    pooled = scale.waits[0].regime.pooled_wait
    return float(scale.best.least.value) / pooled, float(scale.best.least.std_error) / pooled


def limit_claims(settings: Settings, scale: Scale, coarse: Scale) -> Iterator[Claim]:
    """E|Q_1 - Q_2| over that of the delay diffusion with a floor; jobs are whole, so 1 + O(d^-1/2).

    What parts them at twice the excess bounds what parts them at this one.
    """
    for factor in scale.spread:
        value, error = spread_ratio(settings, scale, factor)
        before, before_error = spread_ratio(settings, coarse, factor)
        kappa = CENTRE * factor
        yield Claim(
            "P4.2",
            "The queues' difference is that of the delay diffusion, as the scale grows.",
            f"1-load={scale.excess:g}, kappa={kappa:.2g}: E|Q_1-Q_2| / the diffusion's",
            value,
            error,
            1.0,
            abs(before - 1) + before_error,
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: waits over chi, and the spread over kappa."""
    for scale in runs.scales:
        for each in scale.waits:
            yield _row("queues", scale.excess, each.chi, each.mean_wait)
        yield _row("optimum", scale.excess, float(scale.best.place.value), scale.best.least)
    for kappa, samples in zip(runs.settings.kappa, runs.kappa_spread, strict=True):
        yield _row("delay diffusion", 0.0, kappa, Estimate.from_samples(samples))


def _row(what: str, excess: float, chi: float, estimate: Estimate) -> dict[str, object]:
    return {
        "what": what,
        "excess": excess,
        "chi_or_kappa": chi,
        "wait_or_spread": float(estimate.value),
        "std_error": float(estimate.std_error),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P4",
    Settings(),
    Settings(
        excess=(0.2, 0.1, 0.05),
        factor=(0.35, 0.5, 1.0, 2.0, 2.8),
        jobs=2e5,
        replicas=16,
        kappa=(0.6, 0.8, 1.0, 1.25, 1.5, 1.8),
        horizon=60.0,
        paths=4096,
    ),
    run,
)
