"""The claims of `paused_and_original`: closed form, system with pauses, original chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from atlas.ensemble import Estimate

from ._diffusion_limit_claims import finite_size_bound
from ._frame import Claim, distance_error
from ._paused_independence import Dependence, mean_correlation
from ._paused_runs import Snapshot, distance_to_exponential, paused_law

if TYPE_CHECKING:
    from .paused_and_original import Settings

JACKSON = "The system with pauses is an open Jackson network with an explicit law at every n."
LIMITS = "The limits of these laws are the invariant laws Exp(a-b) x Exp(a) x ..."
AGREE = "Both systems agree at diffusion scale: gaps differ by half a job, mean queues by n/4."
EXACT = "The original chain keeps its exact balances at every n."

# The original chain at n = 16, a = 2, b = 1, by 2e9 steps of a separate program: (value, error).
REFERENCE = {
    "E Q_(1)": (3.702, 0.013),
    "E gap_2": (2.202, 0.003),
    "E gap_3": (2.272, 0.003),
    "mean queue": (33.42, 0.06),
    "P(Q_(1)=0)": (0.2062, 0.0005),
    "P(gap_2=0)": (0.1975, 0.0002),
}


def limit_rates(settings: Settings) -> np.ndarray:
    """Rates of the limit's gaps, (gap,)."""
    rates = np.full(settings.num_gaps, settings.a)
    rates[0] -= settings.b
    return rates


def closed_form(settings: Settings, paused: Any) -> dict[int, np.ndarray]:
    """Size n -> (mean over the limit's, distance from the limit) of gaps 1 and 2, (2, 2)."""
    found = {}
    for n in settings.exact_sizes:
        law = paused(n).stationary_gaps()
        rates = limit_rates(settings)[:2] / sqrt(n)
        distances = [
            distance_to_exponential(float(rho), float(rate))
            for rho, rate in zip(law.ratios[:2], rates, strict=True)
        ]
        found[n] = np.array([law.mean[:2] * rates, distances])
    return found


def closed_form_claims(found: Mapping[int, np.ndarray], settings: Settings) -> Iterator[Claim]:
    """Means at the largest n, and the power with which distances fall."""
    sizes = sorted(found)
    largest = sizes[-1]
    slopes = [np.log(found[n][1] / found[m][1]) / log(n / m) for m, n in pairwise(sizes)]
    # To first order in 1/sqrt(n) a geometric law on 0, 1, ... has half a job less than the
    # exponential one, and log(1 + b/sqrt(n)) has b^2/2 less in 1/n, which only gap 1 feels.
    shifts = np.array([settings.b**2 / (settings.a - settings.b), 0.0]) / (2 * sqrt(largest))
    for k, rate in enumerate(limit_rates(settings)[:2]):
        mean, distance = found[largest][:, k]
        lattice = rate / (2 * sqrt(largest))
        yield Claim(
            "P0.7", LIMITS, f"paused, closed form, n={largest}: E gap {k + 1} / limit's",
            float(mean), 0.0, 1.0, float(1.05 * (lattice + shifts[k])),
        )  # fmt: skip
        yield Claim(
            "P0.7", LIMITS, f"paused, closed form, n={largest}: sup |F - Exp| of gap {k + 1}",
            float(distance), 0.0, 0.0, float(1.05 * (2 * lattice + shifts[k])),
        )  # fmt: skip
        yield Claim(
            "P0.7", LIMITS, f"paused, closed form: power of n in sup |F - Exp| of gap {k + 1}",
            float(slopes[-1][k]), 0.0, -0.5, float(abs(slopes[-1][k] - slopes[-2][k])) + 1e-3,
        )  # fmt: skip


def paused_claims(n: int, snapshot: Snapshot, settings: Settings) -> Iterator[Claim]:
    """The explicit law at size n: means, and the joint generating function of the gaps."""
    law = paused_law(settings.a, settings.b, n)
    ratios, exact = law.ratios[: settings.num_gaps], law.mean[: settings.num_gaps]
    gaps = snapshot.gaps
    means = Estimate.from_samples((gaps[..., 1:] / exact[1:]).mean(axis=(0, 2)))
    yield Claim(
        "P0.6", JACKSON, f"paused, n={n}: E of gaps 2 to {settings.num_gaps} / exact",
        float(means.value), float(means.std_error), 1.0,
    )  # fmt: skip
    count = settings.num_gaps
    for name, kept, share in (("gap 1", slice(0, 1), 1), ("all gaps", slice(None), count)):
        base = np.exp(-1 / (share * exact[kept]))
        theory = np.prod((1 - ratios[kept]) / (1 - ratios[kept] * base))
        samples = np.prod(base ** gaps[..., kept], axis=-1).mean(axis=0)
        estimate = Estimate.from_samples(samples / theory)
        yield Claim(
            "P0.6", JACKSON, f"paused, n={n}: joint generating function of {name} / exact",
            float(estimate.value), float(estimate.std_error), 1.0,
        )  # fmt: skip


def pooled_claims(n: int, uniforms: np.ndarray) -> Iterator[Claim]:
    """All gaps of a large system, each through its own distribution function."""
    ascending = np.sort(uniforms.ravel())
    count = ascending.size
    grid = np.arange(count)
    distance = max(np.max(ascending - grid / count), np.max((grid + 1) / count - ascending))
    yield Claim(
        "P0.6", JACKSON, f"paused, n={n}: sup |F - geometric|, all {n} gaps pooled",
        float(distance), distance_error(count), 0.0,
    )  # fmt: skip
    centred = sqrt(12) * (uniforms - 0.5)
    estimate = Estimate.from_samples((centred[:, 1:] * centred[:, :-1]).ravel())
    yield Claim(
        "P0.6", "The gaps are independent.", f"paused, n={n}: correlation of neighbouring gaps",
        float(estimate.value), (uniforms.shape[0] * (n - 1)) ** -0.5, 0.0,
    )  # fmt: skip


def independence_claims(
    label: str, gaps: np.ndarray, dependence: Dependence, bias: float
) -> Iterator[Claim]:
    """Correlations and distance correlations of the lowest gaps."""
    value, error = mean_correlation(gaps)
    yield Claim(
        "P0.6", "The gaps are independent.", f"{label}: mean correlation of all pairs of gaps",
        value, error, 0.0, bias,
    )  # fmt: skip
    mean = dependence.mean
    yield Claim(
        "P0.6", "The gaps are independent.", f"{label}: mean squared distance correlation",
        float(mean.value), float(mean.std_error), 0.0, bias**2, float(mean.dof),
    )  # fmt: skip


def original_claims(originals: Mapping[int, Snapshot], settings: Settings) -> Iterator[Claim]:
    """The original chain near stationarity: its limit law, and its difference from the other."""
    largest = max(originals)
    yield from _limit_claims(originals, largest, settings)
    ratios: dict[int, tuple[float, float]] = {}
    quarters: dict[int, tuple[float, float]] = {}
    for n, snapshot in originals.items():
        law = paused_law(settings.a, settings.b, n)
        exact = law.mean[1 : settings.num_gaps] + 0.5
        ratio = Estimate.from_samples((snapshot.gaps[..., 1:] / exact).mean(axis=(0, 2)))
        ratios[n] = float(ratio.value), float(ratio.std_error)
        quarters[n] = mean_queue_difference(n, snapshot, settings)
    sizes = sorted(originals)
    biases = {n: abs(value - 1) + error for n, (value, error) in ratios.items()}
    for n in sizes[1:-1]:
        smaller = {m: bias for m, bias in biases.items() if m < n}
        yield Claim(
            "P0.5", AGREE,
            f"original, n={n}: E of gaps 2 to {settings.num_gaps} / (paused + 1/2)",
            *ratios[n], 1.0, finite_size_bound(smaller, n),
        )  # fmt: skip
    for n in sizes[2:]:
        smaller = {m: abs(quarters[m][0] - 1) + quarters[m][1] for m in sizes if m < n}
        yield Claim(
            "P0.5", AGREE, f"n={n}: difference of the mean queues / (n/4)",
            *quarters[n], 1.0, finite_size_bound(smaller, n),
        )  # fmt: skip


def mean_queue_difference(n: int, snapshot: Snapshot, settings: Settings) -> tuple[float, float]:
    """(original - paused) / (n/4) and its error, the original by its exact identity in E Q_(1)."""
    a, b = settings.a, settings.b
    shortest = Estimate.from_samples(snapshot.lengths[..., 0].mean(axis=0))
    original = n**1.5 / a - 1 + b / a * (1 + float(shortest.value))
    weights = np.arange(n, 0, -1) / n
    paused = float(paused_law(a, b, n).mean @ weights)
    return (original - paused) / (n / 4), b / a * float(shortest.std_error) / (n / 4)


def _limit_claims(
    originals: Mapping[int, Snapshot], largest: int, settings: Settings
) -> Iterator[Claim]:
    rates = limit_rates(settings)
    scaled = {n: snapshot.smooth_gaps * rates / sqrt(n) for n, snapshot in originals.items()}
    count = settings.num_gaps
    theory = (1 + 1 / count) ** -count
    transforms = {
        n: Estimate.from_samples(np.exp(-gaps.mean(axis=-1)).mean(axis=0) / theory)
        for n, gaps in scaled.items()
    }
    biases = {n: abs(float(e.value) - 1) + float(e.std_error) for n, e in transforms.items()}
    yield Claim(
        "P0.7", LIMITS, f"original, n={largest}: joint transform of all gaps / limit's",
        float(transforms[largest].value), float(transforms[largest].std_error), 1.0,
        finite_size_bound(biases, largest),
    )  # fmt: skip
    for k in range(2):
        distances = {n: _distance(gaps[-1][:, k]) for n, gaps in scaled.items()}
        yield Claim(
            "P0.7", LIMITS, f"original, n={largest}: sup |F - Exp| of gap {k + 1}",
            distances[largest], distance_error(scaled[largest].shape[1]), 0.0,
            finite_size_bound(distances, largest),
        )  # fmt: skip


def _distance(sample: np.ndarray) -> float:
    exact = -np.expm1(-np.sort(sample))
    grid = np.arange(sample.size)
    return float(max(np.max(exact - grid / sample.size), np.max((grid + 1) / sample.size - exact)))


def balance_claims(n: int, long_run: Any, settings: Settings) -> Iterator[Claim]:
    """Balances that hold exactly at every n, and values from a separate program."""
    a, b = settings.a, settings.b
    idle, contacts = long_run.estimate("idle_servers"), long_run.estimate("contacts")
    yield Claim(
        "P0.5", EXACT, f"original, n={n}: E idle servers / ((a-b)/sqrt(n))",
        float(idle.value / ((a - b) / sqrt(n))), float(idle.std_error / ((a - b) / sqrt(n))), 1.0,
        dof=float(idle.dof),
    )  # fmt: skip
    for k in range(1, 4):
        # Of the ranks above k: what the tie of k and k+1 lends them makes up for their slack.
        slack = (n - k) * a / sqrt(n)
        yield Claim(
            "P0.5", EXACT, f"original, n={n}: contacts of ranks {k} and {k + 1} / exact",
            float(contacts.value[k - 1] / slack), float(contacts.std_error[k - 1] / slack), 1.0,
            dof=float(contacts.dof[k - 1]),
        )  # fmt: skip
    if (n, a, b) == (16, 2.0, 1.0):
        yield from _reference_claims(long_run)


def _reference_claims(long_run: Any) -> Iterator[Claim]:
    gaps = long_run.estimate("gaps")
    measured = {
        "E Q_(1)": gaps[0],
        "E gap_2": gaps[1],
        "E gap_3": gaps[2],
        "mean queue": long_run.estimate("total"),
        "P(Q_(1)=0)": long_run.estimate("prob_shortest_empty"),
        "P(gap_2=0)": long_run.estimate("prob_tie"),
    }
    for name, (value, error) in REFERENCE.items():
        scale = 16 if name == "mean queue" else 1
        estimate, own = measured[name], float(measured[name].std_error) / scale
        both = float(np.hypot(own, error))
        yield Claim(
            "P0.5", "The original chain agrees with a separate program.",
            f"original, n=16: {name}", float(estimate.value) / scale, both, value,
            # The other program's errors count as known (Welch and Satterthwaite).
            dof=float(estimate.dof) * (both / own) ** 4,
        )  # fmt: skip
