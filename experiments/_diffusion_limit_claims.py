"""Claims that compare queues of size n with the diffusion: joint transforms and whole laws.

At finite n the laws differ. What is left at the largest n is bounded by what was measured at the
two sizes m before it: the differences fall at least like 1/sqrt(n), so max_m |D(m)| sqrt(m/n). (At
the smallest sizes the ranks that do not exist matter too, and vanish much faster.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from ._diffusion_limit_distances import NUM_DIRECTIONS, effective_size, kolmogorov, projections
from ._diffusion_limit_runs import Comparison, gaps_of, ratio_of_means
from ._frame import Claim, bias_bound, distance_error

RANKS = "Ranked queues over sqrt(n) follow the reflected infinite Atlas process."
GAPS = "So do their gaps."


def finite_size_bound(differences: Mapping[int, float], largest: int) -> float:
    """max of |D(m)| sqrt(m / n) over the two sizes m before the largest n, the bound on D(n)."""
    before = sorted(m for m in differences if m < largest)[-2:]
    return max(abs(differences[m]) * sqrt(m / largest) for m in before)


@dataclass(frozen=True)
class Transform:
    """A joint Laplace transform E exp(-sum of weight * coordinate) at one argument.

    Arguments:
        name: what is transformed.
        claim_id, statement: of the claim.
        values: function of ranks (time, replica, rank) and mean ranks (time, rank) of the diffusion
            to exp(-...), (replica,).
    """

    name: str
    claim_id: str
    statement: str
    values: Callable[[np.ndarray, np.ndarray], np.ndarray]


def _all_ranks(ranks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.exp(-np.mean(ranks[-1] / scale[-1], axis=-1))


def _all_times(ranks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.exp(-np.mean(ranks[..., 0] / scale[:, :1], axis=0))


def _all_gaps(ranks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return np.exp(-np.mean(gaps_of(ranks[-1]) / gaps_of(scale[-1]), axis=-1))


def _gaps_over_time(ranks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    # The lowest gap early and the next one late: it sees how the process moves, not only its laws.
    early, late = gaps_of(ranks[0])[:, 0], gaps_of(ranks[-1])[:, 1]
    means = gaps_of(scale[0])[0], gaps_of(scale[-1])[1]
    return np.exp(-(early / means[0] + late / means[1]) / 2)


TRANSFORMS: tuple[Transform, ...] = (
    Transform("all ranks, last time", "P0.1", RANKS, _all_ranks),
    Transform("lowest rank, all times", "P0.1", RANKS, _all_times),
    Transform("all gaps, last time", "P0.2", GAPS, _all_gaps),
    Transform("gap 1 early, gap 2 late", "P0.2", GAPS, _gaps_over_time),
)


def transform_ratios(
    comparison: Comparison, transform: Transform
) -> dict[int, tuple[float, float]]:
    """Size n -> (ratio of the queues' transform to the diffusion's, its standard error)."""
    scale = comparison.diffusion.scale
    limit = transform.values(comparison.diffusion.fine, scale)
    found = {}
    for n, ranks in comparison.queues.items():
        ratio = ratio_of_means(transform.values(ranks.smooth, scale), limit)
        found[n] = (float(ratio.value), float(ratio.std_error))
    return found


def transform_claims(
    comparison: Comparison, transforms: Sequence[Transform] = TRANSFORMS
) -> Iterator[Claim]:
    """E exp(-...) of the queues over that of the diffusion."""
    largest, diffusion = comparison.largest, comparison.diffusion
    for transform in transforms:
        ratios = transform_ratios(comparison, transform)
        fine, coarse = (
            transform.values(ranks, diffusion.scale)
            for ranks in (diffusion.coupled, diffusion.coarse)
        )
        of_step = float(bias_bound(coarse, fine)) / fine.mean()
        of_size = finite_size_bound({n: abs(r - 1) + e for n, (r, e) in ratios.items()}, largest)
        yield Claim(
            transform.claim_id,
            transform.statement,
            f"{comparison.start.name}, n={largest}: joint transform of {transform.name} / limit's",
            *ratios[largest],
            1.0,
            float(of_step + of_size),
        )


def _last(rank: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda ranks: ranks[-1][:, rank]


def _last_gap(gap: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda ranks: gaps_of(ranks[-1])[:, gap]


def marginals(num_ranks: int) -> dict[str, tuple[str, str, Callable]]:
    """Which one-dimensional laws are compared: name -> (claim, statement, function of ranks).

    Rank 1 is gap 1 too.
    """
    return {
        "rank 1": ("P0.1", RANKS, _last(0)),
        f"rank {num_ranks}": ("P0.1", RANKS, _last(num_ranks - 1)),
        "gap 2": ("P0.2", GAPS, _last_gap(1)),
        f"gap {num_ranks}": ("P0.2", GAPS, _last_gap(num_ranks - 1)),
    }


def law_claims(comparison: Comparison) -> Iterator[Claim]:
    """Kolmogorov's distance of one-dimensional laws at the last time."""
    num_ranks = comparison.diffusion.fine.shape[-1]
    for name, (claim_id, statement, part) in marginals(num_ranks).items():
        text = f"sup |F - G| of {name} at t={comparison.times[-1]:g}"
        yield _distance_claim(
            comparison, claim_id, statement, text, lambda ranks, f=part: f(ranks)[None], 1.0
        )


def joint_law_claim(comparison: Comparison) -> Claim:
    """The joint law of all ranks at all times, through its projections (Cramer and Wold)."""
    scale = comparison.diffusion.scale
    # A union over the directions: sqrt(log(2 m / p) / log(2 / p)) at the largest p, 1e-4.
    factor = sqrt(1 + log(NUM_DIRECTIONS) / log(2e4))
    text = f"largest sup |F - G| over {NUM_DIRECTIONS} projections of all ranks and times"
    return _distance_claim(
        comparison, "P0.1", RANKS, text, lambda ranks: projections(ranks, scale), factor
    )


def _distance_claim(
    comparison: Comparison,
    claim_id: str,
    statement: str,
    text: str,
    project: Callable[[np.ndarray], np.ndarray],
    factor: float,
) -> Claim:
    diffusion, largest = comparison.diffusion, comparison.largest
    fine = project(diffusion.fine)
    queues = {n: project(ranks.smooth) for n, ranks in comparison.queues.items()}
    distances = {
        n: max(kolmogorov(x, y) for x, y in zip(queue, fine, strict=True))
        for n, queue in queues.items()
    }
    coupled = (project(ranks) for ranks in (diffusion.coupled, diffusion.coarse))
    of_step = max(kolmogorov(x, y) for x, y in zip(*coupled, strict=True))
    size = effective_size(queues[largest].shape[1], fine.shape[1])
    return Claim(
        claim_id,
        statement,
        f"{comparison.start.name}, n={largest}: {text}",
        distances[largest],
        factor * distance_error(size),
        0.0,
        of_step + finite_size_bound(distances, largest),
    )
