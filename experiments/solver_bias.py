"""Biases and weak orders of the schemes on the reflected Atlas model, against an exact law.

Replicas start in the exact stationary law, so that every departure of a mean gap from its exact
value is the scheme's. For each step h a second run at h/2 shares the noise; the difference of the
two has a far smaller error than either, and shows the order p through

    E gap(h) - E gap(h/2) = c (1 - 2^-p) h^p (1 + e sqrt(h)),

whose correction is that of reflected diffusions: powers of h go up by halves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

import atlas
from atlas.ensemble import Estimate

from ._bias_table import STEPS, TABLE
from ._frame import Claim, Experiment, Outcome, PowerLaw, fit_power_law, spawn_seed
from ._one_particle import exact_mean, projected_mean, splitting_mean
from ._solver_bias_figure import draw


@dataclass(frozen=True)
class Settings:
    num_particles: int = 4
    """Number of particles, at least 3."""
    a: float = 2.0
    """Density of the particles, per unit of length."""
    b: float = 1.0
    """Drift of the lowest particle, length per unit of time."""
    horizon: float = 4.0
    """Time from the exact law to the measurement; a multiple of every step."""
    steps: tuple[float, ...] = STEPS
    """Steps, at least four, each compared with its half."""
    accuracy_step: float = 0.05
    """The one of `steps` at which Splitting is to be accurate."""
    accuracy: float = 0.01
    """Relative bias of the three lowest mean gaps that Splitting may have there."""
    replicas: int = 2**20
    """Paths for each step of Splitting; half for ProjectedEuler, a quarter for BridgeEuler."""

    def __post_init__(self) -> None:
        if self.num_particles < 3:
            raise ValueError(f"num_particles is {self.num_particles}: three gaps are looked at")
        if len(set(self.steps)) < 4:
            raise ValueError(f"steps are {self.steps}: an order needs at least four of them")
        if self.accuracy_step not in self.steps:
            raise ValueError(f"accuracy_step {self.accuracy_step} is none of steps {self.steps}")
        if self.replicas < 8:
            raise ValueError(f"replicas is {self.replicas}: give at least 8, for an error")


@dataclass(frozen=True)
class Case:
    """A scheme, its weak order and the gap that shows it, and its part of the replicas."""

    name: str
    scheme: Callable[[float], atlas.AbstractScheme]
    order: float
    gap: int
    share: float


# The smaller the biases and the cheaper the paths, the more paths. The gap is the one whose bias
# stands out: the lowest where the floor is the fault, the highest where only collisions are left.
CASES = (
    Case("ProjectedEuler", atlas.ProjectedEuler, 0.5, 0, 0.5),
    Case("BridgeEuler", atlas.BridgeEuler, 1.0, 0, 0.25),
    Case("Splitting", atlas.Splitting, 1.5, -1, 1.0),
)


@dataclass(frozen=True)
class Bias:
    """What was measured of one scheme; arrays (step, gap), relative to the exact mean gaps."""

    value: np.ndarray
    std_error: np.ndarray
    halving: np.ndarray
    halving_error: np.ndarray
    fits: tuple[PowerLaw, PowerLaw]


def run(settings: Settings, *, seed: int) -> Outcome:
    model = atlas.reflected_atlas(settings.num_particles, settings.a, settings.b)
    biases = {case.name: measure(case, model, settings, seed) for case in CASES}
    claims = [
        *one_particle_claims(settings, seed),
        *(order_claim(case, biases[case.name]) for case in CASES),
        *accuracy_claims(biases["Splitting"], settings),
        *table_claims(biases, settings),
    ]
    return Outcome(claims, rows(biases, settings), draw(settings.steps, biases, CASES))


def measure(case: Case, model: atlas.RankDiffusion, settings: Settings, seed: int) -> Bias:
    """Biases at every step, and differences between each step and its half, by coupled runs."""
    steps = np.array(settings.steps)
    runs = np.array([coupled_run(case, model, step, settings, seed) for step in steps])
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


def coupled_run(
    case: Case, model: atlas.RankDiffusion, step: float, settings: Settings, seed: int
) -> np.ndarray:
    """Relative biases at `step`, at its half, and their difference: (3, value or error, gap)."""
    law = atlas.stationary_gaps(model)
    key = spawn_seed(seed, CASES.index(case), settings.steps.index(step))

    def gaps(scheme: atlas.AbstractScheme, noise_step: float | None) -> np.ndarray:
        solution = atlas.simulate(
            model,
            scheme,
            horizon=settings.horizon,
            initial=law,
            replicas=max(2, round(case.share * settings.replicas)),
            key=key,
            noise_step=noise_step,
        )
        return solution.gaps[-1].astype(float) / law.mean - 1

    coarse, fine = gaps(case.scheme(step), step / 2), gaps(case.scheme(step / 2), None)
    estimates = map(Estimate.from_samples, (coarse, fine, coarse - fine))
    return np.array([(each.value, each.std_error) for each in estimates])


def order_claim(case: Case, bias: Bias) -> Claim:
    """The weak order; what the correction leaves undone is bounded by half of what it did.

    On one particle, where all biases are known by quadrature, it leaves a third or less.
    """
    plain, corrected = bias.fits
    number = "lowest" if case.gap == 0 else "highest"
    return Claim(
        "S.1",
        "Mean gaps converge with the scheme's weak order in the step.",
        f"{case.name}: order, {number} gap",
        corrected.exponent,
        corrected.exponent_error,
        case.order,
        abs(corrected.exponent - plain.exponent) / 2,
    )


def accuracy_claims(bias: Bias, settings: Settings) -> list[Claim]:
    step = settings.steps.index(settings.accuracy_step)
    return [
        Claim(
            "S.1",
            f"Splitting's mean gaps are within {settings.accuracy:.2g} of the exact ones.",
            f"Splitting: relative bias, gap {k + 1}, step {settings.accuracy_step:g}",
            bias.value[step, k],
            bias.std_error[step, k],
            0.0,
            settings.accuracy,
        )
        for k in range(3)
    ]


def table_claims(biases: dict[str, Bias], settings: Settings) -> list[Claim]:
    """Chi-square of all steps and gaps against the table, by Wilson and Hilferty's cube root.

    (chi^2 / m)^(1/3) is nearly normal with mean 1 - 2/(9m) and variance 2/(9m). Only for the model
    and the steps of the table.
    """
    model = (settings.num_particles, settings.a, settings.b, settings.horizon)
    if model != (4, 2.0, 1.0, 4.0) or settings.steps != STEPS:
        return []
    claims = []
    for name, reference in TABLE.items():
        bias = biases[name]
        variance = bias.std_error**2 + reference.std_error**2
        terms = (bias.value - reference.bias) ** 2 / variance
        spread = 2 / (9 * terms.size)
        claims.append(
            Claim(
                "S.1",
                "All biases agree with those of an independent program.",
                f"{name}: (chi^2/{terms.size})^(1/3) against the table",
                float(np.cbrt(terms.mean())),
                sqrt(spread),
                1 - spread,
            )
        )
    return claims


def one_particle_claims(settings: Settings, seed: int) -> list[Claim]:
    """One particle from the floor, where each scheme's mean is known at every step."""
    model = atlas.reflected_atlas(1, settings.a, settings.b)
    drift, horizon, longest = settings.b - settings.a, settings.horizon, max(settings.steps)
    tried: list[tuple[atlas.AbstractScheme, float]] = [
        *((atlas.ProjectedEuler(h), projected_mean(drift, h, horizon)) for h in settings.steps),
        (atlas.BridgeEuler(longest), exact_mean(drift, horizon)),
        (atlas.Splitting(longest), splitting_mean(drift, longest, horizon)),
    ]
    return [
        one_particle_claim(model, scheme, theory, settings, spawn_seed(seed, len(CASES), i))
        for i, (scheme, theory) in enumerate(tried)
    ]


def one_particle_claim(
    model: atlas.RankDiffusion,
    scheme: atlas.AbstractScheme,
    theory: float,
    settings: Settings,
    key: int,
) -> Claim:
    solution = atlas.simulate(
        model,
        scheme,
        horizon=settings.horizon,
        initial="empty",
        replicas=max(2, settings.replicas // 4),
        key=key,
    )
    end = solution.estimate("gaps")
    return Claim(
        "S.1",
        "On one particle projection has Spitzer's bias, the bridge none, splitting its kernel's.",
        f"{type(scheme).__name__}: mean of one particle, step {scheme.step:g}",
        float(end.value[-1, 0]),
        float(end.std_error[-1, 0]),
        theory,
    )


def rows(biases: dict[str, Bias], settings: Settings) -> list[dict[str, object]]:
    """One row for each scheme, step and gap."""
    return [
        {
            "scheme": name,
            "step": step,
            "gap": k + 1,
            "relative_bias": bias.value[i, k],
            "std_error": bias.std_error[i, k],
            "difference_to_half_step": bias.halving[i, k],
            "difference_std_error": bias.halving_error[i, k],
        }
        for name, bias in biases.items()
        for i, step in enumerate(settings.steps)
        for k in range(settings.num_particles)
    ]


EXPERIMENT: Experiment[Settings] = Experiment("S", Settings(), Settings(replicas=2**16), run)
