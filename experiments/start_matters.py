"""One drift b, many starts: laws that stay, laws that do not, and starts from which nothing stays.

The dynamics of the infinite reflected Atlas process know b alone, and the queues at large n hardly
know a. The density of the start decides: above b there is a law for each that stays, below b the
lowest rank escapes like kappa sqrt(t). The diffusion is run with the closure "free", in which
nothing replaces the particles that are left out; the bound on what they could do counts as bias.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate

from ._escape_rate import escape_rate
from ._frame import Claim, Experiment, Outcome, bias_bound, controlled
from ._start_matters_figure import draw
from ._start_matters_runs import Kept, Runs, Subject, simulate

# Departures from a start are called by this many standard errors.
_CLEAR = 10.0


@dataclass(frozen=True)
class Settings:
    b: float = 1.0
    """Drift of the lowest particle; the same everywhere."""
    family_a: tuple[float, ...] = (1.5, 2.0, 3.0)
    """Densities above b, whose laws stay."""
    off_rate: float = 2.0
    """Rate of the lowest gap off the law of the middle density: above its own, at most twice it."""
    thin: tuple[float, ...] = (0.2, 0.25)
    """Densities well below b, from which the lowest rank escapes."""
    near_critical: tuple[float, ...] = (0.5,)
    """Densities nearer to b, drawn and listed but not claimed: there the limit comes later (at 0.5
    the slope is still 1 % off from t = 256 to 4096). A quarter of the replicas."""
    num_particles: int = 96
    """Particles of the runs above b."""
    num_ranks: int = 5
    """How many of the lowest ranks are looked at."""
    horizon: float = 4.0
    """Time from the start to the last look above b."""
    step: float = 0.02
    """Step of the runs above b; coupled runs at twice the step bound its bias."""
    replicas: int = 5 * 2**14
    """Replicas of each run above b."""
    escape_time: float = 256.0
    """Last time of the runs below b; the slope is taken from a sixteenth of it on."""
    escape_step: float = 0.1
    """Step of the runs below b."""
    escape_replicas: int = 2**16
    """Replicas of each run below b."""
    n: int = 1024
    """Servers of the queues."""
    two_a: tuple[float, float] = (1.5, 3.0)
    """The two values of a of the queues, which start in the law of their mean."""
    queue_time: float = 1.0
    """Time for which the queues run."""
    queue_replicas: int = 2**15
    """Replicas of each of the two systems of queues."""

    def __post_init__(self) -> None:
        if not self.b > 0 or min(*self.family_a, *self.two_a) <= self.b:
            raise ValueError(f"family_a {self.family_a} and two_a {self.two_a}: all above b > 0")
        for name, densities in (("thin", self.thin), ("near_critical", self.near_critical)):
            if not all(0 < density < self.b for density in densities):
                raise ValueError(f"{name} are {densities}: densities below b = {self.b}")
        middle = self.family_a[len(self.family_a) // 2]
        if not middle - self.b < self.off_rate <= 2 * (middle - self.b):
            raise ValueError(
                f"off_rate is {self.off_rate}: above {middle - self.b:g}, at most twice that"
            )
        if self.num_ranks < 2 or min(self.replicas, self.escape_replicas, self.queue_replicas) < 32:
            raise ValueError("num_ranks of at least 2, and replicas of at least 32 of each kind")


def run(settings: Settings, *, seed: int, subject: Subject | None = None) -> Outcome:
    runs = simulate(settings, subject or Subject(), seed=seed)
    notes = [
        f"density {each.density:g}: kappa = {escape_rate(each.density, settings.b):.4f}, particles "
        f"left out matter with probability at most {each.truncation:.1g}"
        for each in runs.escapes
    ]
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs), notes)


def all_claims(runs: Runs) -> Iterator[Claim]:
    for kept in runs.family:
        yield from invariance_claims(kept)
    middle = runs.family[len(runs.family) // 2]
    yield from off_claims(runs.off, middle)
    yield from escape_claims(runs)
    yield from queue_claims(runs)


def late_mean(gaps: np.ndarray, part: slice) -> np.ndarray:
    """Average over the last three looks and the given gaps, shape (replica,)."""
    return gaps[-3:, :, part].mean(axis=(0, 2))


def invariance_claims(kept: Kept) -> Iterator[Claim]:
    """The lowest gap and the average of the next ones, each over its exact mean."""
    last = kept.gaps.shape[-1]
    for name, part in (("gap 1", slice(0, 1)), (f"gaps 2 to {last}", slice(1, None))):
        scale = float(np.mean(1 / kept.rates[part]))
        samples = late_mean(kept.gaps, part)
        # The control's mean is that of what was simulated, so that a wrong start stays wrong.
        start, mean = kept.gaps[0][:, part].mean(axis=1), kept.start_mean[part].mean()
        estimate = Estimate.from_samples(controlled(samples, start, np.array(mean)) / scale)
        coarse = late_mean(kept.coarse, part)
        bias = float(bias_bound(coarse, samples[: coarse.size])) / scale
        # Gaps that agree but on an event A have means within sqrt(E (G - G')^2 P(A)), at most
        # sqrt(8 P(A)) for two exponentials of mean 1.
        yield Claim(
            "P0.4",
            "Exp(a-b) x Exp(a) x ... is invariant for each a > b, the dynamics knowing b only.",
            f"b={kept.b:g}, start a={kept.a:g}: mean of {name} / exact mean",
            float(estimate.value),
            float(estimate.std_error),
            1.0,
            bias + (8 * kept.truncation) ** 0.5,
        )


def off_claims(off: Kept, stationary: Kept) -> Iterator[Claim]:
    """Off the law the lowest gap moves, and as far as reversibility says.

    Equal variances make the process reversible with respect to its invariant laws: with w the
    density of the start relative to the law, E_off X(t) = E[w(X(0)) X(t)] = E[X(0) w(X(t))],
    which a run in the law itself measures.
    """
    rate, own = off.rates[0], stationary.a - stationary.b
    lowest = slice(0, 1)

    def by_reversal(gaps: np.ndarray) -> np.ndarray:
        weight = rate / own * np.exp(-(rate - own) * gaps[-3:, :, 0])
        return gaps[0, :, 0] * weight.mean(axis=0)

    moved, expected = (
        Estimate.from_samples(controlled(samples, kept.gaps[0, :, 0], kept.start_mean[0]))
        for kept, samples in (
            (off, late_mean(off.gaps, lowest)),
            (stationary, by_reversal(stationary.gaps)),
        )
    )
    ratio = float(moved.value / expected.value)
    error = np.hypot(moved.std_error / moved.value, expected.std_error / expected.value)
    some = off.coarse.shape[1]
    bias = bias_bound(late_mean(off.coarse, lowest), late_mean(off.gaps[:, :some], lowest))
    bias = bias + bias_bound(by_reversal(stationary.coarse), by_reversal(stationary.gaps[:, :some]))
    yield Claim(
        "P0.4",
        "A start off the family, by its lowest gap, is not invariant.",
        f"a={off.a:g}, lowest rate {rate:g}, t={off.times[-3]:g} to {off.times[-1]:g}: E X_(1) / "
        "E X_(1) by reversal",
        ratio,
        ratio * float(error),
        1.0,
        float(bias / moved.value) + (8 * (off.truncation + stationary.truncation)) ** 0.5,
    )
    distance = abs(float(moved.value) - 1 / rate) / float(moved.std_error)
    yield Claim(
        "P0.4",
        "A start off the family, by its lowest gap, is not invariant.",
        f"a={off.a:g}, lowest rate {rate:g}: E X_(1) moved {_CLEAR:g} standard errors (1: yes)",
        float(distance > _CLEAR),
        0.0,
        1.0,
    )


def escape_claims(runs: Runs) -> Iterator[Claim]:
    for each in runs.escapes:
        if each.density not in runs.settings.thin:
            continue
        # Differences of means take off what does not grow. What is left of E X_(1) - kappa sqrt(t)
        # grows like log t at most, as it seems: slopes over four times later times are nearer by 2.
        slope, earlier = each.slope(1, 3), each.slope(0, 2)
        error = np.hypot(slope.std_error, earlier.std_error)
        late = float(abs(slope.value - earlier.value) + error)
        yield Claim(
            "P0.3",
            "From densities below b nothing stays: X_(1) grows like kappa sqrt(t).",
            f"b={runs.settings.b:g}, density {each.density:g}: slope of E X_(1) in sqrt(t), "
            f"t={each.times[1]:g} to {each.times[3]:g}",
            float(slope.value),
            float(slope.std_error),
            escape_rate(each.density, runs.settings.b),
            late + each.step_bias * float(slope.value) + each.truncation_bias(1, 3),
        )


def queue_claims(runs: Runs) -> Iterator[Claim]:
    queues = runs.queues
    last = queues.ranks.shape[2]
    for name, part in (("Q_(1)", slice(0, 1)), (f"Q_(2) to Q_({last})", slice(1, None))):
        ratio = queues.ratio(part)
        mean = float(queues.ranks[0, :, part].mean())
        yield Claim(
            "P0.3",
            "Queues with the same b and different a do the same from the same start.",
            f"n={queues.n}, t={queues.horizon:g}: mean {name} at a={queues.a[1]:g} / at "
            f"a={queues.a[0]:g}",
            float(ratio.value),
            float(ratio.std_error),
            1.0,
            queues.shift / mean,
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: from which start, when, which rank, with its error and its limit if any."""
    for kept, kind in [*((each, "in the law") for each in runs.family), (runs.off, "off the law")]:
        for time, gaps in zip(kept.times, kept.gaps, strict=True):
            estimate = Estimate.from_samples(np.cumsum(gaps, axis=1))
            stays = kind == "in the law"
            exact = np.cumsum(1 / kept.rates) if stays else np.full(kept.rates.size, np.nan)
            for k, value in enumerate(estimate.value):
                yield _row(
                    f"a={kept.a:g}, {kind}", time, k + 1, value, estimate.std_error[k], exact[k]
                )
    for each in runs.escapes:
        kappa = escape_rate(each.density, runs.settings.b)
        estimate = Estimate.from_samples(each.lowest.T)
        for i, time in enumerate(each.times):
            limit = kappa * time**0.5
            name = f"density {each.density:g}"
            yield _row(name, time, 1, estimate.value[i], estimate.std_error[i], limit)
    for a, ranks in zip(runs.queues.a, runs.queues.ranks, strict=True):
        estimate = Estimate.from_samples(ranks)
        for k, value in enumerate(estimate.value):
            name = f"queues, n={runs.queues.n}, a={a:g}"
            yield _row(name, runs.queues.horizon, k + 1, value, estimate.std_error[k], np.nan)


def _row(start, time, rank, value, error, theory) -> dict[str, object]:
    return {
        "start": start,
        "time": float(time),
        "rank": rank,
        "mean_position": float(value),
        "std_error": float(error),
        "theory": float(theory),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P0",
    Settings(),
    Settings(
        num_particles=64,
        horizon=2.0,
        replicas=2**13,
        thin=(0.25,),
        near_critical=(),
        escape_time=64.0,
        escape_replicas=2**12,
        n=256,
        queue_replicas=2**12,
    ),
    run,
)
