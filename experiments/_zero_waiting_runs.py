"""What `zero_waiting` simulates: three policies on four profiles as N grows, and the diffusion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._frame import controlled, spawn_seed
from ._server_profiles import EQUAL, HALVES, PROFILES, Profile

if TYPE_CHECKING:
    from .zero_waiting import Settings

# Which policy each name stands for; the first is the paper's.
POLICIES: dict[str, queueing.Policy] = {
    "JFSQ": queueing.JFSQ(),
    "JSQ": queueing.JSQ(),
    "two choices": queueing.PowerOfD(2),
}
# Profiles that are held to the diffusion.
IN_CLASSES = (EQUAL, HALVES)
# Above alpha = 1/2 the total forgets in a time N^(2 alpha - 1), and JFSQ needs longer runs.
_LONGER = 5
_SETTLING, _SETTLING_RELAXATIONS = 20.0, 10.0
_STEP, _DIFFUSION_START, _DIFFUSION_END = 0.05, 15.0, 40.0

RegimeFactory = Callable[..., Any]


@dataclass(frozen=True)
class Waits:
    """One policy on one profile at one alpha, ascending in N."""

    policy: str
    profile: Profile
    alpha: float
    prob_wait: list[Estimate]
    wait: list[Estimate]


@dataclass(frozen=True)
class Diffusion:
    """P(wait) and E wait by the Halfin-Whitt diffusion at the two largest N."""

    profile: Profile
    alpha: float
    prob_wait: list[Estimate]
    wait: list[Estimate]


@dataclass(frozen=True)
class Runs:
    """All that was simulated."""

    settings: Settings
    waits: list[Waits]
    diffusions: list[Diffusion]


def simulate(
    settings: Settings, *, seed: int, regime: RegimeFactory = queueing.zero_waiting
) -> Runs:
    """Run everything; `regime` makes the system of N, alpha, rates and buffer."""
    waits = [
        _waits(settings, regime, name, profile, alpha, spawn_seed(seed, 0, i, j, k))
        for i, alpha in enumerate(settings.alphas)
        for j, profile in enumerate(PROFILES)
        for k, name in enumerate(POLICIES)
    ]
    diffusions = [
        _diffusion(settings, profile, alpha, spawn_seed(seed, 1, i, j))
        for i, alpha in enumerate(settings.alphas)
        for j, profile in enumerate(IN_CLASSES)
    ]
    return Runs(settings, waits, diffusions)


def _waits(
    settings: Settings,
    regime: RegimeFactory,
    name: str,
    profile: Profile,
    alpha: float,
    seed: int,
) -> Waits:
    estimates = [
        _long_run(settings, regime, name, profile, alpha, n, spawn_seed(seed, i))
        for i, n in enumerate(settings.sizes)
    ]
    return Waits(name, profile, alpha, [each[0] for each in estimates], [e[1] for e in estimates])


def _long_run(
    settings: Settings,
    regime: RegimeFactory,
    name: str,
    profile: Profile,
    alpha: float,
    n: int,
    seed: int,
) -> tuple[Estimate, Estimate]:
    """P(wait) and E wait."""
    rates = profile.service_rates(n)
    system = regime(n, alpha, rates, settings.buffer).system
    longer = _LONGER if name == "JFSQ" and alpha > 0.5 else 1
    settling = _SETTLING / profile.slowest + _SETTLING_RELAXATIONS * n ** max(2 * alpha - 1, 0)
    duration = longer * settings.events / (2 * n * settings.replicas)
    run = queueing.long_run(
        system,
        POLICIES[name],
        horizon=settling + duration,
        warmup=settling,
        initial=np.ones(n, dtype=np.int64),
        replicas=settings.replicas,
        seed=seed,
        num_ranks=1,
        engine="markov",
    )
    if name != "JFSQ":
        return run.estimate("prob_wait"), run.estimate("wait")
    # What idles is known exactly but for losses, which JFSQ has none of at these loads.
    idle = (1 - run.values("utilisation")) @ rates / (n - system.arrival_rate)
    waits = np.stack([run.values("prob_wait"), run.values("wait")], axis=1)
    both = Estimate.from_samples(controlled(waits, idle[:, None], np.ones(1)))
    return both[0], both[1]


def _diffusion(settings: Settings, profile: Profile, alpha: float, seed: int) -> Diffusion:
    """From the pushes per unit of time u: P(wait) = u/(load sqrt(N)), E wait = that / mu_max."""
    prob_wait, wait = [], []
    for i, n in enumerate(settings.sizes[-2:]):
        model = queueing.halfin_whitt(
            n ** (0.5 - alpha), profile.rates, profile.shares, num_servers=n
        )
        relaxation = n ** max(2 * alpha - 1, 0)
        times = np.array([_DIFFUSION_START, _DIFFUSION_END]) * relaxation
        paths = atlas.simulate_reflected_ou(
            model, step=_STEP, times=times, replicas=settings.paths, key=spawn_seed(seed, i)
        )
        pushes = np.diff(paths.values("regulator"), axis=0)[0] / (times[1] - times[0])
        waiting = pushes / (1 - n**-alpha) / n**0.5
        prob_wait.append(Estimate.from_samples(waiting))
        wait.append(Estimate.from_samples(waiting / profile.fastest))
    return Diffusion(profile, alpha, prob_wait, wait)
