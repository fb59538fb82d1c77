"""Endless streams of times that do not depend on the blocks in which they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ._law_checks import check_generator

if TYPE_CHECKING:
    from ._base import Distribution

# Fixed, since some laws use their generator in another order for another size.
BLOCK = 2048


class Stream(ABC):
    """A sequence of times that is read from front to back; it belongs to one replica."""

    @abstractmethod
    def fill(self, out: np.ndarray) -> None:
        """Write the next `out.size` times into `out`, a float64 vector.

        After the last time of a stream that ends, every further one is inf.
        """


class BlockStream(Stream):
    """A stream that is made in blocks of a size of its own and handed out in any other."""

    def __init__(self) -> None:
        self._ready = np.empty(0)

    @abstractmethod
    def _next_block(self) -> np.ndarray:
        """At least one further time, as a float64 vector."""

    def fill(self, out: np.ndarray) -> None:
        """Write the next `out.size` times into `out`; cost O(out.size)."""
        done = 0
        while done < out.size:
            if self._ready.size == 0:
                self._ready = self._next_block()
            taken = self._ready[: out.size - done]
            out[done : done + taken.size] = taken
            self._ready = self._ready[taken.size :]
            done += taken.size


class SampleStream(BlockStream):
    """Independent samples of one law."""

    def __init__(self, law: Distribution, generator: np.random.Generator) -> None:
        super().__init__()
        self._law = law
        self._generator = check_generator(generator)

    def _next_block(self) -> np.ndarray:
        return self._law.sample(self._generator, BLOCK)
