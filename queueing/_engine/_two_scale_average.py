"""What two-scale runs see: low ranks at special arrivals, whole states at equal intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._base import Window
from ._leap_loop import LeapSums, look_at
from ._leap_subject import LeapSubject, special_rate
from ._two_scale_near import Sight

if TYPE_CHECKING:
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Ranks whose averages are over the states that special arrivals find.
_IN_SIGHT = 8
_MIN_ARRIVALS = 64.0
# Seconds: a look at the whole state per server, and what a special arrival costs meanwhile.
_PER_LOOK = 30e-9
_PER_ARRIVAL = 1e-6


def num_ranks_in_sight(top_rank: int, num_servers: int) -> int:
    """How many of the lowest ranks are averaged at special arrivals; 0 without such arrivals."""
    return max(top_rank, min(_IN_SIGHT, num_servers)) if top_rank > 0 else 0


def looks_refusal(subject: Subject, duration: float) -> str | None:
    """Why windows with hardly any special arrival are refused; None for others."""
    arrivals = special_rate(subject) * duration
    if not 0.0 < arrivals < _MIN_ARRIVALS:
        return None
    return (
        f"engine 'two_scale' averages low ranks over the states that special arrivals find, "
        f"about {arrivals:.3g} in each of the windows of length {duration:.6g}, less than "
        f"{_MIN_ARRIVALS:g}; raise horizon, or use engine='markov'"
    )


class Looks:
    """Averages over windows of one replica.

    Whole states are seen in the middle of equal parts of a window, at times that do not depend on
    the state. What the lowest ranks show is averaged over the states that special arrivals find
    instead, which see time averages (PASTA); ranks above keep their distances from these.

    Arguments:
        shared: the system.
        plan: what to sample.
        sight: whose sums see the special arrivals.
        lengths: (K,) of the replica, by class of servers.
        go_on: advances these by a time, and adds to the sums of `sight`.
    """

    def __init__(
        self,
        shared: LeapSubject,
        plan: SamplingPlan,
        sight: Sight,
        lengths: np.ndarray,
        go_on: Callable[[float], None],
    ) -> None:
        self._shared = shared
        self._plan = plan
        self._sight = sight
        self._lengths = lengths
        self._go_on = go_on
        self._sums = LeapSums(
            np.argsort(lengths, kind="stable"), np.zeros((2, lengths.size)), np.ones(1, np.int64)
        )

    def average(self, duration: float) -> Window:
        """Go on for `duration` and average over it."""
        shared, sums, sight = self._shared, self._sums, self._sight
        for each in (sums.ranks, sight.ranks, sight.sums):
            each[:] = 0.0
        sampler, collected = self._plan.open(1)
        num_looks = self._num_looks(duration)
        part = duration / num_looks
        for look in range(num_looks):
            self._go_on(part if look > 0 else 0.5 * part)
            look_at(self._lengths, sums, sampler)
            if sampler.count[1] == sampler.kept.shape[0]:
                collected.take(sampler)
        self._go_on(0.5 * part)
        collected.take(sampler)
        means: dict[str, Any] = self._plan.close(sampler, collected)
        for name in ("lengths", "utilisation"):
            means[name] = shared.by_name(means[name])
        means["throughput"] = shared.service_rates * means["utilisation"]
        ranks = sums.ranks / num_looks
        means["idle_servers"] = (1.0 - ranks[1]).sum()
        self._add_sight(means, ranks)
        means["lengths_ranked"] = ranks[0]
        by_server = np.stack([means["lengths"], means["utilisation"]])
        return Window(means, shared.job_sums(num_looks, ranks, by_server))

    def _add_sight(self, means: dict[str, Any], ranks: np.ndarray) -> None:
        """Replace what the lowest ranks show by what special arrivals found."""
        num_arrivals, num_idle, num_ties = self._sight.sums
        if num_arrivals == 0.0:
            return
        size = self._sight.lowest.size
        seen = self._sight.ranks / num_arrivals
        ranks[0, size:] += seen[0, -1] - ranks[0, size - 1]
        ranks[:, :size] = seen
        means["idle_servers"] = num_idle / num_arrivals
        if "prob_tie" in means and size > 1:
            means["prob_tie"] = num_ties / num_arrivals

    def _num_looks(self, duration: float) -> int:
        """As many as cost about as much as the near queues' leaps, at least one."""
        rate = self._shared.leap_system.special_rate
        spacing = _PER_LOOK * self._shared.servers.size / (_PER_ARRIVAL * rate) if rate > 0 else 0.0
        return max(1, round(duration / spacing)) if spacing > 0.0 else 16
