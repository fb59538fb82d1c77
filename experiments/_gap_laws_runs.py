"""The simulations of `gap_laws`, as samples and estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import atlas
from atlas.ensemble import Estimate

if TYPE_CHECKING:
    from .gap_laws import Settings

CLOSURES: tuple[str, ...] = ("stationary", "prelimit", "free")

# Paths that were not disturbed agree to rounding; whoever is disturbed is moved much further.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Run:
    """The lowest ranks of one model, and the same replicas, as far as asked for, at twice the step.

    Arguments:
        closure, num_particles, a: the model.
        ranked: ranked positions at three times, shape (time, replica, rank).
        start: gaps at time 0 over their exact means, shape (replica, gap).
        coarse: gaps at twice the step and on the same noise over their exact means, of the first
            replicas, shape (time, some replicas, gap).
        exact_mean: exact mean gaps, shape (gap,).
        truncation: bound on the probability that particles left out matter; 0 but for "free".
    """

    closure: str
    num_particles: int
    a: float
    ranked: np.ndarray
    start: np.ndarray
    coarse: np.ndarray
    exact_mean: np.ndarray
    truncation: float

    @property
    def label(self) -> str:
        return f"{self.closure}, N={self.num_particles}, a={self.a:g}"

    @property
    def gaps(self) -> np.ndarray:
        """Gaps over their exact means, shape (time, replica, gap)."""
        return np.diff(self.ranked, axis=-1, prepend=0.0) / self.exact_mean


def measure(
    settings: Settings, closure: str, num_particles: int, a: float, key: int, coupled: bool = True
) -> Run:
    """Start in the exact law, and see the lowest ranks at three later times."""
    model = atlas.reflected_atlas(num_particles, a, settings.b, closure=closure)
    law = atlas.stationary_gaps(model)
    num_ranks = min(settings.num_gaps, num_particles)
    exact = law.mean[:num_ranks]
    # Coupled runs save at whole steps of the coarser one.
    grid = 2 * settings.step
    times = grid * np.round(settings.horizon * np.array([0.0, 0.5, 0.75, 1.0]) / grid)

    def solve(step: float, replicas: int, noise_step: float | None) -> atlas.Solution:
        return atlas.simulate(
            model,
            atlas.Splitting(step),
            times=times,
            initial=law,
            replicas=replicas,
            key=key,
            num_ranks=num_ranks,
            noise_step=noise_step,
            # How far a free truncation can be trusted is part of what is looked at here.
            truncation_budget=1.0,
        )

    fine = solve(settings.step, settings.replicas, None)
    coarse = np.empty((3, 0, num_ranks))
    if coupled:
        # Differences have far smaller errors than means: a quarter of the replicas will do.
        twice = solve(grid, max(2, settings.replicas // 4), settings.step)
        coarse = twice.gaps[1:].astype(float) / exact
    return Run(
        closure,
        num_particles,
        a,
        fine.ranked[1:].astype(float),
        fine.gaps[0].astype(float) / exact,
        coarse,
        exact,
        float(fine.values("truncation_bound")[-1]) if closure == "free" else 0.0,
    )


@dataclass(frozen=True)
class Pushes:
    """Rates of the regulators: all of them, the floor's, and the sum of the collisions'."""

    closure: str
    num_particles: int
    a: float
    all: Estimate
    floor: Estimate
    collisions: Estimate
    exact: np.ndarray

    @property
    def label(self) -> str:
        return f"{self.closure}, N={self.num_particles}, a={self.a:g}"


def pushes(settings: Settings, closure: str, key: int) -> Pushes:
    """Regulators over the horizon, at the smallest size.

    R l(T) = Z(T) - Z(0) - mu T - W(T), so l(T) less R^{-1} (Z(T) - Z(0)) has the mean -R^{-1} mu T
    whatever the law of the gaps is; what the gaps gained is taken off replica by replica.
    """
    model = atlas.reflected_atlas(settings.num_particles[0], settings.a, settings.b, closure)
    solution = atlas.simulate(
        model,
        atlas.Splitting(settings.step),
        times=[0.0, settings.horizon],
        initial=atlas.stationary_gaps(model),
        replicas=settings.replicas,
        key=key,
        regulators=True,
    )
    process = atlas.GapProcess.from_model(model)
    gained = np.diff(solution.gaps.astype(float), axis=0)[0]
    spread = np.linalg.solve(process.reflection.toarray(), gained.T).T
    rates = (solution.regulators[-1].astype(float) - spread) / settings.horizon
    return Pushes(
        closure,
        model.num_particles,
        settings.a,
        Estimate.from_samples(rates),
        Estimate.from_samples(rates[:, 0]),
        Estimate.from_samples(rates[:, 1:].sum(axis=1)),
        process.regulator_rates(),
    )


@dataclass(frozen=True)
class Truncation:
    """N particles against 2N on the same noise: how far and how often the lowest ranks differ.

    Arguments:
        closure, num_particles, a, num_ranks: the model, and how many ranks are compared.
        moved: mean over these ranks of |X^N - X^2N| at the horizon.
        disturbed: share of replicas in which one of them differs by more than rounding.
        bound: bound on that share; nan but for "free".
        resolution: the share that one replica stands for.
    """

    closure: str
    num_particles: int
    a: float
    num_ranks: int
    moved: Estimate
    disturbed: Estimate
    bound: float
    resolution: float


def truncation(settings: Settings, key: int) -> list[Truncation]:
    """Each closure at N and 2N, from the same start, for every power of two up to the largest.

    One key for all sizes: N and 2N share the start and the noise of the particles that they have
    in common. Half of the replicas.
    """
    smallest, largest = settings.num_particles[0], settings.num_particles[-1]
    sizes = [smallest * 2**i for i in range(int(np.log2(largest / smallest)) + 1)]
    fewer = replace(settings, replicas=max(8, settings.replicas // 2))
    found = []
    for closure in CLOSURES:
        runs = {
            n: measure(fewer, closure, n, settings.a, key, coupled=False)
            for n in [*sizes, 2 * sizes[-1]]
        }
        num_ranks = min(settings.num_gaps, smallest)
        found += [_compare(runs[n], runs[2 * n], num_ranks) for n in sizes]
    return found


def _compare(run: Run, doubled: Run, num_ranks: int) -> Truncation:
    distance = np.abs(run.ranked[-1, :, :num_ranks] - doubled.ranked[-1, :, :num_ranks])
    disturbed = np.any(distance > _ROUNDING, axis=1).astype(float)
    return Truncation(
        run.closure,
        run.num_particles,
        run.a,
        num_ranks,
        Estimate.from_samples(distance.mean(axis=1)),
        Estimate.from_samples(disturbed),
        run.truncation if run.closure == "free" else np.nan,
        1 / len(distance),
    )
