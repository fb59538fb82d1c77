"""Travel makes join-the-shortest-queue oscillate, and a small fraction of it is better than all.

Two stations. Without travel the exact identities of marginal JSQ are held; without information the
stations are independent M/M/1 queues whatever the travel time. With travel JSQ is worse than no
information, the queues' difference oscillates with a period near four travel times, and the waits
are those of an independent program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._flat_minimum import Minimum, find_minimum
from ._frame import Claim, Experiment, Outcome, spawn_seed
from ._oscillation import Oscillation, diffusion_oscillation, queue_oscillation
from ._remote_queues_figure import draw
from ._remote_waits import Waits, measure, shortfall

# Mean waits at load .95 and travel time 20 by an independent program, and their error.
REFERENCE = {
    0.0: 19.02,
    0.02: 16.45,
    0.05: 14.71,
    0.1: 13.46,
    0.15: 13.17,
    0.2: 13.20,
    0.3: 13.76,
    1.0: 23.52,
}
_REFERENCE_ERROR = 0.12
# How far from four delays a period still counts as near, and how much worse a rule may be.
_NEAR, _RULE_MARGIN = 0.1, 0.1


@dataclass(frozen=True)
class Settings:
    load: float = 0.95
    """Load of the two stations."""
    delay: float = 20.0
    """Travel time, in mean services."""
    chi: tuple[float, ...] = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
    """Fractions that go to the shorter queue, ascending from 0 to 1."""
    jobs: float = 2e7
    """Jobs of each run, all replicas together."""
    replicas: int = 32
    """Replicas of each run."""
    num_looks: int = 2048
    """Looks at the difference, eight a travel time."""

    def __post_init__(self) -> None:
        if not (self.chi[0] == 0.0 and self.chi[-1] == 1.0 and len(self.chi) >= 6):
            raise ValueError(f"chi is {self.chi}: give at least 6 fractions from 0 to 1")
        if self.replicas < 8 or not self.delay > 0:
            raise ValueError("give at least 8 replicas, for an error, and a positive delay")


@dataclass(frozen=True)
class Runs:
    """All that was simulated: waits over chi by delay, rules, and oscillations at the delay."""

    settings: Settings
    sweeps: dict[float, list[Waits]]
    rules: dict[str, Waits]
    best: Minimum
    full: Oscillation
    some: Oscillation
    diffusion: Oscillation
    some_chi: float

    def rule_ratios(self) -> dict[str, Estimate]:
        """Mean wait under each rule over the least over chi."""
        best = float(self.best.least.value)
        sweep = self.sweeps[self.settings.delay]
        nearest = min(sweep, key=lambda each: float(each.mean_wait.value))
        # Against the best run on the same random numbers, and that against the fitted curve.
        above = float(nearest.mean_wait.value) - best
        return {
            name: Estimate.from_samples(1 + (each.wait - nearest.wait + above) / best)
            for name, each in self.rules.items()
        }


def run(settings: Settings, *, seed: int) -> Outcome:
    runs = simulate(settings, seed=seed)
    best = runs.best
    notes = [
        f"Travel time {settings.delay:g}: the mean wait is least at chi = "
        f"{float(best.place.value):.3f} +- {float(best.place.std_error):.3f}, "
        f"{float(best.least.value):.2f}; without information {float(_exact(settings)):.2f}, "
        f"with all of it {float(runs.sweeps[settings.delay][-1].mean_wait.value):.2f}."
    ]
    return Outcome(list(claims(runs)), list(rows(runs)), draw(runs), notes)


def simulate(settings: Settings, *, seed: int) -> Runs:
    """Run everything; all waits at one delay share their random numbers."""

    def stations(delay: float, chi) -> queueing.Remote:
        return queueing.remote([1.0, 1.0], settings.load, delay, chi)

    def waits(delay: float, chi, index: int) -> Waits:
        return measure(
            stations(delay, chi),
            jobs=settings.jobs,
            replicas=settings.replicas,
            seed=spawn_seed(seed, index),
        )

    sweeps = {
        delay: [waits(delay, chi, index) for chi in settings.chi]
        for index, delay in enumerate((0.0, settings.delay))
    }
    rules = {
        name: waits(settings.delay, rule, 1)
        for name, rule in (
            ("root of excess", queueing.RootOfExcess()),
            ("1/root of delay", queueing.ReciprocalRootOfDelay()),
            ("delay optimum", queueing.DelayOptimum()),
        )
    }
    inner = [each for each in sweeps[settings.delay] if 0 < each.chi < 1]
    place = np.array([each.chi for each in inner])
    looks = dict(num_looks=settings.num_looks, replicas=settings.replicas)
    some = settings.chi[len(settings.chi) // 2]
    return Runs(
        settings,
        sweeps,
        rules,
        find_minimum(place, np.array([each.wait for each in inner])),
        queue_oscillation(stations(settings.delay, 1.0), **looks, seed=spawn_seed(seed, 2)),
        queue_oscillation(stations(settings.delay, some), **looks, seed=spawn_seed(seed, 3)),
        diffusion_oscillation(stations(settings.delay, 1.0), **looks, seed=spawn_seed(seed, 4)),
        some,
    )


def claims(runs: Runs) -> Iterator[Claim]:
    """Exact where it can be, then the paper's, then the independent program's numbers."""
    yield from exact_claims(runs)
    yield from oscillation_claims(runs)
    yield from rule_claims(runs)
    settings = runs.settings
    if settings.load == 0.95 and settings.delay == 20.0:
        for each in runs.sweeps[20.0]:
            if each.chi in REFERENCE:
                error = float(np.hypot(each.mean_wait.std_error, _REFERENCE_ERROR))
                yield Claim(
                    "P4.1",
                    "Mean waits are those of an independent program.",
                    f"load .95, travel time 20, chi={each.chi:g}: mean wait",
                    float(each.mean_wait.value),
                    error,
                    REFERENCE[each.chi],
                )


def _exact(settings: Settings) -> float:
    """The mean wait of an M/M/1 queue."""
    return settings.load / (1 - settings.load)


def exact_claims(runs: Runs) -> Iterator[Claim]:
    settings = runs.settings
    load = settings.load
    for delay, sweep in runs.sweeps.items():
        alone = sweep[0].mean_wait
        yield Claim(
            "P4.1",
            "Without information stations are independent M/M/1 queues, however far away.",
            f"chi=0, travel time {delay:g}: mean wait",
            float(alone.value),
            float(alone.std_error),
            _exact(settings),
            dof=float(alone.dof),
        )
    for each in runs.sweeps[0.0]:
        uniform, special = load * (1 - each.chi), 2 * load * each.chi
        label = f"travel time 0, chi={each.chi:g}: "
        square = Estimate.from_samples((1 - uniform) * each.total - special * each.shortest)
        tie = Estimate.from_samples(each.prob_tie)
        statement = "Without travel it is marginal JSQ: its exact identities hold."
        for quantity, estimate, theory in (
            ("(1 - lambda) E total - beta E Q_(1)", square, 2 * uniform + special),
            ("P(tie)", tie, (1 - uniform) / (1 + uniform + special)),
        ):
            yield Claim(
                "P4.1",
                statement,
                label + quantity,
                float(estimate.value),
                float(estimate.std_error),
                theory,
                dof=float(estimate.dof),
            )


def oscillation_claims(runs: Runs) -> Iterator[Claim]:
    delay, full = runs.settings.delay, runs.full.period
    yield Claim(
        "P4.1",
        "Under JSQ the queues' difference oscillates with a period near four travel times.",
        f"travel time {delay:g}, JSQ: period / (4 travel times)",
        float(full.value),
        float(full.std_error),
        1.0,
        _NEAR,
        float(full.dof),
    )
    diffusion = runs.diffusion.period
    yield Claim(
        "P4.1",
        "The delay diffusion oscillates as the queues do.",
        f"travel time {delay:g}, JSQ: period / period of the delay diffusion",
        float(full.value / diffusion.value),
        float(np.hypot(full.std_error, diffusion.std_error) / diffusion.value),
        1.0,
        0.02,
        float(full.dof),
    )
    sweep = runs.sweeps[delay]
    worse, error, dof = shortfall(Estimate.from_samples(sweep[-1].wait - sweep[0].wait))
    yield Claim(
        "P4.1",
        "With this travel time JSQ is worse than no information.",
        f"travel time {delay:g}: min(0, mean wait of JSQ - that without information)",
        worse,
        error,
        0.0,
        dof=dof,
    )


def rule_claims(runs: Runs) -> Iterator[Claim]:
    for name, ratio in runs.rule_ratios().items():
        yield Claim(
            "P4.4",
            "A rule of thumb for chi waits at most a tenth longer than the best chi.",
            f"{name}, chi={runs.rules[name].chi:.3f}: mean wait / least",
            float(ratio.value),
            float(ratio.std_error),
            1.0,
            _RULE_MARGIN,
            float(ratio.dof),
        )


def rows(runs: Runs) -> Iterator[dict[str, object]]:
    """Long format: every run with its errors."""
    labelled = [("sweep", each) for sweep in runs.sweeps.values() for each in sweep]
    labelled += list(runs.rules.items())
    for name, each in labelled:
        yield {
            "chosen_by": name,
            "travel_time": each.regime.mean_travel_time,
            "chi": each.chi,
            "wait": float(each.mean_wait.value),
            "wait_std_error": float(each.mean_wait.std_error),
            "time_to_service": float(each.mean_time_to_service.value),
            "imbalance": float(each.imbalance.mean()),
            "total": float(each.total.mean()),
        }


EXPERIMENT: Experiment[Settings] = Experiment(
    "P4",
    Settings(),
    Settings(chi=(0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0), jobs=5e5, replicas=16, num_looks=1024),
    run,
)
