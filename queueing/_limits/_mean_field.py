"""The mean-field limit of power-of-d routing: its differential equation and its fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from atlas import check_times

from .._checks import check_array, check_integer
from ._mean_field_fixed_point import homogeneous_occupancy, solve_fixed_point
from ._mean_field_ode import solve_mean_field
from ._speed_classes import SpeedClasses, check_load, speed_classes

_TOP_BOUND = 1e-6
_TAIL = 1e-14
_DEFAULT_LEVELS, _MOST_LEVELS = 64, 4096


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Fractions of servers by length, of a mean field at one time or at several.

    Attributes:
        by_class: (..., class, level) fraction of the class's servers with at least 1, 2, ... jobs.
        shares: (class,) share of each class.
    """

    by_class: np.ndarray
    shares: np.ndarray

    @property
    def occupancy(self) -> np.ndarray:
        """(..., level) fraction of all servers with at least 1, 2, ... jobs."""
        return np.einsum("c,...cl->...l", self.shares, self.by_class)

    @property
    def mean_length(self) -> np.ndarray:
        """(...) jobs per server."""
        return self.occupancy.sum(axis=-1)


@dataclass(frozen=True, eq=False, init=False)
class PowerOfDMeanField:
    r"""Infinitely many servers under `PowerOfD(num_choices)`, blind to their speeds.

    s_{c,i}(t) is the fraction of the servers of class c with at least i jobs, S_i = sum_c w_c
    s_{c,i}, s_{c,0} = 1:

        ds_{c,i}/dt = lambda (S_{i-1}^d - S_i^d)/(S_{i-1} - S_i) (s_{c,i-1} - s_{c,i})
                      - mu_c (s_{c,i} - s_{c,i+1}) ,   lambda = load sum_j w_j mu_j ,

    s_{c,B+1} = 0 with a buffer B.  Sampling with or without replacement is the same here.

    Arguments:
        num_choices: d >= 1.
        load: arrivals over capacity, >= 0; without a buffer a fixed point needs load < 1.
        service_rates: (C,) rates of the classes; None: one class of rate 1.
        shares: (C,) shares of the servers, sum 1; None: equal ones.
        buffer: B, most jobs at a server, or None.
        num_levels: levels that are kept without a buffer; None: where the fixed point is known in
            closed form, up to one that it fills by less than 1e-14; else 64.

    Raises: ValueError that names the argument, its value and the remedy.

    Source: [VvedenskayaDobrushinKarpelevich1996], [Mitzenmacher2001]; with classes our derivation.
    """

    num_choices: int
    load: float
    classes: SpeedClasses
    buffer: int | None
    num_levels: int

    def __init__(
        self,
        num_choices: int,
        load: float,
        service_rates: ArrayLike | None = None,
        shares: ArrayLike | None = None,
        buffer: int | None = None,
        num_levels: int | None = None,
    ) -> None:
        remedy = "an int >= 1, the number of queues that are compared"
        choices = check_integer("num_choices", num_choices, minimum=1, remedy=remedy)
        classes = speed_classes(service_rates, shares)
        if buffer is not None:
            remedy = "an int >= 1 (the job in service counts), or None"
            buffer = check_integer("buffer", buffer, minimum=1, remedy=remedy)
        values = {
            "num_choices": choices,
            "load": check_load(load, below_one=False),
            "classes": classes,
            "buffer": buffer,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "num_levels", self._check_num_levels(num_levels))

    def _check_num_levels(self, num_levels: int | None) -> int:
        if self.buffer is not None:
            if num_levels is not None and num_levels != self.buffer:
                raise ValueError(f"num_levels is {num_levels!r}; leave it out with a buffer")
            return self.buffer
        if num_levels is not None:
            return check_integer("num_levels", num_levels, minimum=1, remedy="an int >= 1, or None")
        if not self._has_closed_form:
            return _DEFAULT_LEVELS
        tail = homogeneous_occupancy(self.num_choices, self.load, _MOST_LEVELS)
        return int(np.count_nonzero(tail > _TAIL)) + 1

    @property
    def arrival_rate(self) -> float:
        """Jobs per server and unit of time."""
        return self.load * self.classes.capacity

    @property
    def _has_closed_form(self) -> bool:
        one_speed = bool(np.all(self.classes.rates == self.classes.rates[0]))
        return self.buffer is None and one_speed and self.load < 1.0

    def solve(
        self, times: Sequence[float] | np.ndarray, initial: ArrayLike | str = "empty"
    ) -> Occupancy:
        """The solution at the given times, by diffrax.

        Arguments:
            times: (time,) ascending, >= 0.
            initial: "empty", or occupancies (level,) for all classes or (class, level): falling,
                in [0, 1]; levels that are left out are empty.

        Returns: `Occupancy` with `by_class` of shape (time, class, level), right to about 1e-8.

        Raises: ValueError for bad arguments, and where more than 1e-6 of the servers reach the
            last level of a truncation.

        Cost: a solver of order 5 with steps of about 1 / (d lambda + 2 mu), some ms and a
        compilation.
        """
        saved = check_times(times, None)
        start = self._check_initial(initial)
        path = solve_mean_field(self, start, saved)
        return self._checked(Occupancy(path, self.classes.shares))

    def fixed_point(self) -> Occupancy:
        r"""The equilibrium.

        For one class without a buffer s_i = load^((d^i - 1)/(d - 1)), load^i for d = 1. Otherwise
        each class has the law of a birth-death chain, s_{c,i} - s_{c,i+1} in the ratio of
        lambda (S_{i-1}^d - S_i^d)/(S_{i-1} - S_i) over mu_c, solved for S by Newton's method.

        Returns: `Occupancy` with `by_class` of shape (class, level).

        Raises: ValueError where queues grow for ever, or num_levels is too small.
        """
        self._check_stability()
        if self._has_closed_form:
            tail = homogeneous_occupancy(self.num_choices, self.load, self.num_levels)
            by_class = np.tile(tail, (self.classes.rates.size, 1))
        else:
            by_class = solve_fixed_point(self)
        return self._checked(Occupancy(by_class, self.classes.shares))

    def prob_loss(self) -> float:
        """In equilibrium, the fraction of jobs that find all sampled servers full; 0 unbounded."""
        if self.buffer is None:
            self._check_stability()
            return 0.0
        return float(self.fixed_point().occupancy[-1] ** self.num_choices)

    def prob_wait(self) -> float:
        """In equilibrium, the fraction of accepted jobs that find their server busy."""
        all_busy = float(self.fixed_point().occupancy[0] ** self.num_choices)
        lost = self.prob_loss()
        return (all_busy - lost) / (1.0 - lost)

    def _check_initial(self, initial: ArrayLike | str) -> np.ndarray:
        """(class, level) occupancies."""
        shape = (self.classes.rates.size, self.num_levels)
        remedy = f"'empty', or falling fractions of shape (level,) or ({shape[0]}, level)"
        if isinstance(initial, str):
            if initial != "empty":
                raise ValueError(f"initial is {initial!r}; give {remedy}")
            return np.zeros(shape)
        given = check_array("initial", initial, remedy=remedy)
        if given.ndim not in (1, 2) or given.shape[:-1] not in ((), shape[:1]):
            raise ValueError(f"initial has shape {given.shape}; give {remedy}")
        in_order = np.diff(given, axis=-1, prepend=1.0, append=0.0) <= 0.0
        if not np.all(in_order):
            raise ValueError(f"initial is {initial!r}; give {remedy}")
        if np.any(given[..., shape[1] :] > 0.0):
            raise ValueError(
                f"initial has {given.shape[-1]} levels for {shape[1]}; raise num_levels or buffer"
            )
        start = np.zeros(shape)
        kept = given[..., : shape[1]]
        start[:, : kept.shape[-1]] = kept
        return start

    def _check_stability(self) -> None:
        """Without a buffer every set of slowest servers has to serve what only finds it."""
        if self.buffer is not None:
            return
        if self.load >= 1.0:
            raise ValueError(f"load is {self.load}; a fixed point needs load < 1, or a buffer")
        merged, _ = self.classes.merged()
        rates, shares = merged.rates[::-1], merged.shares[::-1]
        forced = self.arrival_rate * np.cumsum(shares) ** self.num_choices
        slow = np.flatnonzero((forced >= np.cumsum(rates * shares)) & (np.cumsum(shares) > 0.0))
        if slow.size:
            raise ValueError(
                f"service_rates: servers of rate {rates[slow[0]]:.6g} and below get more jobs than "
                "they can serve; lower load, raise num_choices or give a buffer"
            )

    def _checked(self, occupancy: Occupancy) -> Occupancy:
        if self.buffer is None:
            top = float(occupancy.occupancy[..., -1].max())
            if top > _TOP_BOUND:
                raise ValueError(
                    f"num_levels is {self.num_levels}, and {top:.1e} of the servers reach the last "
                    "level; raise it"
                )
        return occupancy
