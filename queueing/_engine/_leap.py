"""Engine "leap": from one arrival by rank to the next in one exact leap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Engine, Run, Window
from ._leap_batch import LeapBatch
from ._leap_interval import make_leap_scratch, make_leap_tables
from ._leap_loop import LeapSums, run_leaps
from ._leap_subject import LeapSubject, leap_refusal, leap_subject, special_rate
from ._sampler import EMPTY_SAMPLER, Sampler
from ._xoshiro import make_bank

if TYPE_CHECKING:
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
        return leap_refusal(subject)

    def window_refusal(self, subject: Subject, duration: float) -> str | None:
        """Refuses windows in which hardly any special arrival looks at the state."""
        looks = special_rate(subject) * duration / _stride(subject.num_servers)
        if looks >= _MIN_LOOKS:
            return None
        return (
            f"engine 'leap' averages over the states that special arrivals find, of which about"
            f" {looks:.3g} are looked at in each of the windows of length {duration:.6g}, less "
            f"than {_MIN_LOOKS:g}; raise horizon, or use engine='markov'"
        )

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """A function (lengths, sequence) -> Run."""
        shared = leap_subject(subject)
        return lambda lengths, sequence: _LeapRun(shared, plan, lengths, sequence)

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch."""
        shared = leap_subject(subject)
        return lambda lengths, seed, replicas: LeapBatch(shared, lengths, seed, replicas)


def _stride(num_servers: int) -> int:
    return 1 if num_servers <= _SMALL else _STRIDE


class _LeapRun(Run):
    def __init__(
        self, shared: LeapSubject, plan: SamplingPlan | None, lengths: np.ndarray, sequence: Any
    ) -> None:
        self._shared = shared
        self._plan = plan
        self._lengths = shared.by_class(lengths)
        self._bank = make_bank(sequence)
        self._tables = make_leap_tables()
        self._scratch = make_leap_scratch(lengths.size)
        size = lengths.size if plan is not None else 0
        self._sums = LeapSums(
            np.argsort(self._lengths[:size], kind="stable"),
            np.zeros((2, size)),
            np.ones(1, np.int64),
        )

    def lengths(self) -> np.ndarray:
        return self._shared.by_name(self._lengths)

    def advance(self, duration: float) -> None:
        self._leap(duration, EMPTY_SAMPLER, False)

    def average(self, duration: float) -> Window:
        plan = self._plan
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
            means[name] = self._shared.by_name(means[name])
        ranks = sums.ranks / num_looks
        means["lengths_ranked"] = ranks[0]
        means["idle_servers"] = (1.0 - ranks[1]).sum()
        means["throughput"] = self._shared.service_rates * means["utilisation"]
        by_server = np.stack([means["lengths"], means["utilisation"]])
        return Window(means, self._shared.job_sums(num_looks, ranks, by_server), float(num_looks))

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
