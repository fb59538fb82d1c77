"""Biases and weak orders of the schemes on the reflected Atlas model, against an exact law.

Replicas start in the exact stationary law, so that every departure of a mean gap from its exact
value is the scheme's. For each step h a second run at h/2 shares the noise; the difference of the
two has a far smaller error than either, and shows the order p through

    E gap(h) - E gap(h/2) = c (1 - 2^-p) h^p (1 + e sqrt(h)),

whose correction is that of reflected diffusions: powers of h go up by halves.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

import atlas

from ._bias_table import STEPS, TABLE
from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._one_particle import exact_mean, projected_mean, splitting_mean
from ._scheme_bias import Bias, Case, Plan, measure, order_claim
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


# The smaller the biases and the cheaper the paths, the more paths. The gap is the one whose bias
# stands out: the lowest where the floor is the fault, the highest where only collisions are left.
CASES = (
    Case("ProjectedEuler", atlas.ProjectedEuler, 0.5, 0, 0.5),
    Case("BridgeEuler", atlas.BridgeEuler, 1.0, 0, 0.25),
    Case("Splitting", atlas.Splitting, 1.5, -1, 1.0),
)


def run(settings: Settings, *, seed: int) -> Outcome:
    model = atlas.reflected_atlas(settings.num_particles, settings.a, settings.b)
    law = atlas.stationary_gaps(model)
    plan = Plan(settings.steps, settings.horizon, settings.replicas, law, law.mean)
    biases = {case.name: measure(case, model, plan, seed, path) for path, case in enumerate(CASES)}
    claims = [
        *one_particle_claims(settings, seed),
        *(order_of(case, biases[case.name]) for case in CASES),
        *accuracy_claims(biases["Splitting"], settings),
        *table_claims(biases, settings),
    ]
    return Outcome(claims, rows(biases, settings), draw(settings.steps, biases, CASES))


def order_of(case: Case, bias: Bias) -> Claim:
    number = "lowest" if case.gap == 0 else "highest"
    return order_claim(f"{case.name}: order, {number} gap", case, bias)


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
