"""Bias and weak order of a scheme on one model, by runs that share their noise.

For each step h a second run at h/2 shares the noise; the difference of the two has a far smaller
error than either, and shows the order p through

    E gap(h) - E gap(h/2) = c (1 - 2^-p) h^p (1 + e sqrt(h)),

whose correction is that of reflected diffusions: powers of h go up by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import atlas
from atlas.ensemble import Estimate

from ._frame import Claim, PowerLaw, fit_power_law, spawn_seed


@dataclass(frozen=True)
class Case:
    """A scheme, its weak order and the gap that shows it, and its part of the replicas."""

    name: str
    scheme: Callable[[float], atlas.AbstractScheme]
    order: float
    gap: int
    share: float = 1.0


@dataclass(frozen=True)
class Plan:
    """How biases are measured.

    Arguments:
        steps: of the scheme, at least four, each compared with its half.
        horizon: time from the start to the measurement; a multiple of every step.
        replicas: paths for each step, of which a case takes its share.
        initial: where replicas start, as in `atlas.simulate`.
        mean: exact mean gaps, (gap,).
    """

    steps: Sequence[float]
    horizon: float
    replicas: int
    initial: str | atlas.ProductExponential | atlas.ExponentialMixture
    mean: np.ndarray


@dataclass(frozen=True)
class Bias:
    """What was measured of one scheme; arrays (step, gap), relative to the exact mean gaps."""

    value: np.ndarray
    std_error: np.ndarray
    halving: np.ndarray
    halving_error: np.ndarray
    fits: tuple[PowerLaw, PowerLaw]


def measure(case: Case, model: atlas.RankDiffusion, plan: Plan, seed: int, path: int) -> Bias:
    """Biases at every step, and differences between each step and its half, by coupled runs.

    `path` tells the seeds of one case from those of the others.
    """
    steps = np.array(plan.steps)
    runs = np.array(
        [
            _coupled_run(case, model, plan, step, spawn_seed(seed, path, i))
            for i, step in enumerate(plan.steps)
        ]
    )
    (value, error), fine, halving = (runs[:, part].swapaxes(0, 1) for part in range(3))
    variance = error**2
    # Where h/2 is itself one of the steps, its two independent runs are averaged.
    for i, j in np.argwhere(np.isclose(steps[:, None] / 2, steps)):
        value[j] = (runs[j, 0, 0] + fine[0, i]) / 2
        variance[j] = (runs[j, 0, 1] ** 2 + fine[1, i] ** 2) / 4
    gap = case.gap
    differences, variances = halving[0, :, gap], halving[1, :, gap] ** 2
    fits = (
        fit_power_law(steps, differences, variances),
        fit_power_law(steps, differences, variances, correction=0.5),
    )
    return Bias(value, np.sqrt(variance), halving[0], halving[1], fits)


def _coupled_run(
    case: Case, model: atlas.RankDiffusion, plan: Plan, step: float, key: int
) -> np.ndarray:
    """Relative biases at `step`, at its half, and their difference: (3, value or error, gap)."""

    def gaps(scheme: atlas.AbstractScheme, noise_step: float | None) -> np.ndarray:
        solution = atlas.simulate(
            model,
            scheme,
            horizon=plan.horizon,
            initial=plan.initial,
            replicas=max(2, round(case.share * plan.replicas)),
            key=key,
            noise_step=noise_step,
        )
        return solution.gaps[-1].astype(float) / plan.mean - 1

    coarse, fine = gaps(case.scheme(step), step / 2), gaps(case.scheme(step / 2), None)
    estimates = map(Estimate.from_samples, (coarse, fine, coarse - fine))
    return np.array([(each.value, each.std_error) for each in estimates])


def order_claim(quantity: str, case: Case, bias: Bias) -> Claim:
    """The weak order; what the correction leaves undone is bounded by half of what it did.

    On one particle, where all biases are known by quadrature, it leaves a third or less.
    """
    plain, corrected = bias.fits
    return Claim(
        "S.1",
        "Mean gaps converge with the scheme's weak order in the step.",
        quantity,
        corrected.exponent,
        corrected.exponent_error,
        case.order,
        abs(corrected.exponent - plain.exponent) / 2,
    )
