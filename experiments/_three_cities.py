"""Three cities with stations of their own: travel times, plans, and the search for the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

import queueing

from ._frame import spawn_seed
from ._remote_waits import Waits, measure

if TYPE_CHECKING:
    from .capacity_planning import Settings

# The cities of the figure, in units of travel time, and how long it takes to cross one of them.
CITIES = {"Astley": (0.0, 0.0), "Brunn": (3.6, 1.2), "Corvo": (1.2, 4.0)}
_WITHIN = 1.0


@dataclass(frozen=True)
class Plan:
    """What was found at one load.

    Arguments:
        load: of all stations together.
        best: the plan that was found, measured on random numbers of its own.
        nearest: everybody to the nearest station, at the capacities that suit that best.
        nearest_exact: its time to service.
        pooled: least travel and the pooled server's wait.
    """

    load: float
    best: Waits
    nearest: Waits
    nearest_exact: float
    pooled: float


def travel_times() -> np.ndarray:
    """(origin, station): as the crow flies, and `_WITHIN` at least."""
    places = np.array(list(CITIES.values()))
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    return _WITHIN + apart


def make_plan(settings: Settings, load: float, seed: int) -> Plan:
    jobs = settings.jobs * ((1 - settings.load[0]) / (1 - load)) ** 1.5

    def waits(capacities: np.ndarray, chi: float, index: int, share: float = 1.0) -> Waits:
        return measure(
            stations(settings, load, capacities, chi),
            jobs=jobs * share,
            replicas=settings.replicas,
            seed=spawn_seed(seed, index),
        )

    start = square_root_capacities(settings, load)
    best = _search(settings, load, start, lambda mu, chi: waits(mu, chi, 0, 0.25))
    nearest = waits(start, 0.0, 1)
    pooled = queueing.remote([settings.capacity], load, 0.0, 0.0).pooled_wait
    return Plan(
        load,
        waits(*best, 2),
        nearest,
        _WITHIN + nearest_wait(settings, load, start),
        _WITHIN + pooled,
    )


def stations(settings: Settings, load: float, capacities, chi: float) -> queueing.Remote:
    return queueing.remote(
        capacities,
        load,
        travel_times(),
        chi,
        base=queueing.Nearest(),
        origin_probs=settings.demand,
    )


def square_root_capacities(settings: Settings, load: float) -> np.ndarray:
    """Capacities that make the mean wait under nearest-station routing least.

    mu_k = lambda_k + (C - Lambda) sqrt(lambda_k) / sum sqrt(lambda): least sum lambda/(mu - lambda)
    at a given sum of mu. Source: [Kleinrock1976].
    """
    rate = load * settings.capacity * np.array(settings.demand)
    return rate + (1 - load) * settings.capacity * np.sqrt(rate) / np.sqrt(rate).sum()


def nearest_wait(settings: Settings, load: float, capacities: np.ndarray) -> float:
    """Mean wait of M/M/1 queues, each with the customers of its own city."""
    demand = np.array(settings.demand)
    rate = load * settings.capacity * demand
    return float(demand @ (rate / capacities / (capacities - rate)))


def _search(settings: Settings, load: float, start: np.ndarray, evaluate):
    """Capacities and chi of least time to service, by the method of Nelder and Mead.

    The variables are log(mu_k/mu_3) and log chi, so that every point is a plan; one that cannot
    carry the load counts as infinitely slow.
    """
    rule = float(np.clip(1 / np.sqrt(load * settings.capacity * travel_times().mean()), 0.02, 0.5))
    first = np.append(np.log(start[:2] / start[2]), np.log(rule))

    def plan(point: np.ndarray) -> tuple[np.ndarray, float]:
        shares = np.append(np.exp(point[:2]), 1.0)
        return settings.capacity * shares / shares.sum(), float(min(1.0, np.exp(point[2])))

    def cost(point: np.ndarray) -> float:
        try:
            return float(evaluate(*plan(point)).mean_time_to_service.value)
        except queueing.UnstableError:
            return np.inf

    simplex = first + np.vstack([np.zeros(3), np.diag([0.15, 0.15, 0.5])])
    found = minimize(
        cost,
        first,
        method="Nelder-Mead",
        options={"maxfev": settings.evaluations, "initial_simplex": simplex},
    )
    return plan(found.x)
