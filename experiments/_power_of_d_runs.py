"""What `power_of_d` simulates: occupancies of finitely many servers beside the mean field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import queueing
from atlas.ensemble import Estimate

from ._frame import spawn_seed
from ._server_profiles import EQUAL, HALVES, Profile

if TYPE_CHECKING:
    from .power_of_d import Settings

# Time that is left out of averages, from a start at the mean field's fixed point.
_WARMUP = 30.0

PolicyFactory = Callable[[int], queueing.Policy]


@dataclass(frozen=True)
class Case:
    """One rule at one kind of servers.

    Arguments:
        num_choices: d.
        profile: the servers' speeds.
        buffer: most jobs at a server, or None.
    """

    num_choices: int
    profile: Profile = EQUAL
    buffer: int | None = None

    @property
    def label(self) -> str:
        buffer = "" if self.buffer is None else f", buffer {self.buffer}"
        return f"d={self.num_choices}, {self.profile.name}{buffer}"

    def mean_field(self, load: float) -> queueing.PowerOfDMeanField:
        return queueing.PowerOfDMeanField(
            self.num_choices, load, self.profile.rates, self.profile.shares, self.buffer
        )

    def system(self, count: int, load: float) -> queueing.System:
        rates = self.profile.service_rates(count)
        return queueing.System(rates, load * count, buffer=self.buffer)

    def start(self, count: int, load: float) -> np.ndarray:
        """(N,) lengths in the proportions of the fixed point, class by class."""
        rates = self.system(count, load).service_rates
        by_class = self.mean_field(load).fixed_point().by_class
        lengths = [
            (share[:, None] > (np.arange(size) + 0.5) / size).sum(axis=0)
            for share, size in zip(by_class, _class_sizes(rates), strict=True)
        ]
        return np.concatenate(lengths).astype(np.int64)


def _class_sizes(rates: np.ndarray) -> np.ndarray:
    """Servers of each speed, in the order in which they stand."""
    starts = np.flatnonzero(np.diff(rates, prepend=np.nan) != 0)
    return np.diff(starts, append=rates.size)


@dataclass(frozen=True)
class Finite:
    """Long runs of a case, ascending in N: occupancies, losses and what has to wait."""

    case: Case
    occupancy: list[Estimate]
    prob_loss: list[Estimate]
    prob_wait: list[Estimate]


@dataclass(frozen=True)
class Runs:
    """All that was simulated.

    Arguments:
        long_runs: every case.
        transient: (time, level) occupancies from empty, ascending in N, of d = 2.
    """

    settings: Settings
    long_runs: list[Finite]
    transient: list[Estimate]


def cases(settings: Settings) -> list[Case]:
    """Several d, then unequal speeds, then a buffer."""
    unequal = Case(2, HALVES, settings.buffer)
    return [*map(Case, settings.choices), Case(2, EQUAL, settings.buffer), unequal]


def simulate(
    settings: Settings, *, seed: int, policy_of: PolicyFactory = queueing.PowerOfD
) -> Runs:
    """Run everything; `policy_of` makes the rule of d choices that is simulated."""
    long_runs = [
        _finite(settings, case, policy_of, spawn_seed(seed, 0, i))
        for i, case in enumerate(cases(settings))
    ]
    transient = [
        queueing.simulate(
            Case(2).system(n, settings.load),
            policy_of(2),
            times=settings.times,
            # As many servers at every size, so that the errors are the same.
            replicas=max(settings.transient_servers // n, 20),
            seed=spawn_seed(seed, 1, i),
            num_ranks=1,
            num_levels=settings.num_levels,
            engine="markov",
        ).estimate("occupancy")
        for i, n in enumerate(settings.sizes)
    ]
    return Runs(settings, long_runs, transient)


def _finite(settings: Settings, case: Case, policy_of: PolicyFactory, seed: int) -> Finite:
    runs = [
        queueing.long_run(
            case.system(n, settings.load),
            policy_of(case.num_choices),
            horizon=_WARMUP + settings.events / (2 * n * settings.replicas),
            warmup=_WARMUP,
            initial=case.start(n, settings.load),
            replicas=settings.replicas,
            seed=spawn_seed(seed, j),
            num_ranks=1,
            num_levels=settings.num_levels,
            engine="markov",
        )
        for j, n in enumerate(settings.sizes)
    ]
    return Finite(
        case,
        [run.estimate("occupancy") for run in runs],
        [run.estimate("prob_loss") for run in runs],
        [run.estimate("prob_wait") for run in runs],
    )
