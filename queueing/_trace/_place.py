"""How the place of a value in a file or an array is named to a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Place:
    """How to name the place of a value to a person.

    Attributes:
        source: the file or the argument.
        row: the words for the i-th value of a column, i from 0, such as "line 3".
    """

    source: str
    row: Callable[[int], str]

    def refuse_first(self, wrong: np.ndarray, values: np.ndarray, name: str, fault: str) -> None:
        """Raise a ValueError for the first of the (m,) values of column `name` that is wrong."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{self.source}, {self.row(row)}: column {name!r} is {values[row]}, which {fault}; "
                "correct or remove that row"
            )
