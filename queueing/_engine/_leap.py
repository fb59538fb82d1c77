"""Engine "leap": a thin stream by rank, everything between two of its arrivals in one exact leap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._alias import alias_table
from ._base import Engine, Run, Window
from ._leap_interval import make_leap_scratch, make_leap_tables
from ._leap_loop import LeapSums, LeapSystem, run_leaps
from ._sampler import EMPTY_SAMPLER, Sampler
from ._xoshiro import make_bank

if TYPE_CHECKING:
    from .._policy import RoutingLaw
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Looking at a state costs as much as a few leaps; small systems are dominated by their tables.
_STRIDE = 4
_SMALL = 64
_MIN_LOOKS = 16.0


class LeapEngine(Engine):
    """Exact leaps between the arrivals of the stream that is routed by rank.

    Between two such arrivals the servers are independent M/M/1 queues over a common interval.
    Averages are over the states that special arrivals find: a Poisson stream sees time averages.
    """

    name = "leap"

    def refusal(self, subject: Subject) -> str | None:
        """Refuses buffers, other services, and policies that look at the state otherwise."""
        if subject.policy is None:
            return "a system with pauses has no special stream; use engine='pauses'"
        system = subject.system
        if not system.is_markov:
            return f"service is {system.service!r}; give service=Exponential()"
        if system.buffer is not None:
            return f"buffer is {system.buffer}, which queues feel between arrivals; use engine='markov'"
        if subject.policy.law(system) is None:
            return f"{subject.policy!r} does not route by ranks; use engine='markov'"
        return None

    def check_windows(self, subject: Subject, duration: float) -> None:
        """Refuse windows in which hardly any special arrival looks at the state."""
        looks = _special_rate(subject) * duration / _stride(subject.num_servers)
        if looks < _MIN_LOOKS:
            raise ValueError(
                f"engine 'leap' averages over the states that special arrivals find, of which about "
                f"{looks:.3g} are looked at in each of the windows of length {duration:.6g}, fewer "
                f"than {_MIN_LOOKS:g}; raise horizon, or use engine='markov'"
            )

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        law = subject.policy.law(subject.system)
        shared = _share(subject.system, law, plan)
        return lambda lengths, sequence: _LeapRun(shared, lengths, sequence)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all replicas have in common.

    Attributes:
        servers: (K,) the servers in the order of their classes.
    """

    leap_system: LeapSystem
    servers: np.ndarray
    law: RoutingLaw
    arrival_rate: float
    service_rates: np.ndarray
    plan: SamplingPlan | None


def _share(system: Any, law: RoutingLaw, plan: SamplingPlan | None) -> _Shared:
    arrivals = system.arrival_rate * law.by_server
    pairs = np.stack([arrivals, system.service_rates], axis=1)
    rates, class_of = np.unique(pairs, axis=0, return_inverse=True)
    servers = np.argsort(class_of.ravel(), kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(class_of.ravel()))))
    num_ranks = int(np.flatnonzero(law.by_rank)[-1]) + 1 if law.by_rank.any() else 0
    leap_system = LeapSystem(
        system.arrival_rate * float(law.by_rank.sum()),
        *alias_table(law.by_rank[:num_ranks]),
        bounds,
        np.ascontiguousarray(rates[:, 0]),
        np.ascontiguousarray(rates[:, 1]),
        float(rates.max()),
    )
    return _Shared(leap_system, servers, law, system.arrival_rate, system.service_rates, plan)


def _special_rate(subject: Subject) -> float:
    return subject.system.arrival_rate * float(subject.policy.law(subject.system).by_rank.sum())


def _stride(num_servers: int) -> int:
    return 1 if num_servers <= _SMALL else _STRIDE


class _LeapRun(Run):
    def __init__(self, shared: _Shared, lengths: np.ndarray, sequence: Any) -> None:
        self._shared = shared
        self._lengths = np.array(lengths, np.int64)[shared.servers]
        self._bank = make_bank(sequence)
        self._tables = make_leap_tables()
        self._scratch = make_leap_scratch(lengths.size)
        size = lengths.size if shared.plan is not None else 0
        self._sums = LeapSums(
            np.argsort(self._lengths, kind="stable"),
            np.zeros((2, size)),
            np.zeros((2, size)),
            np.ones(1, np.int64),
        )

    def lengths(self) -> np.ndarray:
        lengths = np.empty_like(self._lengths)
        lengths[self._shared.servers] = self._lengths
        return lengths

    def advance(self, duration: float) -> None:
        self._leap(duration, EMPTY_SAMPLER, False)

    def average(self, duration: float) -> Window:
        plan = self._shared.plan
        assert plan is not None
        sums = self._sums
        sums.ranks[:], sums.servers[:] = 0.0, 0.0
        sampler, collected = plan.open(_stride(self._lengths.size))
        left = duration
        while left > 0.0:
            left = self._leap(left, sampler, True)
            collected.take(sampler)
        num_looks = int(sampler.count[0])
        if num_looks == 0:
            raise ValueError("no special arrival came in a window; raise horizon")
        by_server = np.empty((2, self._lengths.size))
        by_server[:, self._shared.servers] = sums.servers / num_looks
        ranks = sums.ranks / num_looks
        means = {
            "lengths_ranked": ranks[0],
            "idle_servers": (1.0 - ranks[1]).sum(),
            "lengths": by_server[0],
            "utilisation": by_server[1],
            **plan.close(sampler, collected),
        }
        return Window(means, self._job_sums(duration, ranks, by_server), float(num_looks))

    def _job_sums(self, duration: float, ranks: np.ndarray, by_server: np.ndarray) -> dict[str, Any]:
        """Jobs are not seen one by one; their expected sums follow from the states (PASTA)."""
        shared, law = self._shared, self._shared.law
        num_jobs = shared.arrival_rate * duration
        sums = {
            "duration": np.float64(duration),
            "accepted": np.float64(num_jobs),
            "lost": np.float64(0.0),
            "waited": num_jobs * (law.by_rank @ ranks[1] + law.by_server @ by_server[1]),
            "served": duration * shared.service_rates * by_server[1],
        }
        rates = shared.service_rates
        if (rates == rates[0]).all() and rates[0] > 0.0:
            found = law.by_rank @ ranks[0] + law.by_server @ by_server[0]
            sums["wait"] = num_jobs * found / rates[0]
            sums["service"] = np.float64(num_jobs / rates[0])
        return sums

    def _leap(self, duration: float, sampler: Sampler, averages: bool) -> float:
        return run_leaps(
            self._lengths,
            duration,
            self._shared.leap_system,
            self._bank,
            self._tables,
            self._scratch,
            self._sums,
            sampler,
            averages,
        )
