"""The problem table of `rank_bias`: models of every kind, and the schemes tried on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import atlas

from ._rank_rules import shortest
from ._scheme_bias import Case


@dataclass(frozen=True)
class Trial:
    """A scheme on a problem: the order it is to show, the gap that shows it best, its steps."""

    case: Case
    steps: tuple[float, ...]


@dataclass(frozen=True)
class Problem:
    """A model with what is known of its law.

    Arguments:
        name: for tables and figures.
        model: what is solved.
        initial: where replicas start.
        mean: exact mean gaps, or nearly; (gap,).
        mean_error: how far `mean` may be off.
        trials: the schemes that are tried.
        relaxations: factor of the horizon; above 1 where replicas do not start in the law.
    """

    name: str
    model: atlas.RankDiffusion
    initial: str | atlas.ProductExponential | atlas.ExponentialMixture
    mean: np.ndarray
    mean_error: np.ndarray
    trials: tuple[Trial, ...]
    relaxations: float = 1.0


# From where on a scheme shows its order is its own, and paths of some cost less than of others.
_SHORT, _LONG = (0.1, 0.05, 0.025, 0.0125), (0.4, 0.2, 0.1, 0.05)
_MIDDLE = (0.2, 0.1, 0.05, 0.025)


def problems() -> tuple[Problem, ...]:
    """All of them; the last one has no law in closed form, and its oracle is numerical."""
    thin = -5.0 / 3 + 4.0 * shortest(3).probs
    return (
        _known(
            "rank drifts, floor",
            atlas.first_order([2.0, 0.5, -0.5, -3.0], np.full(4, 2.0), floor=True),
            _trial(atlas.ProjectedEuler, 0, _MIDDLE, share=0.5),
            _trial(atlas.BridgeEuler, 0, _MIDDLE),
        ),
        _known(
            "three servers, thin stream",
            atlas.first_order(thin, np.full(3, 2.0), floor=True),
            _trial(atlas.Splitting, 1, _SHORT),
        ),
        _known(
            "variances affine in the rank",
            atlas.first_order([2.0, 0.8, -0.8, -2.0], [1.0, 1.5, 2.0, 2.5]),
            _trial(atlas.BridgeEuler, 0, _MIDDLE),
        ),
        _known(
            "asymmetric collisions",
            atlas.asymmetric_collisions([1, 0, 0, -1], np.ones(4), [0.3] * 3, [0.7] * 3),
            _trial(atlas.CollisionBridge, 1, _SHORT, share=0.5),
        ),
        _known(
            "drifts by rank and name",
            atlas.hybrid_atlas([2.4, 0.0, -2.4], [0.8, -0.3, -0.5], np.ones(3)),
            _trial(atlas.BridgeEuler, 1, _MIDDLE),
            _trial(atlas.HeunBridge, 1, _LONG, share=1.0),
            _trial(atlas.Splitting, 1, _LONG),
        ),
        _unequal_variances_at_the_floor(),
    )


def _trial(
    scheme: type[atlas.AbstractScheme],
    gap: int,
    steps: tuple[float, ...],
    share: float = 2.0,
    order: float | None = None,
) -> Trial:
    shown = scheme.order if order is None else order
    return Trial(Case(scheme.__name__, scheme, shown, gap, share), steps)


def _known(name: str, model: atlas.RankDiffusion, *trials: Trial) -> Problem:
    law = atlas.stationary_gaps(model)
    return Problem(name, model, law, law.mean, np.zeros(law.num_gaps), trials)


def _unequal_variances_at_the_floor() -> Problem:
    """No product law: the oracle is the numerical density, the start a product near it.

    The density is singular where both gaps vanish, so that CollisionBridge has the order 3/4 here,
    as its docstring explains by a heuristic that this experiment tries.
    """
    model = atlas.first_order([0.6, -1.6], [1.0, 3.0], floor=True)
    order = atlas.CollisionBridge(step=0.1).weak_order(model)
    density = atlas.stationary_density(model)
    return Problem(
        "unequal variances, floor",
        model,
        atlas.ProductExponential(1 / density.mean),
        density.mean,
        density.mean_error,
        (
            _trial(atlas.BridgeEuler, 0, _MIDDLE, share=4.0),
            _trial(atlas.CollisionBridge, 0, _SHORT, share=0.25, order=order),
        ),
        relaxations=5.0,
    )
