"""Ranked queues against the reflected Atlas process from three starts, n from 16 to 10^4.

The lowest five queues over sqrt(n), and their gaps, at two times: single laws by Kolmogorov's and
Wasserstein's distances, the joint law over ranks and times by projections and Laplace transforms.
The distances' rate in n is fitted with its error, and what is left at the largest n is bounded by
what was measured at smaller ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ._diffusion_limit_claims import (
    TRANSFORMS,
    joint_law_claim,
    law_claims,
    marginals,
    transform_claims,
    transform_ratios,
)
from ._diffusion_limit_distances import (
    Distance,
    energy_with_error,
    kolmogorov,
    measure_distance,
    projections,
    wasserstein,
)
from ._diffusion_limit_figure import draw
from ._diffusion_limit_runs import (
    Comparison,
    Simulated,
    check_sizes,
    compare_from,
    dense_start,
    grid_start,
    product_start,
)
from ._frame import Claim, Experiment, Outcome, PowerLaw, fit_power_law, spawn_seed


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Slack of the random stream, and density of the particles."""
    b: float = 1.0
    """Strength of the stream to the shortest queue, and drift of the lowest particle."""
    denser: float = 2.0
    """How much denser than stationary the third start is."""
    sizes: tuple[int, ...] = (16, 64, 256, 1024, 10_000)
    """Numbers n of queues, ascending."""
    times: tuple[float, ...] = (0.25, 1.0)
    """When ranks are compared, multiples of 2 * step."""
    num_ranks: int = 5
    """How many of the lowest ranks are compared."""
    num_particles: int = 64
    """Particles of the diffusion, the highest with the mean push of those left out."""
    step: float = 0.005
    """Step of the diffusion's scheme; a coupled run at twice the step measures the bias."""
    replicas: int = 16_000
    """Replicas of the queues at each size but the largest."""
    largest_replicas: int = 40_000
    """Replicas of the queues at the largest size."""
    diffusion_replicas: int = 240_000
    """Replicas of the diffusion."""

    def __post_init__(self) -> None:
        check_sizes(self)
        if not self.denser > 1:
            raise ValueError(f"denser is {self.denser}: give a factor above 1")


@dataclass(frozen=True)
class Rate:
    """How the joint law of one start tends to its limit.

    Arguments:
        sizes: the n.
        energies, errors: squared energy distances of the joint law, without bias, and their errors.
        fit: their power law; distances fall with half of its exponent.
    """

    sizes: np.ndarray
    energies: np.ndarray
    errors: np.ndarray
    fit: PowerLaw


def run(settings: Settings, *, seed: int, simulated: Simulated | None = None) -> Outcome:
    simulated = simulated or Simulated.sound(settings.a, settings.b)
    starts = (
        product_start(settings.a, settings.b),
        grid_start(settings.a),
        dense_start(settings.denser * settings.a),
    )
    comparisons = [
        compare_from(settings, start, simulated, spawn_seed(seed, i))
        for i, start in enumerate(starts)
    ]
    rates = [rate_in_n(comparison) for comparison in comparisons]
    distances = [
        distances_in_n(comparison, spawn_seed(seed, 9, i))
        for i, comparison in enumerate(comparisons)
    ]
    claims = [claim for comparison in comparisons for claim in comparison_claims(comparison)]
    table = [
        row for parts in zip(comparisons, rates, distances, strict=True) for row in rows(*parts)
    ]
    notes = [
        f"{comparison.start.name}: distance of the joint law falls like n^p, "
        f"p = {-rate.fit.exponent / 2:.3f} +- {rate.fit.exponent_error / 2:.3f}."
        for comparison, rate in zip(comparisons, rates, strict=True)
    ]
    return Outcome(claims, table, draw(comparisons, rates, distances), notes)


def comparison_claims(comparison: Comparison) -> Iterator[Claim]:
    """All claims of one start."""
    yield from transform_claims(comparison)
    yield from law_claims(comparison)
    yield joint_law_claim(comparison)


def rate_in_n(comparison: Comparison) -> Rate:
    """Squared energy distances of lengths as they are, each from its own part of the limit."""
    scale = comparison.diffusion.scale
    parts = np.array_split(projections(comparison.diffusion.fine, scale), len(comparison.queues), 1)
    pairs = [
        energy_with_error(projections(ranks.plain, scale), part)
        for ranks, part in zip(comparison.queues.values(), parts, strict=True)
    ]
    sizes = np.array(list(comparison.queues), float)
    energies, errors = (np.array(column) for column in zip(*pairs, strict=True))
    # In 1/n, so that the fit starts from the sizes where the distances stand out most.
    return Rate(sizes, energies, errors, fit_power_law(1 / sizes, energies, errors**2))


def distances_in_n(comparison: Comparison, seed: int) -> dict[tuple[str, str, int], Distance]:
    """(marginal, distance, n) -> that of lengths as they are, from samples of one size."""
    generator = np.random.default_rng(seed)
    limit = comparison.diffusion.fine
    found = {}
    for name, (_, _, part) in marginals(limit.shape[-1]).items():
        sample = part(limit)
        for n, ranks in comparison.queues.items():
            queue = part(ranks.plain)
            size = min(queue.size, sample.size)
            for label, distance in (("W1", wasserstein), ("KS", kolmogorov)):
                found[name, label, n] = measure_distance(
                    queue[:size], sample[:size], distance, generator
                )
    return found


def rows(
    comparison: Comparison, rate: Rate, distances: dict[tuple[str, str, int], Distance]
) -> Iterator[dict[str, object]]:
    """Long format: start, n, quantity, value with error, and what equal laws would show."""
    name = comparison.start.name
    for (part, label, n), distance in distances.items():
        yield _row(name, n, f"{label} of {part}", distance.value, distance.std_error, distance)
    for n, energy, error in zip(rate.sizes, rate.energies, rate.errors, strict=True):
        yield _row(name, int(n), "squared energy distance, joint law", energy, error, None)
    for transform in TRANSFORMS:
        for n, (ratio, error) in transform_ratios(comparison, transform).items():
            quantity = f"joint transform of {transform.name} / limit's"
            yield _row(name, n, quantity, ratio, error, None)


def _row(start, n, quantity, value, error, distance: Distance | None) -> dict[str, object]:
    return {
        "start": start,
        "n": n,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
        "by_chance": "" if distance is None else distance.chance,
        "by_chance_at_most": "" if distance is None else distance.chance_top,
    }


QUICK = Settings(
    sizes=(16, 256, 1024),
    num_particles=32,
    step=0.0125,
    replicas=2000,
    largest_replicas=2000,
    diffusion_replicas=8000,
)
EXPERIMENT: Experiment[Settings] = Experiment("P0", Settings(), QUICK, run)
