"""Independent samples of a law, each block of which is looked at before it is used."""

from __future__ import annotations

import numpy as np

from .._checks import check_array
from ._stream import BLOCK, SampleStream

# Blocks of nothing but zeros in a row, after which no time will pass any more: of a law with mean
# 1 that has a positive sample with probability 1e-5, one run in 1e17 is refused.
_MOST_ZERO_BLOCKS = 2000


class CheckedStream(SampleStream):
    """As `SampleStream`, refusing what a user's law must not draw."""

    _num_zero_blocks = 0

    def _next_block(self) -> np.ndarray:
        law = repr(self._law)
        samples = super()._next_block()
        remedy = "one float >= 0 per asked sample"
        block = check_array(f"{law}.sample(generator, size)", samples, remedy=remedy)
        if block.shape != (BLOCK,):
            raise ValueError(
                f"{law}.sample(generator, size) has the shape {block.shape} for size = {BLOCK}; "
                f"give {remedy}"
            )
        wrong = ~(np.isfinite(block) & (block >= 0.0))
        if wrong.any():
            raise ValueError(
                f"{law}.sample(generator, size) holds {block[wrong][0]}; give finite times >= 0"
            )
        self._num_zero_blocks = 0 if block.any() else self._num_zero_blocks + 1
        if self._num_zero_blocks > _MOST_ZERO_BLOCKS:
            raise ValueError(
                f"{law}.sample(generator, size) holds nothing but zeros for "
                f"{self._num_zero_blocks * block.size} samples; its mean must be 1"
            )
        return block
