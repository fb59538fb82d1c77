"""Many replicas of engine "two_scale" in one compiled call, which no other thread waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._base import Together
from ._leap_subject import LeapSubject
from ._replica_seeds import replica_words
from ._two_scale_far import WorkSpaces, num_block_words
from ._two_scale_near import make_sight
from ._two_scale_pace import Pace
from ._two_scale_steps import BOUND, StepRules, advance_alone, make_walkers
from ._xoshiro import BANK_WORDS

if TYPE_CHECKING:
    from atlas.ensemble import Seed


class TwoScaleBatch(Together):
    """A block of replicas; their numbers are those of single ones.

    Arguments:
        shared, rules, pace: of the system, and of a replica at its start.
        spaces: to work in.
        in_sight: ranks that special arrivals may join.
        lengths: (R, K) to start from.
        seed, replicas: as of `OneByOne`.
    """

    def __init__(
        self,
        shared: LeapSubject,
        rules: StepRules,
        pace: Pace,
        spaces: WorkSpaces,
        in_sight: int,
        lengths: np.ndarray,
        seed: Seed,
        replicas: range,
    ) -> None:
        self._shared = shared
        self._rules = rules
        self._spaces = spaces
        self._sight = make_sight(in_sight)
        self._walkers = make_walkers(
            shared.by_class(lengths),
            replica_words(seed, replicas, (), BANK_WORDS),
            replica_words(seed, replicas, (0,), num_block_words(lengths.shape[1])),
            pace,
        )

    def lengths(self) -> np.ndarray:
        return self._shared.by_name(self._walkers.blocks.lengths)

    def advance(self, duration: float) -> None:
        space, sight = self._spaces.own, self._sight
        advance_alone(self._walkers, duration, self._rules, space, sight, False)

    def violation_bounds(self) -> np.ndarray:
        return self._walkers.sums[:, BOUND].copy()
