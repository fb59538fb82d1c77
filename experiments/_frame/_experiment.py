"""What an experiment is: settings, a function of them and a seed, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._claim import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SettingsT = TypeVar("SettingsT")


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    Arguments:
        claims: every claim that was tried; at least one.
        rows: the numbers behind the figure, one mapping from column to value for each row; the
            columns are those of the first row.
        figure: the figure.
        notes: lines for the reader, printed below the table of claims.
    """

    claims: Sequence[Claim]
    rows: Sequence[Mapping[str, Any]]
    figure: Figure
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment(Generic[SettingsT]):
    """One file of `experiments/`: what it tries, and how.

    Arguments:
        paper: the paper whose claims are tried: "P0" to "P4", or "S" for our own schemes.
        settings: a frozen dataclass, the full form; each field is a flag of the command line.
        quick: the same dataclass for the quick form, well under half a minute on 2 cores.
        run: function of the settings and the keyword `seed`.
    """

    paper: str
    settings: SettingsT
    quick: SettingsT
    run: Callable[..., Outcome]

    def __post_init__(self) -> None:
        for name, value in (("settings", self.settings), ("quick", self.quick)):
            if not is_dataclass(value) or isinstance(value, type):
                raise TypeError(f"{name} is {value!r}: pass an instance of a frozen dataclass")
        if type(self.settings) is not type(self.quick):
            raise TypeError("quick must be of the same dataclass as settings")
