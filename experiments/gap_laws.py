"""Stationary gaps of the truncated infinite Atlas model against the product law, three closures.

Replicas start in the exact law of gaps and must stay in it. "stationary" and "prelimit" have a law
of their own for every N; "free" has none, and follows the infinite model as long as the particles
that it leaves out are out of reach, with a probability whose bound is reported.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate

from ._frame import (
    Claim,
    Experiment,
    Outcome,
    bias_bound,
    controlled,
    distance_error,
    spawn_seed,
)
from ._gap_laws_figure import draw
from ._gap_laws_runs import CLOSURES, Pushes, Run, Truncation, measure, pushes, truncation


@dataclass(frozen=True)
class Settings:
    a: float = 2.0
    """Density of the particles, per unit of length."""
    b: float = 1.0
    """Drift of the lowest particle, length per unit of time."""
    other_a: tuple[float, ...] = (1.5, 3.0)
    """More members of the family of laws with the same b, tried at the second of the sizes."""
    num_particles: tuple[int, ...] = (4, 16, 64, 256)
    """Sizes of the truncation, ascending."""
    num_gaps: int = 5
    """How many of the lowest gaps are looked at (all, where there are fewer)."""
    horizon: float = 4.0
    """Time from the exact law to the last measurement, rounded to a multiple of 2 * step."""
    step: float = 0.01
    """Step of Splitting; a coupled run at twice the step measures the bias."""
    replicas: int = 2**15
    """Paths of each run."""
    reach: float = 1e-6
    """Largest bound on the probability of a disturbance at which "free" is held to the law."""

    def __post_init__(self) -> None:
        if len(self.num_particles) < 2 or list(self.num_particles) != sorted(self.num_particles):
            raise ValueError(f"num_particles are {self.num_particles}: two or more, ascending")
        if self.num_gaps < 2:
            raise ValueError(f"num_gaps is {self.num_gaps}: at least 2, for their independence")
        if self.replicas < 8:
            raise ValueError(f"replicas is {self.replicas}: give at least 8, for an error")


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = {
        (closure, num): measure(settings, closure, num, settings.a, spawn_seed(seed, 0, i, num))
        for i, closure in enumerate(CLOSURES)
        for num in settings.num_particles
    }
    family = [
        measure(settings, "stationary", settings.num_particles[1], a, spawn_seed(seed, 1, i))
        for i, a in enumerate(settings.other_a)
    ]
    rates = [
        pushes(settings, closure, spawn_seed(seed, 2, i))
        for i, closure in enumerate(CLOSURES)
        if closure != "free"
    ]
    cuts = truncation(settings, spawn_seed(seed, 3))
    within_reach = [each for each in runs.values() if each.truncation <= settings.reach]
    largest = [each for each in within_reach if each.num_particles == settings.num_particles[-1]]
    claims = [
        *(claim for each in [*within_reach, *family] for claim in mean_claims(each)),
        *(claim for each in largest for claim in law_claims(each)),
        *(claim for each in rates for claim in push_claims(each)),
        *truncation_claims(cuts),
    ]
    everything = [*runs.values(), *family]
    return Outcome(claims, list(rows(everything, rates, cuts)), draw(runs, family, rates, cuts))


def mean_claims(run: Run) -> Iterator[Claim]:
    """The lowest gap and the average of the others, each over its exact mean."""
    parts = [("gap 1", slice(0, 1)), (f"gaps 2 to {run.gaps.shape[-1]}", slice(1, None))]
    for name, part in parts:
        # Averages over save times and gaps of one replica are one sample.
        samples = run.gaps[..., part].mean(axis=(0, 2))
        start = run.start[:, part].mean(axis=1)
        estimate = Estimate.from_samples(controlled(samples, start, np.array(1.0)))
        coarse = run.coarse[..., part].mean(axis=(0, 2))
        bias = float(bias_bound(coarse, samples[: coarse.size]))
        # Gaps that agree but on an event A have means within sqrt(E (G - G')^2 P(A)), at most
        # sqrt(8 P(A)) for two exponentials of mean 1.
        yield Claim(
            "P0.4",
            "Exp(a-b) x Exp(a) x ... is invariant for each a > b (at finite N: the closure's law).",
            f"{run.label}: mean of {name} / exact mean",
            float(estimate.value),
            float(estimate.std_error),
            1.0,
            bias + (8 * run.truncation) ** 0.5,
        )


def law_claims(run: Run) -> Iterator[Claim]:
    """Whole laws of the two lowest gaps, and their independence, at the last time."""
    fine, coarse = run.gaps[-1], run.coarse[-1]
    count = fine.shape[0]
    shared = fine[: coarse.shape[0]]
    for k in range(2):
        ascending = np.sort(fine[:, k])
        exact, empirical = -np.expm1(-ascending), np.arange(1, count + 1) / count
        distance = max(np.max(empirical - exact), np.max(exact - empirical) + 1 / count)
        yield Claim(
            "P0.4",
            "The lowest gaps have the whole exponential law.",
            f"{run.label}: sup |F - Exp| of gap {k + 1}",
            float(distance),
            distance_error(count),
            0.0,
            distance_between(shared[:, k], coarse[:, k]) + run.truncation,
        )
    correlation, at_step, at_twice = (
        np.corrcoef(gaps[:, 0], gaps[:, 1])[0, 1] for gaps in (fine, shared, coarse)
    )
    yield Claim(
        "P0.4",
        "Gaps are independent.",
        f"{run.label}: correlation of gaps 1 and 2",
        float(correlation),
        # Independent exponentials: the product of two standardised ones has variance 1.
        count**-0.5,
        0.0,
        abs(float(at_twice - at_step)) + run.truncation,
    )


def distance_between(first: np.ndarray, second: np.ndarray) -> float:
    """sup |F_1 - F_2| of two samples of one size."""
    grid = np.concatenate([first, second])
    counts = [np.searchsorted(np.sort(sample), grid, side="right") for sample in (first, second)]
    return float(np.max(np.abs(counts[0] - counts[1])) / first.size)


def push_claims(rates: Pushes) -> Iterator[Claim]:
    collisions = slice(1, None)
    parts = [
        ("floor", rates.floor, rates.exact[0]),
        ("collisions, summed", rates.collisions, rates.exact[collisions].sum()),
    ]
    for name, estimate, exact in parts:
        yield Claim(
            "S.1",
            "Regulators grow at the rates -R^{-1} mu (a balance: it shows accounting, not bias).",
            f"{rates.label}: push of the {name} per time",
            float(estimate.value),
            float(estimate.std_error),
            float(exact),
            # float32 sums of some hundred steps.
            2e-6 * float(exact),
        )


def truncation_claims(cuts: list[Truncation]) -> Iterator[Claim]:
    for cut in cuts:
        if cut.closure == "free" and cut.bound < 0.5:
            yield Claim(
                "S.1",
                "Particles left out disturb the lowest ranks no more often than the bound says.",
                f"free, N={cut.num_particles} against {2 * cut.num_particles}: share of "
                "disturbed replicas",
                float(cut.disturbed.value),
                float(max(cut.disturbed.std_error, cut.resolution)),
                0.0,
                cut.bound,
            )


def rows(
    runs: list[Run], rates: list[Pushes], cuts: list[Truncation]
) -> Iterator[dict[str, object]]:
    """Long format: what, of which model, with its error and its exact value."""
    for run in runs:
        estimate = Estimate.from_samples(run.gaps.mean(axis=0))
        for k, (value, error) in enumerate(zip(estimate.value, estimate.std_error, strict=True)):
            yield _row(run.closure, run.num_particles, run.a, f"mean gap {k + 1}", value, error, 1)
    for each in rates:
        for k, exact in enumerate(each.exact):
            value, error = each.all.value[k], each.all.std_error[k]
            yield _row(
                each.closure, each.num_particles, each.a, f"push rate {k}", value, error, exact
            )
    for cut in cuts:
        name = f"N against 2N, {cut.num_ranks} lowest ranks: "
        size = (cut.closure, cut.num_particles, cut.a)
        moved, disturbed = cut.moved, cut.disturbed
        yield _row(*size, name + "mean distance", moved.value, moved.std_error, 0)
        yield _row(*size, name + "disturbed", disturbed.value, disturbed.std_error, 0)


def _row(closure, num_particles, a, quantity, value, error, exact) -> dict[str, object]:
    return {
        "closure": closure,
        "num_particles": num_particles,
        "a": a,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
        "exact": float(exact),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P0", Settings(), Settings(num_particles=(16, 32), step=0.02, horizon=1.2, replicas=2**14), run
)
