"""Laws of the time that a finite Markov chain takes to end: the link to exact oracles."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._base import Distribution

_MAX_PHASES = 4096


@dataclass(frozen=True, eq=False)
class Phases:
    """A phase-type representation: P(S > t) = p exp(T t) 1.

    Attributes:
        initial: (m,) law p of the first phase.
        subgenerator: (m, m) T, rates between phases off the diagonal; -T 1 is the rate of the end.
    """

    initial: np.ndarray
    subgenerator: np.ndarray

    @classmethod
    def of(cls, initial: ArrayLike, subgenerator: ArrayLike) -> Phases:
        """The representation with float64 arrays of its own, read-only."""
        arrays = [np.array(values, np.float64) for values in (initial, subgenerator)]
        for array in arrays:
            array.flags.writeable = False
        return cls(*arrays)

    @property
    def exit_rates(self) -> np.ndarray:
        """(m,) the rate -T 1 at which each phase ends the time."""
        return -self.subgenerator.sum(axis=1)

    @classmethod
    def series(cls, initial: ArrayLike, rates: ArrayLike, onward: ArrayLike) -> Phases:
        """Phases in a row: phase i has rate rates[i] and goes on to i + 1 with prob. onward[i]."""
        rate = np.asarray(rates, np.float64)
        onward_rates = rate[:-1] * np.asarray(onward, np.float64)[: rate.size - 1]
        return cls.of(initial, np.diag(-rate) + np.diag(onward_rates, 1))


class PhaseTypeLaw(Distribution):
    """A law with finitely many exponential phases."""

    @abstractmethod
    def phases(self) -> Phases:
        """The initial probabilities and the subgenerator, for oracles on the expanded chain.

        Raises: ValueError where there are more than 4096 phases.
        """


def check_phase_count(law: object, count: int) -> int:
    """`count` unless the dense subgenerator would be too large."""
    if count > _MAX_PHASES:
        raise ValueError(
            f"{law!r} has {count} phases; a subgenerator of at most {_MAX_PHASES} is given: "
            "take a law of larger scv"
        )
    return count
