"""Engine "batched": thousands of replicas at a time on JAX, for graphics processors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln

from atlas.ensemble import check_memory, jax_settings

from . import _batched_counts, _batched_leap
from ._base import Engine, Together
from ._batched_counts import CountRates, count_events_compiled
from ._batched_leap import LeapRates, leap_all_compiled
from ._batched_random import Streams
from ._classes import server_classes

if TYPE_CHECKING:
    from atlas.ensemble import Seed

    from .._policy import RoutingLaw
    from .._sampling_plan import SamplingPlan
    from .._subject import Subject

# Classes of servers whose tables are kept.
_MAX_CLASSES = 8
# The largest mean of a table; longer intervals are leapt over in pieces.
_MAX_MEAN = 1024.0
_FIRST_LEVELS = 32
_NEVER = 2**30


class BatchedEngine(Engine):
    """Exact in law as "leap" and "markov", written for wide batches; on a CPU they are faster.

    A stream by rank that is thin: leaps by inversion, tables of Poisson laws for each replica's own
    interval. Otherwise, for servers that are alike: events on the number of servers at each level.
    Nothing returns to the host between two save times.
    """

    name = "batched"

    def refusal(self, subject: Subject) -> str | None:
        """Refuses what neither of its two ways can do."""
        if subject.policy is None:
            return "a system with pauses routes no jobs; use engine='pauses'"
        system, policy = subject.routed
        if not system.is_markov:
            return f"{system!r} is no Markov chain of lengths; use engine='calendar'"
        law = policy.law(system)
        if law is None:
            return f"{policy!r} does not route by ranks; use engine='markov'"
        if has_counts(subject, law):
            return None
        if system.buffer is not None:
            return f"servers are not alike and buffer is {system.buffer}; use engine='markov'"
        arrivals = system.arrival_rate * law.by_server
        num_classes = len(server_classes(arrivals, system.service_rates)[0])
        if num_classes > _MAX_CLASSES:
            return (
                f"servers have {num_classes} different pairs of rates, more than {_MAX_CLASSES}; "
                "use engine='leap'"
            )
        return None

    def prepare(self, subject: Subject, plan: SamplingPlan | None) -> Any:
        """Single replicas are for other engines."""
        del plan
        raise ValueError(self.window_refusal(subject, 0.0))

    def prepare_batch(self, subject: Subject) -> Any:
        """A function (lengths (R, K), seed, replicas) -> Batch."""
        law = _law(subject)
        make = _CountBatch if has_counts(subject, law) else _LeapBatch

        def start(lengths, seed, replicas):
            _check_lengths(lengths, _LONGEST_COUNTED if make is _CountBatch else _LONGEST)
            return make(subject, law, lengths, seed, replicas)

        return start

    def window_refusal(self, subject: Subject, duration: float) -> str | None:
        """Refuses to average: only snapshots are taken."""
        del subject, duration
        return (
            "engine 'batched' takes snapshots only; use simulate, or another engine such as 'auto'"
        )

    def keeps_servers(self, subject: Subject) -> bool:
        """Whether it knows which server has how many jobs."""
        return not has_counts(subject, _law(subject))

    def check_memory(self, subject: Subject, num_replicas: int) -> None:
        """Refuse a batch whose arrays do not fit."""
        width = _LIVE_LEVELS * _batched_counts.LIVE_ARRAYS
        if not has_counts(subject, _law(subject)):
            width = _batched_leap.LIVE_ARRAYS * subject.num_servers + 4 * _MAX_CLASSES * 2048
        check_memory(
            8 * width * num_replicas,
            f"{num_replicas} replicas of {subject.num_servers} servers at a time",
            "give a smaller chunk",
        )


_LIVE_LEVELS = 1024
# Lengths have 32 bits, half of which are left to grow; counts have a place for every level.
_LONGEST, _LONGEST_COUNTED = 2**30, 2**20


def _check_lengths(lengths: np.ndarray, longest: int) -> None:
    if lengths.max(initial=0) > longest:
        raise ValueError(
            f"initial holds {lengths.max()} jobs at a server, and engine 'batched' counts up to "
            f"{longest}; use engine='auto'"
        )


def has_counts(subject: Subject, law: RoutingLaw) -> bool:
    """Whether the batch keeps numbers of servers at levels instead of lengths of servers.

    Servers have to be alike; without a buffer, leaps have to cost more: 30 operations for each
    server and special arrival, against 200 for each event in between.
    """
    system = subject.routed[0]
    is_alike = system.is_exchangeable and bool((law.by_server == law.by_server[0]).all())
    if not is_alike:
        return False
    special_rate = system.arrival_rate * float(law.by_rank.sum())
    num_events = system.arrival_rate + system.total_service_rate
    return system.buffer is not None or 200.0 * num_events < 30.0 * special_rate * len(law.by_rank)


def _law(subject: Subject) -> RoutingLaw:
    system, policy = subject.routed
    law = policy.law(system)
    assert law is not None
    return law


def _streams(seed: Seed, replicas: range) -> Streams:
    indices = np.arange(replicas.start, replicas.stop, dtype=np.uint64).astype(np.uint32)
    return Streams(jnp.asarray(seed.words, jnp.uint32), jnp.asarray(indices))


def _rank_cdf(law: RoutingLaw, total: float) -> np.ndarray:
    """Cumulated probabilities of the ranks that are used, which end at `total`."""
    num_ranks = int(np.flatnonzero(law.by_rank)[-1]) + 1 if law.by_rank.any() else 1
    cdf = np.cumsum(law.by_rank[:num_ranks])
    return cdf * (total / cdf[-1]) if cdf[-1] > 0.0 else cdf


class _LeapBatch(Together):
    def __init__(self, subject: Subject, law: RoutingLaw, lengths, seed: Seed, replicas: range):
        system = subject.routed[0]
        pairs, servers, bounds = server_classes(
            system.arrival_rate * law.by_server, system.service_rates
        )
        class_of = np.empty(system.num_servers, np.int32)
        class_of[servers] = np.repeat(np.arange(len(pairs)), np.diff(bounds))
        special_rate = system.arrival_rate * float(law.by_rank.sum())
        top = float(pairs.max())
        mean = _MAX_MEAN if special_rate == 0.0 else min(_MAX_MEAN, 3.0 * top / special_rate)
        mean = max(mean, 8.0)
        # What lies beyond the table has a probability below 1e-18.
        size = 1 << int(np.ceil(np.log2(mean + 12.0 * np.sqrt(mean) + 40.0)))
        with jax_settings(x64=True):
            self._rates = LeapRates(
                jnp.float64(special_rate),
                jnp.asarray(_rank_cdf(law, 1.0)),
                jnp.asarray(class_of),
                jnp.asarray(pairs[:, 0]),
                jnp.asarray(pairs[:, 1]),
                jnp.float64(mean / top if top > 0.0 else np.inf),
                jnp.asarray(gammaln(np.arange(2.0 * size) + 1.0)),
            )
            self._streams = _streams(seed, replicas)
            self._lengths = jnp.asarray(lengths, jnp.int32)
            self._step = jnp.zeros(len(replicas), jnp.uint32)

    def lengths(self) -> np.ndarray:
        return np.asarray(self._lengths).astype(np.int64)

    def advance(self, duration: float) -> None:
        with jax_settings(x64=True):
            self._lengths, self._step = leap_all_compiled(
                self._lengths,
                jnp.float64(duration),
                self._step,
                self._rates,
                self._streams,
            )


@dataclass(frozen=True)
class _Clock:
    """How many events a replica has in a time: Poisson, from a generator of its own."""

    rate: float
    generators: list[np.random.Generator]

    def draw(self, duration: float) -> np.ndarray:
        numbers = np.array([g.poisson(self.rate * duration) for g in self.generators])
        if numbers.max(initial=0) > np.iinfo(np.int32).max:
            raise ValueError(
                f"a replica has {numbers.max():.3g} events between two times, above 2^31; give "
                "more times in between, or use engine='markov'"
            )
        return numbers.astype(np.int32)


class _CountBatch(Together):
    def __init__(self, subject: Subject, law: RoutingLaw, lengths, seed: Seed, replicas: range):
        system = subject.routed[0]
        total_rate = system.arrival_rate + system.total_service_rate
        self._num_servers = system.num_servers
        generators = [
            np.random.Generator(np.random.PCG64(seed.sequence(replica))) for replica in replicas
        ]
        self._clock = _Clock(total_rate, generators)
        longest = int(lengths.max(initial=0))
        num_levels = max(longest + 2, _FIRST_LEVELS)
        if system.buffer is not None:
            num_levels = min(num_levels, system.buffer + 1)
        counts = np.stack([np.bincount(row, minlength=num_levels) for row in lengths])
        with jax_settings(x64=True):
            self._rates = CountRates(
                jnp.float64(system.arrival_rate / total_rate if total_rate > 0.0 else 0.0),
                jnp.asarray(_rank_cdf(law, float(law.by_rank.sum()))),
                jnp.int32(self._num_servers),
                jnp.int32(_NEVER if system.buffer is None else system.buffer),
            )
            self._streams = _streams(seed, replicas)
            self._counts = jnp.asarray(counts, jnp.int32)
            self._step = jnp.zeros(len(replicas), jnp.uint32)

    def lengths(self) -> np.ndarray:
        levels = np.arange(self._counts.shape[1])
        return np.stack([np.repeat(levels, row) for row in np.asarray(self._counts)])

    def advance(self, duration: float) -> None:
        numbers = self._clock.draw(duration)
        with jax_settings(x64=True):
            while True:
                counts, step, overflows = count_events_compiled(
                    self._counts, jnp.asarray(numbers), self._step, self._rates, self._streams
                )
                if not bool(jnp.any(overflows)):
                    break
                # The same events again with twice as many levels: the numbers do not change.
                room = self._counts.shape[1]
                self._counts = jnp.pad(self._counts, ((0, 0), (0, room)))
        self._counts, self._step = counts, step
