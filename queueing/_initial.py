"""Where the replicas of a run start."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from atlas import ProductExponential
from atlas.ensemble import Seed

from ._checks import check_array
from ._engine._replica_seeds import replica_generators
from ._paused import PausedSystem
from ._product_geometric import ProductGeometric
from ._regime import EmptyStart, GeometricGapsStart, RoundedExponentialStart, Start
from ._regime._start import has_too_many
from ._streams import INITIAL_STATE
from ._subject import Subject


@dataclass(frozen=True, eq=False)
class Initial:
    """Lengths by server for every replica.

    Attributes:
        description: in words, for the result.
        law: of ranked lengths; servers are then put in random order, a system with pauses excepted.
        lengths: (K,) or (R, K) given lengths, or None with a law.
        indices: the replicas that the rows of `lengths` belong to.
    """

    description: str
    law: Start | None
    lengths: np.ndarray | None
    indices: range
    keeps_order: bool

    @property
    def fingerprint(self) -> str:
        """What tells this start from another."""
        if self.lengths is None:
            return self.description
        return sha256(self.lengths.tobytes()).hexdigest()

    def draw(self, seed: Seed, replicas: range) -> np.ndarray:
        """(R, K) int64, a row for each replica, the same in whatever batch it runs."""
        if self.lengths is not None:
            if self.lengths.ndim == 1:
                return np.tile(self.lengths, (len(replicas), 1))
            first = self.indices.index(replicas[0])
            return self.lengths[first : first + len(replicas)].copy()
        assert self.law is not None
        generators = list(replica_generators(seed, replicas, INITIAL_STATE))
        lengths = self.law.sample_rows(generators, self.law.num_servers)
        # Ranks say nothing about names: every server is as likely the shortest as any other.
        if not self.keeps_order:
            for row, generator in zip(lengths, generators, strict=True):
                generator.shuffle(row)
        return lengths


def resolve_initial(initial: Any, subject: Subject, indices: range) -> Initial:
    """The start that the caller asks for.

    Arguments:
        initial: "empty"; "stationary"; a law of the gaps (`ProductGeometric` in jobs, or
            `ProductExponential` in the regime's units); or integers >= 0, (K,) or (replica, K):
            lengths by server, for a system with pauses ascending.
    Raises: ValueError that names the argument and the remedy.
    """
    is_paused = isinstance(subject.system, PausedSystem)
    law = _law(initial, subject)
    if law is not None:
        if law.num_servers != subject.num_servers:
            raise ValueError(
                f"initial is a law of {law.num_servers} gaps; give one of {subject.num_servers}"
            )
        if subject.buffer is not None and not isinstance(law, EmptyStart):
            raise ValueError(
                f"initial is a law without bound, but buffer is {subject.buffer}; "
                "start 'empty' or from lengths"
            )
        return Initial(law.description, law, None, indices, is_paused)
    lengths = _check_lengths(initial, subject, indices, is_paused)
    return Initial("given lengths", None, lengths, indices, is_paused)


def _law(initial: Any, subject: Subject) -> Start | None:
    if isinstance(initial, Start):
        return initial
    if isinstance(initial, ProductGeometric):
        return GeometricGapsStart(initial)
    if isinstance(initial, ProductExponential):
        if subject.scaling is None:
            raise ValueError(
                "initial is a law of scaled gaps, which needs a regime's unit of length; "
                "give a ProductGeometric law in jobs, or lengths"
            )
        return RoundedExponentialStart(initial.rates / subject.scaling.length)
    if not isinstance(initial, str):
        return None
    if initial == "empty":
        return EmptyStart(subject.num_servers)
    if initial == "stationary":
        return _stationary_law(subject)
    raise ValueError(f"initial is {initial!r}; give 'empty', 'stationary', a law or lengths")


def _stationary_law(subject: Subject) -> Start:
    if subject.regime is not None:
        return subject.regime.stationary_start()
    if isinstance(subject.system, PausedSystem):
        return GeometricGapsStart(subject.system.stationary_gaps())
    raise ValueError(
        "initial is 'stationary', whose law is not known in closed form for a plain system; "
        "give a regime, or start 'empty' with warmup='mser5'"
    )


def _check_lengths(initial: Any, subject: Subject, indices: range, ascending: bool) -> np.ndarray:
    size = subject.num_servers
    remedy = "'empty', 'stationary', a law of gaps or lengths"
    given = check_array("initial", initial, remedy=remedy)
    if given.shape not in ((size,), (len(indices), size)):
        raise ValueError(
            f"initial has shape {given.shape}; give ({size},), or ({len(indices)}, {size}) with a "
            "row per replica"
        )
    bad = np.argwhere(~(np.isfinite(given) & (given >= 0.0) & (given == np.floor(given))))
    if bad.size:
        where = tuple(int(i) for i in bad[0])
        raise ValueError(f"initial{list(where)} is {given[where]}; give whole numbers of jobs >= 0")
    if has_too_many(given):
        raise ValueError(
            f"initial holds {given.max():.6g} jobs at a server, {given.sum(axis=-1).max():.6g} in "
            "all; give at most 2^52 at a server, and 2^62 in all"
        )
    if subject.buffer is not None and given.max() > subject.buffer:
        raise ValueError(
            f"initial holds {int(given.max())} jobs at a server, above buffer = {subject.buffer}"
        )
    if ascending and (np.diff(given, axis=-1) < 0.0).any():
        raise ValueError("initial of a system with pauses must ascend from rank to rank; sort it")
    return given.astype(np.int64)
