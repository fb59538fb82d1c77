"""Streams of exponentials, their sums and their mixtures: a few ns a time.

A product of k uniforms has minus the logarithm of a sum of k exponentials, so that vectors of
random words and one vectorised logarithm make a block; NumPy's samplers draw one time after the
other, which costs several times as much as an event of a simulation.
"""

from __future__ import annotations

import numba
import numpy as np

from .._engine._xoshiro import NUM_LANES, UNIT, fill_words, valid_states
from ._law_checks import check_generator
from ._stream import BLOCK, BlockStream

# Beyond it one gamma variate costs less; the product stays far above the least float.
MOST_PHASES = 8


class ExponentialStream(BlockStream):
    """Independent times: a sum of k exponentials, scaled by one of two numbers.

        S = c E_k   with c = scale, or with probability `rare` c = rare_scale

    Arguments:
        generator: seeds the stream's own random words.
        num_phases: k, from 1 to `MOST_PHASES`.
        scale: c.
        rare, rare_scale: a probability, and c with it.
    """

    def __init__(
        self,
        generator: np.random.Generator,
        *,
        num_phases: int = 1,
        scale: float = 1.0,
        rare: float = 0.0,
        rare_scale: float = 1.0,
    ) -> None:
        super().__init__()
        words = check_generator(generator).integers(0, 2**64, (4, NUM_LANES), dtype=np.uint64)
        self._lanes = valid_states(words)
        self._num_phases, self._scales = num_phases, (scale, rare_scale)
        self._rare = rare
        self._words = np.empty((num_phases + (rare > 0.0)) * BLOCK, np.uint64)

    def _next_block(self) -> np.ndarray:
        times = np.empty(BLOCK)
        fill_words(self._lanes, self._words)
        _multiply_uniforms(self._words, self._num_phases, times)
        np.log(times, out=times)
        common, rare = self._scales
        if self._rare > 0.0:
            _scale_by_chance(times, self._words[-BLOCK:], self._rare, -common, -rare)
        else:
            times *= -common
        return times


@numba.njit(nogil=True)
def _multiply_uniforms(words, count, out):
    """Products of `count` uniforms each; always in (0, 1), so that no time is 0 or infinite."""
    size = out.shape[0]
    for i in range(size):
        out[i] = (np.int64(words[i] >> np.uint64(11)) + 0.5) * UNIT
    for k in range(1, count):
        for i in range(size):
            out[i] *= (np.int64(words[k * size + i] >> np.uint64(11)) + 0.5) * UNIT


@numba.njit(nogil=True)
def _scale_by_chance(times, words, rare, common_scale, rare_scale):
    for i in range(times.shape[0]):
        is_rare = np.int64(words[i] >> np.uint64(11)) * UNIT < rare
        times[i] *= rare_scale if is_rare else common_scale
