"""Problems whose stationary law is known in closed form, and what schemes are measured on them.

Every entry of `PROBLEMS` has a wrong law that somebody could believe in; the test that asserts the
right one must reject it. `ORDERS` says on which problem, gap and steps a scheme's weak order is
regressed, and the window that the slope must fall into; the window excludes the other orders.
"""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import comb

import atlas


@dataclass(frozen=True)
class KnownLaw:
    """A model with its law, the mean gaps of a wrong law, and a scheme with its bias allowed."""

    model: atlas.RankDiffusion
    mean: np.ndarray
    wrong: str
    wrong_mean: np.ndarray
    scheme: atlas.AbstractScheme
    horizon: float = 3.0
    bias: float = 0.02


def rank_routing(
    num_servers: int, v: float, b: float, probs, variance: float = 2.0, floor: bool = True
) -> atlas.RankDiffusion:
    """The limit of heavily loaded queues of which a stream b is routed by rank [P1].

    `variance` is 1 + c_s^2 for services of that scv; overloaded queues are far from the floor.
    """
    drifts = -(v + b) / num_servers + b * np.asarray(probs)
    return atlas.first_order(drifts, np.full(num_servers, variance), floor)


def rank_routing_rates(v: float, b: float, probs) -> np.ndarray:
    probs = np.asarray(probs)
    count = len(probs)
    above = np.cumsum(probs[::-1])[::-1]
    return (count - np.arange(count)) * (v + b) / count - b * above


def choices(count: int, num_choices: int, replacement: bool) -> np.ndarray:
    """Probabilities of the ranks under the shortest of some queues drawn at random."""
    k = np.arange(1, count + 1)
    if replacement:
        return ((count - k + 1.0) ** num_choices - (count - k) ** num_choices) / count**num_choices
    return np.asarray(comb(count - k, num_choices - 1) / comb(count, num_choices))


def gap_means_of_hybrid(rank_drifts, name_drifts, variances, floor=False) -> np.ndarray:
    """The mixture over orders, written down directly."""
    total, means = 0.0, np.zeros(len(rank_drifts) - (not floor))
    for order in permutations(range(len(rank_drifts))):
        drift = np.asarray(rank_drifts) + np.asarray(name_drifts)[list(order)]
        if floor:
            rates = -2 / variances[0] * np.cumsum(drift[::-1])[::-1]
        else:
            pairs = np.add(variances[:-1], variances[1:])
            rates = 4 * np.cumsum(drift - drift.mean())[:-1] / pairs
        weight = np.prod(1 / rates)
        total, means = total + weight, means + weight / rates
    return means / total


_SPLIT = atlas.Splitting(step=0.02)
_EULER = atlas.BridgeEuler(step=0.005)
_MJSQ, _SECOND = np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0])
_TWO = choices(4, 2, False)

PROBLEMS: dict[str, KnownLaw] = {
    "N = 4 Atlas without floor (C1)": KnownLaw(
        atlas.atlas_model(4, 1.0),
        np.array([2 / 3, 1, 2]),
        "argsort taken for the rank",
        np.array([7.5, 6.2, 41.6]),
        _SPLIT,
    ),
    "infinite Atlas, c = 0.4": KnownLaw(
        atlas.infinite_atlas(4, 1.0, 0.4),
        1 / np.array([2.4, 2.8, 3.2]),
        "the member c = 0",
        np.full(3, 1 / 2),
        _SPLIT,
    ),
    "first order with a floor": KnownLaw(
        atlas.first_order([1, 0.3, -0.2, -2], np.full(4, 2.0), floor=True),
        1 / np.array([0.9, 1.9, 2.2, 2]),
        "variance 1 instead of 2",
        0.5 / np.array([0.9, 1.9, 2.2, 2]),
        _SPLIT,
    ),
    "variances affine in the rank": KnownLaw(
        atlas.first_order([1.0, 0.4, -0.4, -1.0], [1.0, 1.5, 2.0, 2.5]),
        1 / (4 * np.array([1.0, 1.4, 1.0]) / np.array([2.5, 3.5, 4.5])),
        "variances averaged over all ranks",
        1 / (4 * np.array([1.0, 1.4, 1.0]) / 3.5),
        _EULER,
        bias=0.03,
    ),
    "two particles of unequal variance": KnownLaw(
        atlas.first_order([0.7, -0.7], [0.5, 2.0]),
        np.array([2.5 / 2.8]),
        "the lower variance counted twice",
        np.array([1.0 / 2.8]),
        _EULER,
        bias=0.03,
    ),
    "linear rank drift": KnownLaw(
        atlas.linear_rank_drift(4, 0.8),
        1 / (0.8 * np.array([3, 4, 3])),
        "drifts of the ranks not summed",
        np.full(3, 1 / 0.8),
        _SPLIT,
    ),
    "asymmetric collisions, all q_minus = 0.3": KnownLaw(
        atlas.asymmetric_collisions([1, 0, 0, -1], np.ones(4), [0.3] * 3, [0.7] * 3),
        np.array([0.659091, 0.58, 0.453125]),
        "symmetric collisions",
        np.array([0.5, 0.5, 0.5]),
        atlas.CollisionBridge(step=0.005),
        bias=0.03,
    ),
    "hybrid, variances affine in the rank": KnownLaw(
        atlas.hybrid_atlas([1.2, 0.2, -0.2, -1.2], [0.3, -0.1, -0.2, 0.0], [1, 1.2, 1.4, 1.6]),
        gap_means_of_hybrid([1.2, 0.2, -0.2, -1.2], [0.3, -0.1, -0.2, 0.0], [1, 1.2, 1.4, 1.6]),
        "rank drifts alone",
        1 / (4 * np.array([1.2, 1.4, 1.2]) / np.array([2.2, 2.6, 3.0])),
        atlas.BridgeEuler(step=0.01),
        bias=0.04,
    ),
    "rank routing, all to the shortest": KnownLaw(
        rank_routing(4, 1.0, 4.0, _MJSQ),
        1 / rank_routing_rates(1.0, 4.0, _MJSQ),
        "all gaps alike",
        np.ones(4),
        _SPLIT,
        bias=0.06,
    ),
    "rank routing, two choices without replacement": KnownLaw(
        rank_routing(4, 1.0, 4.0, choices(4, 2, False)),
        1 / rank_routing_rates(1.0, 4.0, choices(4, 2, False)),
        "with replacement",
        1 / rank_routing_rates(1.0, 4.0, choices(4, 2, True)),
        _SPLIT,
        horizon=6.0,
        bias=0.03,
    ),
    "rank routing, two choices with replacement": KnownLaw(
        rank_routing(4, 1.0, 4.0, choices(4, 2, True)),
        1 / rank_routing_rates(1.0, 4.0, choices(4, 2, True)),
        "without replacement",
        1 / rank_routing_rates(1.0, 4.0, _TWO),
        _SPLIT,
        horizon=6.0,
        bias=0.03,
    ),
    "rank routing, three choices": KnownLaw(
        rank_routing(4, 1.0, 4.0, choices(4, 3, False)),
        1 / rank_routing_rates(1.0, 4.0, choices(4, 3, False)),
        "two choices",
        1 / rank_routing_rates(1.0, 4.0, _TWO),
        _SPLIT,
        bias=0.04,
    ),
    "rank routing, all to the second shortest": KnownLaw(
        rank_routing(4, 1.0, 2.0, _SECOND),
        1 / rank_routing_rates(1.0, 2.0, _SECOND),
        "all to the shortest",
        1 / rank_routing_rates(1.0, 2.0, _MJSQ),
        _SPLIT,
        bias=0.04,
    ),
    "rank routing, services of scv 3": KnownLaw(
        rank_routing(4, 1.0, 4.0, _TWO, variance=4.0),
        2 / rank_routing_rates(1.0, 4.0, _TWO),
        "exponential services",
        1 / rank_routing_rates(1.0, 4.0, _TWO),
        _SPLIT,
        horizon=12.0,
        bias=0.03,
    ),
    "rank routing, services that never vary": KnownLaw(
        rank_routing(4, 1.0, 2.0, _TWO, variance=1.0),
        0.5 / rank_routing_rates(1.0, 2.0, _TWO),
        "exponential services",
        1 / rank_routing_rates(1.0, 2.0, _TWO),
        _SPLIT,
        bias=0.04,
    ),
    "overloaded, all to the shortest": KnownLaw(
        rank_routing(4, -1.0, 2.0, _MJSQ, floor=False),
        1 / (2.0 * np.array([3, 2, 1]) / 4),
        "the stream shared by the other ranks alone",
        1 / (2.0 * np.array([3, 2, 1]) / 3),
        _SPLIT,
        horizon=12.0,
        bias=0.03,
    ),
    "overloaded, two choices": KnownLaw(
        rank_routing(4, -3.0, 2.0, _TWO, floor=False),
        1 / (2.0 * np.cumsum(_TWO - 0.25)[:-1]),
        "with replacement",
        1 / (2.0 * np.cumsum(choices(4, 2, True) - 0.25)[:-1]),
        _SPLIT,
        horizon=12.0,
        bias=0.03,
    ),
    "one particle at a floor": KnownLaw(
        atlas.first_order([-0.8], [1.5], floor=True),
        np.array([1.5 / 1.6]),
        "the 2 left out",
        np.array([1.5 / 0.8]),
        _SPLIT,
    ),
    "two particles at a floor": KnownLaw(
        atlas.first_order([1.0, -2.5], [1.2, 1.2], floor=True),
        1.2 / 2 / np.array([1.5, 2.5]),
        "the lower drift alone on the lowest gap",
        1.2 / 2 / np.array([1.0, 2.5]),
        _SPLIT,
        bias=0.04,
    ),
    "finite servers under extreme congestion": KnownLaw(
        atlas.reflected_atlas(5, 2.0, 1.0, closure="prelimit"),
        1 / np.array([1.0, 1.6, 1.2, 0.8, 0.4]),
        "the infinite system's law",
        1 / np.array([1.0, 2, 2, 2, 2]),
        _SPLIT,
        horizon=12.0,
        bias=0.03,
    ),
    "infinite reflected Atlas": KnownLaw(
        atlas.reflected_atlas(5, 2.0, 1.0),
        1 / np.array([1.0, 2, 2, 2, 2]),
        "finite servers",
        1 / np.array([1.0, 1.6, 1.2, 0.8, 0.4]),
        _SPLIT,
        bias=0.03,
    ),
    "hybrid with a floor": KnownLaw(
        atlas.RankDiffusion([0.6, -0.2, -1.4], [2.0] * 3, name_drifts=[0.2, 0.0, -0.2]),
        gap_means_of_hybrid([0.6, -0.2, -1.4], [0.2, 0.0, -0.2], [2.0] * 3, floor=True),
        "rank drifts alone",
        1 / np.array([1.0, 1.6, 1.4]) * [1.2, 1, 1],
        _SPLIT,
        bias=0.03,
    ),
}

# scheme, problem's model, gap, steps, window of the slope.
TABLE_MODEL = atlas.reflected_atlas(4, a=2.0, b=1.0)
THREE_SERVERS = rank_routing(3, 1.0, 4.0, [1.0, 0, 0])
GENERAL = PROBLEMS["first order with a floor"].model
AFFINE = PROBLEMS["variances affine in the rank"].model
ASYMMETRIC = PROBLEMS["asymmetric collisions, all q_minus = 0.3"].model

ORDERS = [
    (atlas.ProjectedEuler, "general drifts", GENERAL, 0, (0.1, 0.05, 0.025), (0.3, 0.7)),
    (atlas.BridgeEuler, "general drifts", GENERAL, 3, (0.2, 0.1, 0.05), (0.75, 1.15)),
    (atlas.BridgeEuler, "rank variances", AFFINE, 1, (0.2, 0.1, 0.05), (0.75, 1.15)),
    (atlas.Splitting, "general drifts", GENERAL, 3, (0.2, 0.1, 0.05), (1.15, 1.75)),
    (atlas.HeunBridge, "three servers", THREE_SERVERS, 1, (0.4, 0.2, 0.1), (1.2, 1.8)),
    (atlas.CollisionBridge, "asymmetric", ASYMMETRIC, 1, (0.05, 0.025, 0.0125), (0.75, 1.15)),
    (atlas.CollisionBridge, "three servers", THREE_SERVERS, 0, (0.05, 0.025, 0.0125), (0.75, 1.15)),
]


def gap_bias(model, scheme, replicas: int, horizon: float = 4.0, seed: int = 0, **options: Any):
    """Relative bias of the mean gaps after `horizon`, from the exact law, and its error."""
    mean = atlas.stationary_gaps(model).mean
    solution = atlas.simulate(
        model, scheme, horizon=horizon, replicas=replicas, seed=seed, keep="moments", **options
    )
    gaps = solution.estimate("gaps")
    return gaps.value[0] / mean - 1, gaps.std_error[0] / mean


def bias_slope(model, scheme, gap: int, steps, replicas: int) -> tuple[float, float]:
    """Slope of log bias on log step, and its standard error."""
    runs = [gap_bias(model, scheme(step=h), replicas, seed=k) for k, h in enumerate(steps)]
    bias = np.abs(np.array([value[gap] for value, _ in runs]))
    error = np.array([error[gap] for _, error in runs])
    centred = np.log(steps) - np.mean(np.log(steps))
    slope = np.sum(centred * np.log(bias)) / np.sum(centred**2)
    return slope, np.sqrt(np.sum((centred * error / bias) ** 2)) / np.sum(centred**2)
