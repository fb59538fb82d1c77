"""The simulations of `balancing_order`: queues over chi at each scale, and delay diffusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import atlas
import queueing
from atlas.ensemble import Estimate

from ._flat_minimum import Minimum, find_minimum
from ._frame import PowerLaw, fit_power_law, spawn_seed
from ._oscillation import delay_model
from ._remote_waits import Waits, measure

if TYPE_CHECKING:
    from .balancing_order import Settings

# The optimum of waits in units of sqrt((1 + c_s^2)/(Lambda d)), about which chi is varied.
CENTRE = 0.74


@dataclass(frozen=True)
class Scale:
    """One excess: waits over chi, their minimum, and the spread of the delay diffusion by factor.

    `spread`: (replica,) time averages of |X_1 - X_2| of the diffusion with a floor.
    """

    excess: float
    waits: list[Waits]
    best: Minimum
    spread: dict[float, np.ndarray]


@dataclass(frozen=True)
class Runs:
    """All that was simulated; `kappa_spread` is (kappa, replica), without a floor."""

    settings: Settings
    scales: list[Scale]
    order: PowerLaw
    kappa_spread: np.ndarray
    kappa_best: Minimum


def simulate(settings: Settings, *, seed: int) -> Runs:
    scales = [
        _scale(settings, excess, settings.jobs * 4**i, spawn_seed(seed, i))
        for i, excess in enumerate(settings.excess)
    ]
    places = [scale.best.place for scale in scales]
    order = fit_power_law(
        np.array(settings.excess),
        np.array([float(place.value) for place in places]),
        np.array([float(place.std_error) ** 2 for place in places]),
    )
    spread = np.array(
        [_free_spread(settings, kappa, spawn_seed(seed, 99)) for kappa in settings.kappa]
    )
    best = find_minimum(np.array(settings.kappa), spread, degree=4)
    return Runs(settings, scales, order, spread, best)


def _scale(settings: Settings, excess: float, jobs: float, seed: int) -> Scale:
    load, delay = 1 - excess, settings.delay / excess
    centre = CENTRE * np.sqrt(2 / (2 * load * delay))
    waits = [
        measure(
            queueing.remote([1.0, 1.0], load, delay, min(1.0, centre * factor)),
            jobs=jobs,
            replicas=settings.replicas,
            seed=spawn_seed(seed, 0),
        )
        for factor in settings.factor
    ]
    best = find_minimum(
        np.array([each.chi for each in waits]), np.array([each.wait for each in waits])
    )
    spread = {
        factor: _spread(settings, waits[settings.factor.index(factor)].regime, spawn_seed(seed, 1))
        for factor in (0.5, 1.0, 2.0)
    }
    return Scale(excess, waits, best, spread)


def _spread(settings: Settings, regime: queueing.Remote, seed: int) -> np.ndarray:
    """Of the diffusion with a floor, from the law that it has without delay."""
    model = delay_model(regime)
    relaxation = np.ceil(2 / (1 - regime.system.load) ** 2 / model.delay)
    replicas = max(256, settings.paths // 16)
    solution = atlas.simulate(
        model,
        atlas.DelayedBridge(step=model.delay / 16),
        times=model.delay * (relaxation + np.arange(0.0, settings.horizon / 2, 2.0)),
        initial=atlas.stationary_gaps(model.without_delay()),
        replicas=replicas,
        seed=seed,
    )
    return solution.gaps[..., 1].astype(float).mean(axis=0)


def _free_spread(settings: Settings, kappa: float, seed: int) -> np.ndarray:
    """|D| without a floor, in units of sigma and the delay; groups of replicas as samples."""
    solution = atlas.simulate(
        atlas.delay_diffusion(kappa, 1.0),
        atlas.DelayedBridge(step=1 / 16),
        times=np.arange(20.0, 20.0 + settings.horizon),
        initial=[0.0, 0.0],
        replicas=settings.paths // 4,
        seed=seed,
    )
    by_replica = solution.gaps[..., 0].astype(float).mean(axis=0)
    return by_replica.reshape(64, -1).mean(axis=1)


def spread_ratio(settings: Settings, scale: Scale, factor: float) -> tuple[float, float]:
    """E|Q_1 - Q_2| of the queues over E|X_1 - X_2| of the diffusion, with its error."""
    queues = Estimate.from_samples(scale.waits[settings.factor.index(factor)].imbalance)
    diffusion = Estimate.from_samples(scale.spread[factor])
    ratio = float(queues.value / diffusion.value)
    relative = np.hypot(queues.std_error / queues.value, diffusion.std_error / diffusion.value)
    return ratio, ratio * float(relative)
