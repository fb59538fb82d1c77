"""Interleaved repeated measurements: what is compared runs in turn, in one process tree.

A machine's speed drifts (other work, heat, clock rates), so two programs that are timed one after
the other are compared on two different machines. Here every round runs each case once, each round
begins with another case, and a ratio is formed within its round; what is reported is the smallest,
the median and the largest of these ratios.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One program that is timed.

    Arguments:
        name: what is timed.
        run: does the work once, to the end (JAX: blocks until the result is ready).
        work: how many units one run does, such as particle steps; costs are seconds per unit.
        at_most, at_least: bounds that the median ratio to the baseline has to keep.
        series, size: where cost is measured against size, the name of the curve and the size.
    """

    name: str
    run: Callable[[], Any]
    work: float = 1.0
    at_most: float = inf
    at_least: float = 0.0
    series: str = ""
    size: float = 1.0

    def __post_init__(self) -> None:
        for name in ("work", "size"):
            if not getattr(self, name) > 0:
                value = getattr(self, name)
                raise ValueError(f"{name} of {self.name!r} is {value}: it must be positive")
        if not self.at_least <= self.at_most:
            raise ValueError(f"{self.name!r}: at_least {self.at_least} exceeds {self.at_most}")


@dataclass(frozen=True)
class Comparison:
    """One file of `benchmarks/`.

    Arguments:
        unit: the unit of work that all cases share, such as "particle step".
        cases: makes the cases, whatever is slow to set up included; its argument says whether the
            quick form is asked for. The first case is the baseline of all ratios.
        rounds: how many rounds are measured; in the quick form 3.
    """

    unit: str
    cases: Callable[[bool], Sequence[Case]]
    rounds: int = 9


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest of the rounds."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(min(values), statistics.median(values), max(values))


@dataclass(frozen=True)
class Measurement:
    """A case as measured: seconds per unit of work, and its ratio to the baseline."""

    case: Case
    costs: tuple[float, ...]
    ratios: tuple[float, ...]

    @property
    def cost(self) -> Spread:
        return Spread.of(self.costs)

    @property
    def ratio(self) -> Spread:
        return Spread.of(self.ratios)

    @property
    def holds(self) -> bool:
        """Whether the median ratio keeps the case's bounds."""
        return self.case.at_least <= self.ratio.median <= self.case.at_most


@dataclass(frozen=True)
class Growth:
    """The exponent p of cost ~ size^p along a series, by least squares on logarithms, each round by
    itself."""

    series: str
    exponent: Spread


def growth(measurements: Sequence[Measurement]) -> tuple[Growth, ...]:
    """The exponent of every series of at least two sizes, in the order of their first cases."""
    found = []
    for series in dict.fromkeys(m.case.series for m in measurements if m.case.series):
        members = [m for m in measurements if m.case.series == series]
        sizes = np.log([m.case.size for m in members])
        if len(set(sizes)) < 2:
            continue
        costs = np.log([m.costs for m in members])
        centred = sizes - sizes.mean()
        exponents = centred @ costs / (centred @ centred)
        found.append(Growth(series, Spread.of([float(e) for e in exponents])))
    return tuple(found)


def measure(
    cases: Sequence[Case], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[Measurement, ...]:
    """Time all cases in turn, `rounds` times, after one run of each that is not counted.

    Arguments:
        cases: at least one, of different names; the first is the baseline.
        rounds: number of rounds, at least one.
        clock: seconds; the tests pass their own.

    Returns:
        One measurement for each case, in the order of `cases`.

    Raises:
        ValueError: no case, two of one name, or no round.
    """
    names = [case.name for case in cases]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"cases are {names}: give at least one, each with its own name")
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}: measure at least one")
    for case in cases:
        case.run()
    costs: dict[str, list[float]] = {name: [] for name in names}
    for first in range(rounds):
        turn = first % len(cases)
        for case in [*cases[turn:], *cases[:turn]]:
            start = clock()
            case.run()
            costs[case.name].append((clock() - start) / case.work)
    baseline = costs[names[0]]
    return tuple(
        Measurement(
            case,
            tuple(costs[case.name]),
            tuple(cost / base for cost, base in zip(costs[case.name], baseline, strict=True)),
        )
        for case in cases
    )
