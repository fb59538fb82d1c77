"""The simulations of `start_matters`: one b, many starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._frame import spawn_seed

if TYPE_CHECKING:
    from .start_matters import Settings

# Fractions of the horizon at which the diffusion is looked at; claims use the last three.
_LOOKS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)


def free_atlas(num_particles: int, a: float, b: float) -> atlas.RankDiffusion:
    """The infinite reflected Atlas process, cut to its lowest particles and nothing put instead."""
    return atlas.reflected_atlas(num_particles, a, b, closure="free")


@dataclass(frozen=True)
class Subject:
    """What is simulated: the right things, or some that are wrong on purpose.

    Arguments:
        model: num_particles, a, b -> the diffusion.
        scheme: step -> the scheme.
        regime: n, a, b -> the queues.
    """

    model: Callable[[int, float, float], atlas.RankDiffusion] = free_atlas
    scheme: Callable[[float], atlas.AbstractScheme] = atlas.Splitting
    regime: Callable[[int, float, float], Any] = queueing.extreme_congestion


@dataclass(frozen=True)
class Kept:
    """The lowest ranks from one start.

    Arguments:
        a, b: the law of the gaps far up, and the drift.
        rates: rates of the lowest gaps at the start as theory has them, shape (rank,).
        start_mean: mean gaps at the start as simulated, shape (rank,).
        times: of the looks, the first 0.
        gaps: shape (time, replica, rank).
        coarse: the same of the first replicas on the same noise at twice the step.
        truncation: bound on the probability that particles left out matter.
    """

    a: float
    b: float
    rates: np.ndarray
    start_mean: np.ndarray
    times: np.ndarray
    gaps: np.ndarray
    coarse: np.ndarray
    truncation: float


def keep(
    settings: Settings, subject: Subject, a: float, key: int, lowest_rate: float | None = None
) -> Kept:
    """Start in Exp(a-b) x Exp(a) x ... (or with another lowest rate), and look several times."""
    model = subject.model(settings.num_particles, a, settings.b)
    rates = np.array(atlas.stationary_gaps(model).rates)
    theory = np.full(settings.num_ranks, a)
    theory[0] = a - settings.b if lowest_rate is None else lowest_rate
    if lowest_rate is not None:
        rates[0] = lowest_rate
    grid = 2 * settings.step
    times = grid * np.round(settings.horizon * np.array(_LOOKS) / grid)

    def solve(step: float, replicas: int, noise_step: float | None) -> atlas.Solution:
        return atlas.simulate(
            model,
            subject.scheme(step),
            times=times,
            initial=atlas.ProductExponential(rates),
            replicas=replicas,
            key=key,
            num_ranks=settings.num_ranks,
            noise_step=noise_step,
        )

    fine = solve(settings.step, settings.replicas, None)
    # Differences have far smaller errors than means: a quarter of the replicas will do.
    coarse = solve(grid, max(2, settings.replicas // 4), settings.step)
    return Kept(
        a,
        settings.b,
        theory,
        1 / rates[: settings.num_ranks],
        times,
        np.diff(fine.ranked.astype(float), axis=-1, prepend=0.0),
        np.diff(coarse.ranked.astype(float), axis=-1, prepend=0.0),
        float(fine.values("truncation_bound")[-1]),
    )


@dataclass(frozen=True)
class Escape:
    """The lowest rank from gaps too wide for it to be held.

    Arguments:
        density: of the particles at the start.
        times: t, 4t, 16t, 64t.
        lowest: X_(1) at these, shape (time, replica).
        start: what of the start is used as control variates, of mean 0, shape (replica, control).
        step_bias: bound on the bias of the step, relative to the slope.
        truncation: bound on the probability that particles left out matter.
    """

    density: float
    times: np.ndarray
    lowest: np.ndarray
    start: np.ndarray
    step_bias: float
    truncation: float

    def truncation_bias(self, first: int, last: int) -> float:
        """By how much particles left out may shift `slope`: E[X; A] <= sqrt(E X^2 P(A))."""
        roots = np.sqrt(self.times)
        scale = np.sqrt(np.mean(self.lowest[last] ** 2)) / (roots[last] - roots[first])
        return float(scale * self.truncation**0.5)

    def slope(self, first: int, last: int) -> Estimate:
        """(E X(t') - E X(t)) / (sqrt t' - sqrt t), the fluctuations of the start taken off."""
        roots = np.sqrt(self.times)
        samples = (self.lowest[last] - self.lowest[first]) / (roots[last] - roots[first])
        centred = self.start - self.start.mean(axis=0)
        beta = np.linalg.lstsq(centred, samples - samples.mean(), rcond=None)[0]
        return Estimate.from_samples(samples - self.start @ beta)


def escape(
    settings: Settings, subject: Subject, density: float, seed: int, replicas: int
) -> Escape:
    """Start from independent exponential gaps of the given density, the lowest one as well.

    Arguments:
        settings, subject: what is simulated, and how.
        density: of the particles.
        seed: of all.
        replicas: of the run; an eighth of them run again at twice the step for its bias.

    Returns:
        Escape; cost 3 ns a particle and step.
    """
    last = settings.escape_time
    grid = 2 * settings.escape_step
    times = grid * np.round(last / 4.0 ** np.arange(3, -1, -1) / grid)
    # Whoever is to be felt by the end starts in this range: five deviations above twice the way of
    # the lowest rank, kappa sqrt(t) being below sqrt(2 b t / density).
    reach = 5 * np.sqrt(2 * last) + 3 * np.sqrt(last * settings.b / density)
    count = int(np.ceil(density * reach)) + 8
    model = subject.model(count, density, settings.b)
    law = atlas.ProductExponential(np.full(count, density))

    def solve(step: float, replicas: int, noise_step: float | None, until: np.ndarray):
        return atlas.simulate(
            model,
            subject.scheme(step),
            times=[0.0, *until],
            initial=law,
            replicas=replicas,
            key=seed,
            noise_step=noise_step,
            truncation_budget=1.0,
        )

    run = solve(settings.escape_step, replicas, None, times)
    some = max(2, replicas // 8)
    twice = solve(grid, some, settings.escape_step, times[:3])
    fine = run.ranked[1:, :some, 0].astype(float)
    coarse = twice.ranked[1:, :, 0].astype(float)
    # The slope between the first and the third time, on one noise.
    shift = Estimate.from_samples((coarse[2] - coarse[0]) - (fine[2] - fine[0]))
    ranks = np.unique(np.geomspace(1, count, 8).astype(int))
    start = run.ranked[0][:, ranks - 1].astype(float) - ranks / density
    return Escape(
        density,
        times,
        run.ranked[1:, :, 0].astype(float),
        start,
        float((abs(shift.value) + shift.std_error) / (fine[2] - fine[0]).mean()),
        float(run.values("truncation_bound")[0]),
    )


@dataclass(frozen=True)
class SameStart:
    """Queues at two values of a, from one start.

    Arguments:
        n, a: size and the two values.
        horizon: time from the start.
        ranks: lowest ranked lengths over sqrt(n), shape (a, replica, rank).
        shift: bound on what the two may differ by at this n, (a' - a) horizon / n: more random
            arrivals raise every rank, by no more than they would without a floor.
    """

    n: int
    a: tuple[float, float]
    horizon: float
    ranks: np.ndarray
    shift: float

    def ratio(self, part: slice) -> Estimate:
        """Mean of the given ranks at the larger a over that at the smaller one, replicas paired."""
        low, high = self.ranks[:, :, part].mean(axis=2)
        return Estimate.from_ratio(high, low)


def same_start(settings: Settings, subject: Subject, seed: int) -> SameStart:
    """Two systems of queues that differ in a, from one product law and on like seeds."""
    n, between = settings.n, float(np.mean(settings.two_a))
    rates = between * np.arange(n, 0, -1) / n
    rates[0] = between - settings.b
    ranks = [
        queueing.simulate(
            subject.regime(n, a, settings.b),
            times=[settings.queue_time],
            initial=atlas.ProductExponential(rates),
            replicas=settings.queue_replicas,
            seed=spawn_seed(seed, 0),
            num_ranks=settings.num_ranks,
            num_levels=1,
        ).lengths_ranked[0]
        / n**0.5
        for a in settings.two_a
    ]
    low, high = settings.two_a
    return SameStart(
        n,
        (low, high),
        settings.queue_time,
        np.stack(ranks),
        (high - low) * settings.queue_time / n,
    )


@dataclass(frozen=True)
class Runs:
    """All that was simulated."""

    settings: Settings
    family: Sequence[Kept]
    off: Kept
    escapes: Sequence[Escape]
    queues: SameStart


def simulate(settings: Settings, subject: Subject, *, seed: int) -> Runs:
    """Run everything."""
    family = [
        keep(settings, subject, a, spawn_seed(seed, 0, i)) for i, a in enumerate(settings.family_a)
    ]
    middle = settings.family_a[len(settings.family_a) // 2]
    off = keep(settings, subject, middle, spawn_seed(seed, 1), settings.off_rate)
    few = max(32, settings.escape_replicas // 4)
    sizes = [(density, settings.escape_replicas) for density in settings.thin]
    sizes += [(density, few) for density in settings.near_critical]
    escapes = [
        escape(settings, subject, density, spawn_seed(seed, 2, i), replicas)
        for i, (density, replicas) in enumerate(sizes)
    ]
    queues = same_start(settings, subject, spawn_seed(seed, 3))
    return Runs(settings, family, off, escapes, queues)
