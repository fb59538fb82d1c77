"""Ranked queues and the reflected Atlas process from the same start, as samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._frame import spawn_seed

# Ranks simulated beyond those looked at, which smoothing may bring down to them.
_SPARE = 8


@dataclass(frozen=True)
class Simulated:
    """What is simulated; what is claimed of it comes from the settings.

    Arguments:
        regime: the queues at size n, a regime that has a stationary start.
        scheme: the scheme of the diffusion, for a step.
    """

    regime: Callable[[int], Any]
    scheme: Callable[[float], atlas.AbstractScheme] = atlas.Splitting

    @classmethod
    def sound(cls, a: float, b: float) -> Simulated:
        """What the claims are about."""
        return cls(lambda n: queueing.extreme_congestion(n, a, b))


@dataclass(frozen=True)
class Start:
    """One law of the start, for queues of every size and for the diffusion.

    Arguments:
        name: for tables and figures.
        queues: what `queueing.simulate` takes as `initial`, for a regime.
        density: particles per unit of length far up, which is the diffusion's `a`.
        diffusion: what `atlas.simulate` takes as `initial`, for a number of particles.
    """

    name: str
    queues: Callable[[Any], Any]
    density: float
    diffusion: Callable[[int], Any]


def product_start(a: float, b: float) -> Start:
    """The invariant law Exp(a-b) x Exp(a) x ...; for queues, their own at this n."""

    def law(num_particles: int) -> atlas.ProductExponential:
        rates = np.full(num_particles, a)
        rates[0] -= b
        return atlas.ProductExponential(rates)

    return Start("product law", lambda regime: "stationary", a, law)


def dense_start(density: float) -> Start:
    """Independent gaps, all Exp(density); `density` above a is denser than stationary."""

    def law(count: int) -> atlas.ProductExponential:
        return atlas.ProductExponential(np.full(count, density))

    return Start("denser than stationary", lambda regime: law(regime.n), density, law)


def grid_start(a: float) -> Start:
    """Rank k at k/a, the density of the invariant law without its randomness."""

    def lengths(regime: Any) -> np.ndarray:
        # Rounded down and up in turn, so that (Q + U) / sqrt(n) is neither too high nor too low.
        ranks = np.arange(1, regime.n + 1)
        rounding = np.where(ranks % 2 == 1, -0.25, 0.25)
        return np.maximum(np.floor(ranks * (regime.scaling.length / a) + rounding), 0.0)

    return Start("deterministic", lengths, a, lambda count: np.arange(1, count + 1) / a)


@dataclass(frozen=True)
class Ranks:
    """Lowest ranks of a queueing system over sqrt(n), each (time, replica, rank).

    Arguments:
        plain: Q / sqrt(n) as it is, on a lattice.
        smooth: (Q + U) / sqrt(n), ranked again, with U uniform on [0, 1): it moves each rank by at
            most 1/sqrt(n) and gives laws with a density, as those of the limit have one.
    """

    plain: np.ndarray
    smooth: np.ndarray


def queue_ranks(
    regime: Any, initial: Any, times: Sequence[float], replicas: int, seed: int, num_ranks: int
) -> Ranks:
    """The lowest ranks of every replica at the given times."""
    result = queueing.simulate(
        regime,
        times=times,
        initial=initial,
        replicas=replicas,
        seed=seed,
        num_ranks=min(regime.n, num_ranks + _SPARE),
        num_levels=1,
    )
    lengths, scale = result.lengths_ranked, regime.scaling.length
    uniforms = np.random.default_rng(spawn_seed(seed, 0)).random(lengths.shape)
    smooth = np.sort(lengths + uniforms, axis=-1)[..., :num_ranks]
    return Ranks(lengths[..., :num_ranks] / scale, smooth / scale)


@dataclass(frozen=True)
class Diffusion:
    """The lowest ranks of the diffusion, (time, replica, rank).

    Arguments:
        fine: at the step.
        coarse: at twice the step, the first replicas on the same noise.
    """

    fine: np.ndarray
    coarse: np.ndarray

    @property
    def coupled(self) -> np.ndarray:
        """Those of `fine` that share their noise with `coarse`."""
        return self.fine[:, : self.coarse.shape[1]]

    @property
    def scale(self) -> np.ndarray:
        """Mean positions, (time, rank)."""
        return self.fine.mean(axis=1)


def diffusion_ranks(
    settings: Any, start: Start, scheme: Callable[[float], atlas.AbstractScheme], seed: int
) -> Diffusion:
    """Both runs; `settings` has num_particles, b, step, times, num_ranks, diffusion_replicas."""
    model = atlas.reflected_atlas(settings.num_particles, start.density, settings.b)

    def solve(step: float, replicas: int, noise_step: float | None) -> np.ndarray:
        return atlas.simulate(
            model,
            scheme(step),
            times=settings.times,
            initial=start.diffusion(settings.num_particles),
            replicas=replicas,
            key=seed,
            num_ranks=settings.num_ranks,
            noise_step=noise_step,
        ).ranked.astype(float)

    fine = solve(settings.step, settings.diffusion_replicas, None)
    # Differences on one noise have far smaller errors than means: fewer replicas will do.
    some = max(2, settings.diffusion_replicas // 4)
    coarse = solve(2 * settings.step, some, settings.step)
    return Diffusion(fine, coarse)


@dataclass(frozen=True)
class Comparison:
    """Queues of several sizes and the diffusion, all from one start.

    Arguments:
        start: the start.
        times: when ranks were seen.
        queues: size n -> ranks, ascending.
        diffusion: the limit.
    """

    start: Start
    times: tuple[float, ...]
    queues: Mapping[int, Ranks]
    diffusion: Diffusion = field(repr=False)

    @property
    def largest(self) -> int:
        """The largest n."""
        return max(self.queues)


def compare_from(settings: Any, start: Start, simulated: Simulated, seed: int) -> Comparison:
    """Run all sizes and the diffusion from one start; `settings` as the experiments have them."""
    queues = {}
    for i, n in enumerate(settings.sizes):
        regime = simulated.regime(n)
        replicas = settings.largest_replicas if n == max(settings.sizes) else settings.replicas
        queues[n] = queue_ranks(
            regime,
            start.queues(regime),
            settings.times,
            replicas,
            spawn_seed(seed, 1, i),
            settings.num_ranks,
        )
    diffusion = diffusion_ranks(settings, start, simulated.scheme, spawn_seed(seed, 2))
    return Comparison(start, tuple(settings.times), queues, diffusion)


def gaps_of(ranks: np.ndarray) -> np.ndarray:
    """Gaps along the last axis, the first to the floor."""
    return np.diff(ranks, axis=-1, prepend=0.0)


def ratio_of_means(samples: np.ndarray, others: np.ndarray) -> Estimate:
    """mean(samples) / mean(others) of two independent samples, by the delta method."""
    above, below = Estimate.from_samples(samples), Estimate.from_samples(others)
    value = above.value / below.value
    errors = np.hypot(above.std_error / above.value, below.std_error / below.value)
    return Estimate(value, np.abs(value) * errors, np.minimum(above.dof, below.dof))


def check_sizes(settings: Any) -> None:
    """What every comparison of sizes with the diffusion needs of its settings.

    Raises: ValueError that names the field.
    """
    sizes, times = settings.sizes, settings.times
    if len(sizes) < 2 or list(sizes) != sorted(set(sizes)) or sizes[0] < settings.num_ranks:
        raise ValueError(
            f"sizes are {sizes}: two or more, ascending, the first at least num_ranks = "
            f"{settings.num_ranks}"
        )
    if settings.num_ranks < 3:
        raise ValueError(f"num_ranks is {settings.num_ranks}: at least 3, for a joint law")
    if settings.num_particles < 2 * settings.num_ranks:
        raise ValueError(
            f"num_particles is {settings.num_particles}: at least 2 num_ranks = "
            f"{2 * settings.num_ranks}, to keep the truncation away from them"
        )
    coarse = np.array(times) / (2 * settings.step)
    if len(times) < 2 or np.any(np.diff(times) <= 0) or times[0] <= 0:
        raise ValueError(f"times are {times}: two or more positive ones, ascending")
    if np.any(np.abs(coarse - np.round(coarse)) > 1e-6):
        raise ValueError(f"times are {times}: give multiples of 2 * step = {2 * settings.step:g}")
    for name in ("replicas", "largest_replicas", "diffusion_replicas"):
        if getattr(settings, name) < 64:
            raise ValueError(f"{name} is {getattr(settings, name)}: give at least 64, for errors")
    if not 0 < settings.b < settings.a:
        raise ValueError(f"b is {settings.b} with a = {settings.a}: give 0 < b < a")
