"""The system with pauses, exact at every n, and the original chain: one limit, half a job apart.

With pauses the gaps are independent geometric at every n (an open Jackson network); the closed form
is followed to n = 10^6 and simulated to 10^4. The original chain has the same limit law; its gaps
are half a job longer each, its mean queue n/4, and both are measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ._frame import Experiment, Outcome, spawn_seed
from ._paused_claims import (
    balance_claims,
    closed_form,
    closed_form_claims,
    independence_claims,
    limit_rates,
    mean_queue_difference,
    original_claims,
    paused_claims,
    pooled_claims,
)
from ._paused_figure import draw
from ._paused_independence import Dependence, measure_dependence
from ._paused_runs import (
    Simulated,
    Snapshot,
    contact_counter,
    long_average,
    paused_law,
    pooled_uniforms,
    snapshot,
)


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Slack of the random stream."""
    b: float = 1.0
    """Strength of the stream to the shortest queue."""
    exact_sizes: tuple[int, ...] = (100, 1000, 10_000, 100_000, 1_000_000)
    """Numbers n of queues at which the closed form is looked at, ascending."""
    paused_sizes: tuple[int, ...] = (16, 100)
    """Where the lowest gaps of the system with pauses are simulated."""
    pooled_sizes: tuple[int, ...] = (1000, 10_000)
    """Where all gaps of the system with pauses are simulated and pooled."""
    original_sizes: tuple[int, ...] = (16, 100, 1000, 10_000)
    """Where the original chain is simulated, ascending."""
    num_gaps: int = 5
    """How many of the lowest gaps are looked at."""
    times: tuple[float, ...] = (2.0, 4.0)
    """When gaps are looked at, from a start in or near stationarity."""
    replicas: int = 32_000
    """Replicas of each system, the largest excepted."""
    largest_times: tuple[float, ...] = (0.5, 1.0)
    """The same, at the largest size."""
    largest_replicas: int = 16_000
    """Replicas of the original chain at the largest size."""
    pooled_horizon: float = 0.2
    """Time for which the pooled systems run; neighbouring ranks meet within a fraction of it."""
    pooled_replicas: int = 48
    """Replicas of each pooled system."""
    long_horizon: float = 180_000.0
    """Length of each long run of the original chain, at its smallest size."""
    long_replicas: int = 32
    """Number of long runs."""
    permutations: int = 49
    """Permutations of each block of replicas, for the null band of distance correlations."""

    def __post_init__(self) -> None:
        if not 0 < self.b < self.a:
            raise ValueError(f"b is {self.b} with a = {self.a}: give 0 < b < a")
        if not 3 <= self.num_gaps <= min(self.original_sizes + self.paused_sizes):
            raise ValueError(f"num_gaps is {self.num_gaps}: from 3 to the smallest size")
        for name, least in (("exact_sizes", 3), ("original_sizes", 3), ("paused_sizes", 1)):
            sizes = getattr(self, name)
            if len(sizes) < least or list(sizes) != sorted(set(sizes)):
                raise ValueError(f"{name} are {sizes}: {least} or more, ascending")
        for name in ("replicas", "largest_replicas"):
            if getattr(self, name) < 1600:
                raise ValueError(
                    f"{name} is {getattr(self, name)}: give at least 1600, two blocks of 800"
                )


def run(settings: Settings, *, seed: int, simulated: Simulated | None = None) -> Outcome:
    simulated = simulated or Simulated.sound(settings.a, settings.b)
    originals = original_snapshots(settings, simulated, spawn_seed(seed, 0))
    paused = {
        n: snapshot(
            simulated.paused(n), settings.times, settings.replicas, settings.num_gaps,
            spawn_seed(seed, 1, n),
        )
        for n in settings.paused_sizes
    }  # fmt: skip
    exact = closed_form(settings, simulated.paused)
    largest, smallest = max(originals), min(originals)
    dependences = {
        f"original, n={largest}": (originals[largest].smooth_gaps[-1], 1 / sqrt(largest)),
        f"paused, n={max(paused)}": (paused[max(paused)].gaps[-1], 0.0),
    }
    measured = {
        label: measure_dependence(gaps, settings.permutations, spawn_seed(seed, 2, i))
        for i, (label, (gaps, _)) in enumerate(dependences.items())
    }
    claims = [
        *closed_form_claims(exact, settings),
        *(claim for n, each in paused.items() for claim in paused_claims(n, each, settings)),
        *pooled(settings, simulated, spawn_seed(seed, 3)),
        *original_claims(originals, settings),
        *(
            claim
            for label, (gaps, bias) in dependences.items()
            for claim in independence_claims(label, gaps, measured[label], bias)
        ),
        *balance_claims(
            smallest,
            long_average(
                simulated.original(smallest),
                contact_counter(smallest, settings.a, settings.b),
                settings.long_horizon,
                settings.long_replicas,
                spawn_seed(seed, 4),
            ),
            settings,
        ),
    ]  # fmt: skip
    # Beside each matrix the standard error of a correlation that is 0.
    matrices = {
        label: (np.corrcoef(gaps, rowvar=False), 1 / sqrt(len(gaps)))
        for label, (gaps, _) in dependences.items()
    }
    table = list(rows(settings, exact, originals, paused, measured))
    return Outcome(claims, table, draw(settings, exact, originals, matrices, measured))


def original_snapshots(settings: Settings, simulated: Simulated, seed: int) -> dict[int, Snapshot]:
    """The original chain at all sizes."""
    found = {}
    for n in settings.original_sizes:
        is_largest = n == max(settings.original_sizes)
        times = settings.largest_times if is_largest else settings.times
        replicas = settings.largest_replicas if is_largest else settings.replicas
        found[n] = snapshot(
            simulated.original(n), times, replicas, settings.num_gaps, spawn_seed(seed, n)
        )
    return found


def pooled(settings: Settings, simulated: Simulated, seed: int) -> Iterator:
    """Claims on all gaps of large systems with pauses."""
    for n in settings.pooled_sizes:
        uniforms = pooled_uniforms(
            simulated.paused(n),
            paused_law(settings.a, settings.b, n),
            settings.pooled_horizon,
            settings.pooled_replicas,
            spawn_seed(seed, n),
        )
        yield from pooled_claims(n, uniforms)


def rows(
    settings: Settings,
    exact: Mapping[int, np.ndarray],
    originals: Mapping[int, Snapshot],
    paused: Mapping[int, Snapshot],
    dependences: Mapping[str, Dependence],
) -> Iterator[dict[str, object]]:
    """Long format: system, n, quantity, value, error, and what it is compared with."""
    rates = limit_rates(settings)
    for n, (means, distances) in exact.items():
        for k in range(2):
            yield _row("paused, closed form", n, f"E gap {k + 1} / limit's", means[k], 0, 1)
            yield _row("paused, closed form", n, f"sup |F - Exp|, gap {k + 1}", distances[k], 0, 0)
    for name, snapshots in (("original", originals), ("paused", paused)):
        for n, each in snapshots.items():
            law = paused_law(settings.a, settings.b, n)
            samples = each.gaps.mean(axis=0)
            error = samples.std(axis=0) / sqrt(len(samples))
            for k in range(settings.num_gaps):
                value = samples[:, k].mean()
                quantity = f"E gap {k + 1} (jobs; beside it the paused law's)"
                yield _row(name, n, quantity, value, error[k], law.mean[k])
                ratio = rates[k] / sqrt(n)
                yield _row(name, n, f"E gap {k + 1} / limit's", value * ratio, error[k] * ratio, 1)
    for n, each in originals.items():
        value, error = mean_queue_difference(n, each, settings)
        yield _row("original - paused", n, "mean queue / n", value / 4, error / 4, 0.25)
    for label, each in dependences.items():
        system, size = label.split(", n=")
        for (j, k), value, error in zip(each.pairs, each.values, each.errors, strict=True):
            quantity = f"squared distance correlation, gaps {j + 1} and {k + 1}"
            yield _row(system, int(size), quantity, value, error, 0)


def _row(system, n, quantity, value, error, theory) -> dict[str, object]:
    return {
        "system": system,
        "n": n,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
        "theory": float(theory),
    }


QUICK = Settings(
    original_sizes=(16, 100, 1000),
    pooled_sizes=(1000,),
    times=(1.0, 2.0),
    replicas=4000,
    largest_replicas=4000,
    pooled_replicas=16,
    long_horizon=10_000.0,
    long_replicas=8,
    permutations=9,
)
EXPERIMENT: Experiment[Settings] = Experiment("P0", Settings(), QUICK, run)
