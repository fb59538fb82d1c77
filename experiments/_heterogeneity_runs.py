"""What `heterogeneity` simulates: many servers at a fixed load, and losses with short buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._frame import spawn_seed
from ._loss_systems import ordered_law, random_idle_law
from ._server_profiles import FEW_FAST, LINEAR, Profile, two_classes

if TYPE_CHECKING:
    from .heterogeneity import Settings

POLICIES: dict[str, queueing.Policy] = {"JFSQ": queueing.JFSQ(), "JSQ": queueing.JSQ()}
# Time that is left out, in mean services of the slowest server.
_SETTLING = 15.0
# Three servers of these speeds are solved exactly with every buffer.
FEW_RATES = (1.5, 1.0, 0.5)

SystemFactory = Callable[[np.ndarray, float, int | None], queueing.System]


def farm(service_rates: np.ndarray, arrival_rate: float, buffer: int | None) -> queueing.System:
    """The system that is simulated; a place for others in tests of sharpness."""
    return queueing.System(service_rates, arrival_rate, buffer=buffer)


@dataclass(frozen=True)
class Farm:
    """One policy on one profile at a fixed load, ascending in N.

    Arguments:
        spread: half the difference of the two classes' speeds, nan for other profiles.
        busy: mean share of busy servers.
        response: mean time in system.
    """

    policy: str
    profile: Profile
    spread: float
    busy: list[Estimate]
    response: list[Estimate]

    def fluid(self, load: float) -> queueing.FluidLimit:
        limit = queueing.jfsq_fluid if self.policy == "JFSQ" else queueing.jsq_fluid
        if self.profile.rates:
            return limit(self.profile.rates, self.profile.shares, load=load)
        return limit(self.profile.service_rates(20_000), load=load)


@dataclass(frozen=True)
class Loss:
    """P(loss) of one policy beside its exact value, nan where there is none.

    Arguments:
        count: servers.
        servers: their speeds, in words.
    """

    policy: str
    servers: str
    count: int
    buffer: int
    measured: Estimate
    exact: float


@dataclass(frozen=True)
class Runs:
    """All that was simulated."""

    settings: Settings
    farms: list[Farm]
    losses: list[Loss]


def simulate(settings: Settings, *, seed: int, system_of: SystemFactory = farm) -> Runs:
    """Run everything; `system_of` makes the system of rates, arrivals and buffer."""
    profiles = [(spread, two_classes(spread)) for spread in settings.spreads]
    profiles += [(np.nan, LINEAR), (np.nan, FEW_FAST)]
    farms = [
        _farm(settings, system_of, name, profile, spread, spawn_seed(seed, 0, i, j))
        for i, (spread, profile) in enumerate(profiles)
        for j, name in enumerate(POLICIES)
    ]
    losses = [
        loss
        for i, buffer in enumerate(settings.buffers)
        for j, name in enumerate(POLICIES)
        for loss in (
            _few(settings, system_of, name, buffer, spawn_seed(seed, 1, i, j)),
            *(
                _many(settings, system_of, name, spread, buffer, spawn_seed(seed, 2, i, j, k))
                for k, spread in enumerate((0.0, 0.5))
            ),
        )
    ]
    return Runs(settings, farms, losses)


def _farm(
    settings: Settings,
    system_of: SystemFactory,
    name: str,
    profile: Profile,
    spread: float,
    seed: int,
) -> Farm:
    busy, response = [], []
    settling = _SETTLING / profile.slowest
    for i, n in enumerate(settings.sizes):
        rates = profile.service_rates(n)
        run = queueing.long_run(
            system_of(rates, settings.load * n, None),
            POLICIES[name],
            horizon=settling + settings.events / (2 * n * settings.replicas),
            warmup=settling,
            initial=np.ones(n, dtype=np.int64),
            replicas=settings.replicas,
            seed=spawn_seed(seed, i),
            num_ranks=1,
            engine="markov",
        )
        idle = run.estimate("idle_servers")
        busy.append(Estimate(1 - idle.value / n, idle.std_error / n, idle.dof))
        response.append(run.estimate("response"))
    return Farm(name, profile, spread, busy, response)


def _measure_loss(settings: Settings, system: queueing.System, name: str, seed: int) -> Estimate:
    settling = 5 * _SETTLING
    run = queueing.long_run(
        system,
        POLICIES[name],
        horizon=settling + settings.loss_events / (2 * system.arrival_rate * settings.replicas),
        warmup=settling,
        replicas=settings.replicas,
        seed=seed,
        num_ranks=1,
        engine="markov",
    )
    return run.estimate("prob_loss")


def _few(settings: Settings, system_of: SystemFactory, name: str, buffer: int, seed: int) -> Loss:
    """Three servers, exact by linear algebra."""
    rates = np.array(FEW_RATES)
    arrivals = settings.few_load * rates.sum()
    measured = _measure_loss(settings, system_of(rates, arrivals, buffer), name, seed)
    exact = queueing.exact_stationary(
        queueing.System(rates, arrivals, buffer=buffer), POLICIES[name], max_length=buffer
    )
    return Loss(name, "1.5, 1, 0.5", 3, buffer, measured, float(exact.mean("prob_loss")))


def _many(
    settings: Settings,
    system_of: SystemFactory,
    name: str,
    spread: float,
    buffer: int,
    seed: int,
) -> Loss:
    """Many servers of two classes; exact with one place."""
    profile, n = two_classes(spread), settings.loss_servers
    arrivals = settings.loss_load * n
    system = system_of(profile.service_rates(n), arrivals, buffer)
    measured = _measure_loss(settings, system, name, seed)
    sizes, rates = (n // 2, n - n // 2), (1 + spread, 1 - spread)
    exact = ordered_law if name == "JFSQ" else random_idle_law
    value = float(exact(sizes, rates, arrivals)[-1, -1]) if buffer == 1 else np.nan
    return Loss(name, profile.name, n, buffer, measured, value)
