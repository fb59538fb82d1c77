"""Stationary laws at finite n against the product law: the limits interchange, at rate 1/sqrt(n).

n first: the limiting diffusion, from all at the floor, after a long time. Time first: stationary
queues at n = 25 to 10^4; for two servers by linear algebra, for more by long runs that take exact
identities of the chain as control variates. Both are held to the product of exponentials, and the
errors at finite n to the exponent -1/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import atlas
from atlas.ensemble import Estimate

from ._frame import Claim, Experiment, Outcome, PowerLaw, bias_bound, fit_power_law, spawn_seed
from ._interchange_figure import draw
from ._large_n import large_n_limit
from ._rank_rules import RankRule, shortest
from ._thin_streams import LongAverages, ThinStream, long_averages
from ._two_servers import ROUNDING, TABLE, TwoServers, two_servers

_MEANS = (
    "E gap 1 / sqrt(n)",
    "E gap 2 / sqrt(n)",
    "E total / sqrt(n)",
    "P(shorter queue empty)",
    "P(tie)",
)


@dataclass(frozen=True)
class Settings:
    num_servers: int = 3
    """Number K of servers of the long runs."""
    slack: float = 1.0
    """Slack v > 0."""
    b: float = 1.0
    """Strength of the thin stream, all of it to the shortest queue."""
    exact_sizes: tuple[int, ...] = (25, 100, 400, 1600)
    """Rates n of the two servers that are solved exactly, at least four, ascending."""
    tail: float = 20.0
    """Their lengths are cut where the limit has exp(-tail) left."""
    sizes: tuple[int, ...] = (25, 100, 400, 1600)
    """Rates n of the long runs, ascending, each four times the former, at least four."""
    horizon: float = 800.0
    """Time that each replica is averaged over."""
    warmup: float = 50.0
    """Time before that, from the law of the limit."""
    replicas: int = 128
    """Replicas of each size."""
    largest: int = 10_000
    """One more size, above the others, and shorter by `largest_share`."""
    largest_share: float = 0.125
    """Horizon at `largest` over `horizon`."""
    diffusion_horizon: float = 120.0
    """Time that the limit runs from all at the floor; it forgets its start in about 20."""
    step: float = 0.02
    """Step of the limit, compared with its double."""
    paths: int = 2**15
    """Paths of the limit."""

    def __post_init__(self) -> None:
        if len(self.exact_sizes) < 4 or any(a >= b for a, b in pairwise(self.exact_sizes)):
            raise ValueError(f"exact_sizes are {self.exact_sizes}: at least four, ascending")
        if len(self.sizes) < 4 or any(b != 4 * a for a, b in pairwise(self.sizes)):
            raise ValueError(f"sizes are {self.sizes}: at least four, each four times the former")
        if self.largest <= self.sizes[-1] or not 0 < self.largest_share <= 1:
            raise ValueError(
                f"largest is {self.largest} for the share {self.largest_share} of the horizon: "
                "give a size above the others, and a share in (0, 1]"
            )
        if self.replicas < self.num_servers + 16 or self.paths < 20:
            raise ValueError(
                f"replicas is {self.replicas}, paths {self.paths}: give at least num_servers + 16 "
                "and 20, for errors"
            )


@dataclass(frozen=True)
class Runs:
    """All that was computed.

    Arguments:
        exact: two servers, ascending in n.
        long: long runs, ascending in n, the largest last.
        diffusion: gaps of the limit at the end of its horizon, (replica, gap), at the step.
        diffusion_bias: bound on the bias of their means.
    """

    settings: Settings
    exact: list[TwoServers]
    long: list[LongAverages]
    diffusion: np.ndarray
    diffusion_bias: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """(K,) rates of the product law."""
        return self.long[0].stream.rates

    @property
    def total(self) -> float:
        """Mean total of the product law."""
        return float(np.sum(np.arange(self.rates.size, 0, -1) / self.rates))


def simulate(settings: Settings, *, seed: int, rule: Callable[[int], RankRule] = shortest) -> Runs:
    """Compute everything; the tests pass a rule whose policy is not what it says."""
    exact = [
        two_servers(n, settings.slack, settings.b, settings.tail) for n in settings.exact_sizes
    ]
    long = [
        long_averages(
            ThinStream(
                settings.num_servers, n, settings.slack, settings.b, rule(settings.num_servers)
            ),
            horizon=settings.horizon * (settings.largest_share if n == settings.largest else 1),
            warmup=settings.warmup * (settings.largest_share if n == settings.largest else 1),
            replicas=settings.replicas,
            seed=spawn_seed(seed, 0, i),
        )
        for i, n in enumerate((*settings.sizes, settings.largest))
    ]
    return Runs(settings, exact, long, *_diffusion(settings, spawn_seed(seed, 1)))


def _diffusion(settings: Settings, key: int) -> tuple[np.ndarray, np.ndarray]:
    count = settings.num_servers
    drifts = -(settings.slack + settings.b) / count + settings.b * shortest(count).probs
    model = atlas.first_order(drifts, np.full(count, 2.0), floor=True)

    def gaps(step: float, noise_step: float | None, replicas: int) -> np.ndarray:
        return atlas.simulate(
            model,
            atlas.Splitting(step=step),
            horizon=settings.diffusion_horizon,
            initial="empty",
            replicas=replicas,
            key=key,
            noise_step=noise_step,
        ).gaps[-1]

    fine = gaps(settings.step, None, settings.paths)
    coarse = gaps(2 * settings.step, settings.step, settings.paths)
    return fine.astype(float), bias_bound(coarse, fine)


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    return Outcome(list(all_claims(runs)), list(rows(runs)), draw(runs, fits(runs)))


def all_claims(runs: Runs) -> Iterator[Claim]:
    yield from table_claims()
    yield from order_claims(runs)
    yield from limit_claims(runs)


def table_claims() -> Iterator[Claim]:
    """The oracle against an independent program, where there is no noise."""
    for reference in TABLE:
        found = two_servers(reference.n, reference.slack, reference.b)
        label = f"two servers, n={reference.n}, v={reference.slack:g}, b={reference.b:g}"
        for name, value, theory in zip(_MEANS, found.means, reference[3:], strict=True):
            yield Claim(
                "P1.2",
                "Means of two servers at finite n, exact.",
                f"{label}: {name}",
                float(value),
                0.0,
                float(theory),
                found.truncation + ROUNDING,
            )


def fits(runs: Runs) -> dict[str, tuple[PowerLaw, PowerLaw]]:
    """Errors at finite n as power laws, without and with a correction 1/sqrt(n), by name."""
    sizes = np.array(runs.settings.exact_sizes, float)
    distances = np.array([each.distance for each in runs.exact])
    lowest = np.array([each.means[0] - 1 / each.rates[0] for each in runs.exact])
    found = {
        f"two servers, exact: {name}": _both(sizes, values, (1e-3 * values) ** 2)
        for name, values in (("sup |joint law - product|", distances), (_MEANS[0], lowest))
    }
    sizes = np.array([run.stream.n for run in runs.long], float)
    totals = [run.total for run in runs.long]
    errors = np.array([float(each.value) - runs.total for each in totals])
    variances = np.array([float(each.std_error) ** 2 for each in totals])
    found[f"{runs.settings.num_servers} servers: {_MEANS[2]}"] = _both(sizes, errors, variances)
    return found


def _both(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> tuple[PowerLaw, PowerLaw]:
    return fit_power_law(x, y, variances), fit_power_law(x, y, variances, correction=-0.5)


def order_claims(runs: Runs) -> Iterator[Claim]:
    """The exponent; what the correction leaves undone is bounded by half of what it did."""
    for name, (plain, corrected) in fits(runs).items():
        yield Claim(
            "P1.2",
            "Stationary laws approach the product law like 1/sqrt(n).",
            f"{name}: exponent of n in the error",
            corrected.exponent,
            0.0 if name.startswith("two servers") else corrected.exponent_error,
            -0.5,
            abs(corrected.exponent - plain.exponent) / 2,
        )


def limit_claims(runs: Runs) -> Iterator[Claim]:
    statement = "The stationary laws tend to the product of exponentials, in either order."
    settings, last = runs.settings, runs.long[-4:-1]
    names = [f"E gap {k + 1}" for k in range(runs.rates.size)]
    limit, bound = large_n_limit([run.gaps for run in last])
    end = Estimate.from_samples(runs.diffusion)
    for k, name in enumerate(names):
        yield Claim(
            "P1.2",
            statement,
            f"time first, then n (extrapolated): {name} / sqrt(n)",
            float(limit.value[k]),
            float(limit.std_error[k]),
            1 / float(runs.rates[k]),
            float(bound[k]),
            float(limit.dof[k]),
        )
        yield Claim(
            "P1.2",
            statement,
            f"n first, then time (t={settings.diffusion_horizon:g} from the floor): {name}",
            float(end.value[k]),
            float(end.std_error[k]),
            1 / float(runs.rates[k]),
            float(runs.diffusion_bias[k]),
        )
    total, total_bound = large_n_limit([run.total for run in last])
    yield Claim(
        "P1.2",
        statement,
        "time first, then n (extrapolated): E total / sqrt(n)",
        float(total.value),
        float(total.std_error),
        runs.total,
        float(total_bound),
        float(total.dof),
    )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Each n: two servers exactly, then the long runs with errors."""
    for each in runs.exact:
        yield _row("two servers, exact", each.n, "sup |joint law - product|", each.distance, 0, 0)
        limits = [*(1 / each.rates), float(np.sum([2, 1] / each.rates)), 0.0, 0.0]
        for name, value, limit in zip(_MEANS, each.means, limits, strict=True):
            yield _row("two servers, exact", each.n, name, value, 0, limit)
    label = f"{runs.settings.num_servers} servers, long runs"
    for run in runs.long:
        for k, rate in enumerate(runs.rates):
            gap = run.gaps[k]
            name = f"E gap {k + 1} / sqrt(n)"
            yield _row(label, run.stream.n, name, gap.value, gap.std_error, 1 / rate)
        total = run.total
        yield _row(label, run.stream.n, _MEANS[2], total.value, total.std_error, runs.total)


def _row(system: str, n: int, quantity: str, value, error, limit) -> dict[str, object]:
    return {
        "system": system,
        "n": n,
        "quantity": quantity,
        "value": float(value),
        "std_error": float(error),
        "limit": float(limit),
    }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P1",
    Settings(),
    Settings(
        exact_sizes=(9, 25, 64, 144),
        sizes=(4, 16, 64, 256),
        horizon=150.0,
        warmup=30.0,
        replicas=64,
        largest=1024,
        diffusion_horizon=80.0,
        step=0.05,
        paths=2**13,
    ),
    run,
)
