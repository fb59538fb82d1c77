"""What `beyond_halfin_whitt` simulates: the total of JSQ and JFSQ, and of their diffusions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numba
import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._frame import controlled, spawn_seed
from ._server_profiles import EQUAL, HALVES, Profile

if TYPE_CHECKING:
    from .beyond_halfin_whitt import Settings

# beta x (total - N)/N^alpha at which distribution functions are taken.
GRID = np.arange(0.5, 8.01, 0.5)
# Time that is left out, in units in which the total relaxes.
_WARMUP = 6.0
_STEP = 0.05
CASES = ((EQUAL, queueing.JSQ()), (HALVES, queueing.JFSQ()))

SystemFactory = Callable[[np.ndarray, float], queueing.System]


def many_servers(service_rates: np.ndarray, arrival_rate: float) -> queueing.System:
    """The system that is simulated; a place for others in tests of sharpness."""
    return queueing.System(service_rates, arrival_rate)


@dataclass(frozen=True)
class Total:
    """Y = beta (total - N)/N^alpha of one system, or of a diffusion.

    Arguments:
        name: of the profile.
        parameter: N, or the diffusion's beta.
        rate: what is left of beta where fast servers idle, over beta: Y is to be Gamma(., rate).
        moments: (replica, 2 + grid) means of Y, Y^2 and 1{Y <= GRID}.
    """

    name: str
    parameter: float
    rate: float
    moments: np.ndarray

    @property
    def shape(self) -> Estimate:
        """rate E Y, the shape of a Gamma law of that rate."""
        return Estimate.from_samples(self.rate * self.moments[:, 0])

    @property
    def shape_by_spread(self) -> Estimate:
        """(E Y)^2 / Var Y, whatever the rate, with an error by the delta method."""
        first, second = self.moments[:, 0], self.moments[:, 1]
        mean, square = first.mean(), second.mean()
        variance = square - mean**2
        slopes = 2 * mean / variance + 2 * mean**3 / variance**2, -(mean**2) / variance**2
        spread = slopes[0] * (first - mean) + slopes[1] * (second - square)
        error = Estimate.from_samples(spread)
        return Estimate(mean**2 / variance, error.std_error, error.dof)

    @property
    def cdf(self) -> Estimate:
        """P(Y <= x) on the grid."""
        return Estimate.from_samples(self.moments[:, 2:])


@dataclass(frozen=True)
class Runs:
    """All that was simulated, by the profile's name.

    Arguments:
        queues: ascending in N.
        matched: diffusions at beta N^{1/2 - alpha} of the two largest N.
        diffusions: falling in beta.
        coarse: the first of these at twice the step.
        idle: mean idle servers of equal servers at the largest N.
    """

    settings: Settings
    queues: dict[str, list[Total]]
    matched: dict[str, list[Total]]
    diffusions: dict[str, list[Total]]
    coarse: dict[str, Total]
    idle: Estimate


def simulate(settings: Settings, *, seed: int, system_of: SystemFactory = many_servers) -> Runs:
    """Run everything."""
    queues, matched, diffusions, coarse, idle = {}, {}, {}, {}, None
    for i, (profile, policy) in enumerate(CASES):
        name, seeds = profile.name, partial(spawn_seed, seed, i)
        runs = [
            _long_run(settings, profile, policy, n, seeds(0, j), system_of)
            for j, n in enumerate(settings.sizes)
        ]
        queues[name] = [
            _queue(settings, profile, n, run) for n, run in zip(settings.sizes, runs, strict=True)
        ]
        idle = idle or runs[-1].estimate("idle_servers")
        matched[name] = [
            _diffusion(
                settings, profile, settings.beta * n ** (0.5 - settings.alpha), seeds(1, j), n
            )
            for j, n in enumerate(settings.sizes[1:])
        ]
        diffusions[name] = [
            _diffusion(settings, profile, beta, seeds(2, j))
            for j, beta in enumerate(settings.diffusion_betas)
        ]
        coarse[name] = _diffusion(
            settings, profile, settings.diffusion_betas[0], seeds(3), step=2 * _STEP
        )
    assert idle is not None
    return Runs(settings, queues, matched, diffusions, coarse, idle)


def _long_run(
    settings: Settings,
    profile: Profile,
    policy: queueing.Policy,
    n: int,
    seed: int,
    system_of: SystemFactory,
) -> queueing.LongRun:
    alpha, beta = settings.alpha, settings.beta
    relaxation = n ** (2 * alpha - 1) / beta**2
    per_replica = settings.relaxations / settings.replicas
    return queueing.long_run(
        system_of(profile.service_rates(n), n * (1 - beta * n**-alpha)),
        policy,
        horizon=(_WARMUP + per_replica) * relaxation,
        warmup=_WARMUP * relaxation,
        initial=_start(settings, profile, n, seed),
        replicas=settings.replicas,
        seed=seed,
        num_ranks=1,
        engine="markov",
        observe={"moments": _observable(alpha, beta)},
    )


def _queue(settings: Settings, profile: Profile, n: int, run: queueing.LongRun) -> Total:
    """The moments, with the capacity that idles as their control: its mean is known exactly."""
    capacity = profile.service_rates(n)
    slack = settings.beta * n ** (1 - settings.alpha)
    idle = (1 - run.values("utilisation")) @ capacity / slack
    moments = controlled(run.values("moments"), idle[:, None], np.ones(1))
    lost = queueing.fast_idle_rate(profile.rates, profile.shares) / slack
    return Total(profile.name, n, 1 - lost, moments)


def _start(settings: Settings, profile: Profile, n: int, seed: int) -> np.ndarray:
    """(replica, N): one job everywhere, and second ones with the fastest, by the limit's law."""
    law = queueing.total_beyond_halfin_whitt(settings.beta, profile.rates, profile.shares)
    generator = np.random.default_rng(seed)
    above = n**settings.alpha * law.quantile(generator.random(settings.replicas))
    return 1 + (np.arange(n) < np.minimum(above, n)[:, None]).astype(np.int64)


@cache
def _observable(alpha: float, beta: float):
    """One function for all sizes, so that it is compiled once."""
    grid = GRID.copy()

    @numba.njit
    def moments(ranked):
        value = beta * (ranked.sum() - ranked.size) / ranked.size**alpha
        out = np.empty(2 + grid.size)
        out[0], out[1] = value, value * value
        for k in range(grid.size):
            out[2 + k] = 1.0 if value <= grid[k] else 0.0
        return out

    return moments


def _diffusion(
    settings: Settings,
    profile: Profile,
    beta: float,
    seed: int,
    num_servers: int | None = None,
    step: float = _STEP,
) -> Total:
    """beta (X - V) of the Halfin-Whitt diffusion, whose time of relaxation is 1/beta^2."""
    model = queueing.halfin_whitt(beta, profile.rates, profile.shares, num_servers=num_servers)
    law = queueing.total_beyond_halfin_whitt(beta, profile.rates, profile.shares)
    generator = np.random.default_rng(seed)
    above = law.quantile(generator.random(settings.diffusion_replicas))
    paths = atlas.simulate_reflected_ou(
        model,
        step=step,
        times=np.array([4.0, 6.0, 8.0]) / beta**2,
        initial=np.stack([np.zeros(above.size), above], axis=1),
        replicas=above.size,
        key=seed,
    )
    values = beta * (paths.values("memories")[..., 0] - paths.values("position"))
    moments = np.stack([values.mean(axis=0), (values**2).mean(axis=0)], axis=1)
    indicators = (values[..., None] <= GRID).mean(axis=0)
    rate = model.drift / beta
    return Total(profile.name, beta, rate, np.concatenate([moments, indicators], axis=1))
