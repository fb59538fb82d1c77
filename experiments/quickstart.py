"""The main job: ranked queues seen following the reflected Atlas process, with error bars.

n queues near saturation, a thin stream to the shortest: their lowest ranks over sqrt(n) beside the
diffusion from the same start, their gaps against the product law Exp(a-b) x Exp(a) x ..., and how
both differences fall with n.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from atlas.ensemble import Estimate

from ._diffusion_limit_claims import (
    TRANSFORMS,
    finite_size_bound,
    joint_law_claim,
    law_claims,
    marginals,
    transform_claims,
    transform_ratios,
)
from ._diffusion_limit_distances import Distance, kolmogorov, measure_distance, wasserstein
from ._diffusion_limit_runs import (
    Comparison,
    Simulated,
    check_sizes,
    compare_from,
    gaps_of,
    product_start,
    queue_ranks,
)
from ._frame import Claim, Experiment, Outcome, distance_error, format_with_error, spawn_seed
from ._quickstart_figure import draw
from ._quickstart_paths import sample_paths

PRODUCT = "In stationarity the gaps follow the product law Exp(a-b) x Exp(a) x ..."


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Slack of the random stream, and density of the particles."""
    b: float = 1.0
    """Strength of the stream to the shortest queue, and drift of the lowest particle."""
    sizes: tuple[int, ...] = (16, 100, 1000, 10_000)
    """Numbers n of queues, ascending."""
    times: tuple[float, ...] = (0.25, 0.5, 1.0)
    """When ranks are compared, multiples of 2 * step."""
    num_ranks: int = 5
    """How many of the lowest ranks are compared."""
    num_particles: int = 48
    """Particles of the diffusion, the highest with the mean push of those left out."""
    step: float = 0.005
    """Step of the diffusion's scheme; a coupled run at twice the step measures the bias."""
    replicas: int = 20_000
    """Replicas of the queues at each size but the largest."""
    largest_replicas: int = 34_000
    """Replicas of the queues at the largest size."""
    huge: int = 1_000_000
    """One more size, whose queues are drawn beside the diffusion, and tabulated with errors."""
    huge_replicas: int = 400
    """Replicas of the queues at that size."""
    diffusion_replicas: int = 200_000
    """Replicas of the diffusion."""
    path_points: int = 400
    """Points of the paths that are drawn."""

    def __post_init__(self) -> None:
        check_sizes(self)
        if self.path_points < 2:
            raise ValueError(f"path_points is {self.path_points}: give at least 2")
        if self.huge <= max(self.sizes):
            raise ValueError(f"huge is {self.huge}: give more than sizes = {self.sizes}")
        if self.huge_replicas < 64:
            raise ValueError(f"huge_replicas is {self.huge_replicas}: give at least 64, for errors")


def run(settings: Settings, *, seed: int, simulated: Simulated | None = None) -> Outcome:
    simulated = simulated or Simulated.sound(settings.a, settings.b)
    start = product_start(settings.a, settings.b)
    comparison = compare_from(settings, start, simulated, spawn_seed(seed, 0))
    with_huge = add_huge(comparison, settings, simulated, spawn_seed(seed, 3))
    paths = sample_paths(settings, simulated, spawn_seed(seed, 1))
    distances = distances_in_n(comparison, spawn_seed(seed, 2))
    claims = [
        *transform_claims(comparison),
        *law_claims(comparison),
        joint_law_claim(comparison),
        *product_claims(comparison, settings),
    ]
    gaps = mean_gaps(with_huge, settings)
    notes = ["Mean of gap 1, of gap 2 (over the limit's), and Wasserstein-1 distance of rank 1:"]
    notes += [_note(n, each, distances.get(("rank 1", n))) for n, each in gaps.items()]
    table = list(rows(with_huge, gaps, distances))
    return Outcome(claims, table, draw(comparison, settings, paths, gaps, distances), notes)


def add_huge(
    comparison: Comparison, settings: Settings, simulated: Simulated, seed: int
) -> Comparison:
    """The comparison with one size more, too costly for the replicas of a sharp claim."""
    regime = simulated.regime(settings.huge)
    ranks = queue_ranks(
        regime,
        comparison.start.queues(regime),
        settings.times,
        settings.huge_replicas,
        seed,
        settings.num_ranks,
    )
    return replace(comparison, queues={**comparison.queues, settings.huge: ranks})


def _note(n: int, gaps: Estimate, distance: Distance | None) -> str:
    means = f"  n = {n:>9,}: {_shown(gaps[0])}, {_shown(gaps[1])}"
    if distance is None:
        return means
    return f"{means}; {distance.value:.4f} (by chance {distance.chance:.4f})"


def _shown(estimate: Estimate) -> str:
    return format_with_error(float(estimate.value), float(estimate.std_error))


def product_rates(settings: Settings) -> np.ndarray:
    """Rates of the product law, (gap,)."""
    rates = np.full(settings.num_ranks, settings.a)
    rates[0] -= settings.b
    return rates


def mean_gaps(comparison: Comparison, settings: Settings) -> dict[int, Estimate]:
    """Size n -> mean gaps as they are, over those of the product law, (gap,)."""
    rates = product_rates(settings)
    return {
        n: Estimate.from_samples((gaps_of(ranks.plain) * rates).mean(axis=0))
        for n, ranks in comparison.queues.items()
    }


def product_claims(comparison: Comparison, settings: Settings) -> Iterator[Claim]:
    """Gaps of the queues against the product law itself, without the diffusion."""
    rates, largest = product_rates(settings), comparison.largest
    scaled = {n: gaps_of(ranks.smooth) * rates for n, ranks in comparison.queues.items()}
    count = settings.num_ranks
    label = f"product law, n={largest}"
    for name, part in (
        ("E of gaps 2 to " + str(count), _mean_of_higher_gaps),
        ("joint transform of all gaps", _joint_transform),
        ("transform of gap 1", _transform_of_lowest_gap),
    ):
        estimates = {n: Estimate.from_samples(part(gaps)) for n, gaps in scaled.items()}
        biases = {n: abs(float(e.value) - 1) + float(e.std_error) for n, e in estimates.items()}
        yield Claim(
            "P0.2",
            PRODUCT,
            f"{label}: {name} / exact",
            float(estimates[largest].value),
            float(estimates[largest].std_error),
            1.0,
            finite_size_bound(biases, largest),
        )
    for k in range(2):
        distances = {n: exponential_distance(gaps[-1][:, k]) for n, gaps in scaled.items()}
        yield Claim(
            "P0.2",
            PRODUCT,
            f"{label}: sup |F - Exp| of gap {k + 1}",
            distances[largest],
            distance_error(scaled[largest].shape[1]),
            0.0,
            finite_size_bound(distances, largest),
        )


def _mean_of_higher_gaps(gaps: np.ndarray) -> np.ndarray:
    return gaps[..., 1:].mean(axis=(0, 2))


def _joint_transform(gaps: np.ndarray) -> np.ndarray:
    count = gaps.shape[-1]
    return np.exp(-gaps.mean(axis=-1)).mean(axis=0) * (1 + 1 / count) ** count


def _transform_of_lowest_gap(gaps: np.ndarray) -> np.ndarray:
    return 2 * np.exp(-gaps[..., 0]).mean(axis=0)


def exponential_distance(sample: np.ndarray) -> float:
    """sup |F - Exp(1)| of a sample."""
    exact, count = -np.expm1(-np.sort(sample)), sample.size
    grid = np.arange(count) / count
    return float(max(np.max(exact - grid), np.max(grid + 1 / count - exact)))


def distances_in_n(comparison: Comparison, seed: int) -> dict[tuple[str, int], Distance]:
    """(marginal, n) -> Wasserstein-1 distance of lengths as they are from the diffusion."""
    generator = np.random.default_rng(seed)
    found = {}
    for name, (_, _, part) in marginals(comparison.diffusion.fine.shape[-1]).items():
        sample = part(comparison.diffusion.fine)
        for n, ranks in comparison.queues.items():
            queue = part(ranks.plain)
            size = min(queue.size, sample.size)
            found[name, n] = measure_distance(queue[:size], sample[:size], wasserstein, generator)
    return found


def rows(
    comparison: Comparison,
    gaps: Mapping[int, Estimate],
    distances: Mapping[tuple[str, int], Distance],
) -> Iterator[dict[str, object]]:
    """Long format: n, quantity, value with error, what it tends to."""
    for n, estimate in gaps.items():
        for k, (value, error) in enumerate(zip(estimate.value, estimate.std_error, strict=True)):
            yield _row(n, f"E gap {k + 1} / limit's", value, error, 1)
    for (name, n), distance in distances.items():
        quantity = f"W1 of {name}"
        yield _row(n, quantity, distance.value, distance.std_error, 0, distance.chance)
    limit = comparison.diffusion.fine[-1]
    for n, ranks in comparison.queues.items():
        for k in range(limit.shape[-1]):
            value = kolmogorov(ranks.plain[-1][:, k], limit[:, k])
            error = 0.5 / sqrt(ranks.plain.shape[1])
            yield _row(n, f"KS of rank {k + 1} (error: at most)", value, error, 0)
    for transform in TRANSFORMS:
        for n, (ratio, error) in transform_ratios(comparison, transform).items():
            yield _row(n, f"joint transform of {transform.name} / limit's", ratio, error, 1)


def _row(n, quantity, value, error, limit, chance: float | str = "") -> dict[str, object]:
    return {
        "n": n,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
        "limit": limit,
        "by_chance": chance,
    }


QUICK = Settings(
    sizes=(16, 100, 1000, 10_000),
    num_particles=32,
    step=0.0125,
    replicas=3000,
    largest_replicas=1200,
    diffusion_replicas=10_000,
    huge_replicas=64,
    path_points=120,
)
EXPERIMENT: Experiment[Settings] = Experiment("P0", Settings(), QUICK, run)
