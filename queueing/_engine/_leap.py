"""Engine "leap": from one arrival by rank to the next in one exact leap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._alias import alias_table
from ._base import Engine, Run, Window
from ._classes import server_classes
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
        system, policy = subject.routed
        if not system.is_markov:
            return f"service is {system.service!r}; give service=Exponential()"
        if system.buffer is not None:
            return f"buffer is {system.buffer}, felt between special arrivals; use engine='markov'"
        if policy.law(system) is None:
            return f"{policy!r} does not route by ranks; use engine='markov'"
        return None

    def check_windows(self, subject: Subject, duration: float) -> None:
        """Refuse windows in which hardly any special arrival looks at the state."""
        looks = _special_rate(subject) * duration / _stride(subject.num_servers)
        if looks < _MIN_LOOKS:
            raise ValueError(
                f"engine 'leap' averages over the states that special arrivals find, of which about"
                f" {looks:.3g} are looked at in each of the windows of length {duration:.6g}, less "
                f"than {_MIN_LOOKS:g}; raise horizon, or use engine='markov'"
            )

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        shared = _share(subject, plan)
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
    service_rates: np.ndarray
    plan: SamplingPlan | None


def _share(subject: Subject, plan: SamplingPlan | None) -> _Shared:
    system, law = subject.routed[0], _law(subject)
    arrivals = system.arrival_rate * law.by_server
    rates, servers, bounds = server_classes(arrivals, system.service_rates)
    num_ranks = int(np.flatnonzero(law.by_rank)[-1]) + 1 if law.by_rank.any() else 0
    leap_system = LeapSystem(
        system.arrival_rate * float(law.by_rank.sum()),
        *alias_table(law.by_rank[:num_ranks]),
        bounds,
        np.ascontiguousarray(rates[:, 0]),
        np.ascontiguousarray(rates[:, 1]),
        float(rates.max()),
    )
    return _Shared(leap_system, servers, law, system.service_rates, plan)


def _law(subject: Subject) -> RoutingLaw:
    system, policy = subject.routed
    law = policy.law(system)
    assert law is not None
    return law


def _special_rate(subject: Subject) -> float:
    return subject.routed[0].arrival_rate * float(_law(subject).by_rank.sum())


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
            np.argsort(self._lengths[:size], kind="stable"),
            np.zeros((2, size)),
            np.ones(1, np.int64),
        )

    def lengths(self) -> np.ndarray:
        return self._by_name(self._lengths)

    def advance(self, duration: float) -> None:
        self._leap(duration, EMPTY_SAMPLER, False)

    def average(self, duration: float) -> Window:
        plan = self._shared.plan
        assert plan is not None
        sums = self._sums
        sums.ranks[:] = 0.0
        sampler, collected = plan.open(_stride(self._lengths.size))
        left = duration
        while left > 0.0:
            left = self._leap(left, sampler, True)
            collected.take(sampler)
        num_looks = int(sampler.count[0])
        if num_looks == 0:
            raise ValueError("no special arrival came in a window; raise horizon")
        means = plan.close(sampler, collected)
        for name in ("lengths", "utilisation"):
            means[name] = self._by_name(means[name])
        ranks = sums.ranks / num_looks
        means["lengths_ranked"] = ranks[0]
        means["idle_servers"] = (1.0 - ranks[1]).sum()
        means["throughput"] = self._shared.service_rates * means["utilisation"]
        by_server = np.stack([means["lengths"], means["utilisation"]])
        return Window(means, self._job_sums(num_looks, ranks, by_server), float(num_looks))

    def _by_name(self, by_class: np.ndarray) -> np.ndarray:
        """Values of servers in the order of their classes, in the order of their names."""
        by_name = np.empty_like(by_class)
        by_name[self._shared.servers] = by_class
        return by_name

    def _job_sums(
        self, num_looks: int, ranks: np.ndarray, by_server: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Jobs are not seen one by one: for every look, one job as it would have fared (PASTA)."""
        law, rates = self._shared.law, self._shared.service_rates
        jobs = np.float64(num_looks)
        sums = {
            "accepted": jobs,
            "lost": np.float64(0.0),
            "waited": jobs * (law.by_rank @ ranks[1] + law.by_server @ by_server[1]),
        }
        if (rates == rates[0]).all() and rates[0] > 0.0:
            found = law.by_rank @ ranks[0] + law.by_server @ by_server[0]
            sums["wait"] = jobs * found / rates[0]
            sums["service"] = jobs / rates[0]
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
