"""Many replicas of engine "two_scale" in one compiled call, which no other thread waits for."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class TwoScaleSubject:
    """What all replicas have in common.

    Attributes:
        shared: the system.
        rules: of the macro steps.
        pace: of a replica at its start.
        spaces: to work in.
        in_sight: ranks that special arrivals may join, or that are averaged at them.
    """

    shared: LeapSubject
    rules: StepRules
    pace: Pace
    spaces: WorkSpaces
    in_sight: int


class TwoScaleBatch(Together):
    """A block of replicas; their numbers are those of single ones.

    Arguments:
        subject: what is simulated.
        lengths: (R, K) to start from.
        seed, replicas: as of `OneByOne`.
    """

    def __init__(
        self, subject: TwoScaleSubject, lengths: np.ndarray, seed: Seed, replicas: range
    ) -> None:
        self._subject = subject
        self._sight = make_sight(subject.in_sight)
        self._walkers = make_walkers(
            subject.shared.by_class(lengths),
            replica_words(seed, replicas, (), BANK_WORDS),
            replica_words(seed, replicas, (0,), num_block_words(lengths.shape[1])),
            subject.pace,
        )

    def lengths(self) -> np.ndarray:
        return self._subject.shared.by_name(self._walkers.blocks.lengths)

    def advance(self, duration: float) -> None:
        rules, space = self._subject.rules, self._subject.spaces.own
        advance_alone(self._walkers, duration, rules, space, self._sight, False)

    def violation_bounds(self) -> np.ndarray:
        return self._walkers.sums[:, BOUND].copy()
