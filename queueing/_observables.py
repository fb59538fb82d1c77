"""Names and dims of the observables, and the user's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numba.extending import is_jitted

from atlas.ensemble import real_array

# State variables, whose means are time averages.
STATE_DIMS: dict[str, tuple[str, ...]] = {
    "lengths_ranked": ("rank",),
    "lengths": ("server",),
    "gaps": ("gap",),
    "scaled_gaps": ("gap",),
    "total": (),
    "imbalance": (),
    "occupancy": ("level",),
    "idle_servers": (),
    "prob_tie": (),
    "utilisation": ("server",),
    "throughput": ("server",),
    # Per server of each rate, slowest first.
    "occupancy_by_class": ("speed_class", "level"),
    "lengths_by_class": ("speed_class",),
    "utilisation_by_class": ("speed_class",),
    "throughput_by_class": ("speed_class",),
    # Jobs that were routed and have not reached their server.
    "travelling": (),
    "tied_block_drift": ("bound",),
}

# Those that are averaged only where they are asked for.
CLASS_STATES = tuple(name for name in STATE_DIMS if name.endswith("_by_class"))

# Job variables, whose means are averages over jobs (or events).
JOB_DIMS: dict[str, tuple[str, ...]] = {
    "prob_wait": (),
    "prob_loss": (),
    "wait": (),
    "response": (),
    "time_to_service": (),
    "messages_per_job": (),
    # Of the servers of one rate, where there are several rates.
    "wait_by_class": ("speed_class",),
    "response_by_class": ("speed_class",),
    # Over the states that events leave behind, which is another average than that over time.
    "total_at_events": (),
}

_DIMS = ("time", "replica", "rank", "gap", "server", "level", "bound", "flow", "speed_class")

# What results and the sums that they are made of call their own.
_RESERVED = re.compile(
    r".*_(std_error|dof|histogram)|(sum|histogram)_.*|num_(arrivals|departures|lost|travelling)"
    r"|(initial|final)_total|warmup_cut|violation_bound|series_of_total|weight_of_batch|group|bin"
)


def check_observe(observe: Any) -> dict[str, StateFunction]:
    """The user's observables as functions that sum over states.

    Arguments:
        observe: None, or a mapping from names to functions of one ranked state, an int64 array
            (K,), that return a number or an array of fixed shape. Functions compiled by
            `numba.njit` are called from compiled code.
    Raises: ValueError that names the entry.
    """
    if observe is None:
        return {}
    if not isinstance(observe, Mapping):
        raise ValueError(
            f"observe is {observe!r}; give a mapping from names to functions of the ranked lengths"
        )
    for name, function in observe.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"observe has the name {name!r}; give an identifier")
        if name in STATE_DIMS or name in JOB_DIMS or name in _DIMS or _RESERVED.fullmatch(name):
            raise ValueError(f"observe has {name!r}, which exists already; choose another name")
        stem, _, number = name.rpartition("_")
        if number.isdecimal() and stem in observe:
            raise ValueError(
                f"observe has {name!r}, which is what an axis of {stem!r} is called; choose "
                "another name"
            )
        if not callable(function) or isinstance(function, type):
            raise ValueError(
                f"observe[{name!r}] is {function!r}; give a function of ranked lengths"
            )
    return {name: StateFunction(name, function) for name, function in observe.items()}


class StateFunction:
    """A user's observable: a function of one ranked state, summed over many.

    Arguments:
        name: its name, for messages.
        function: from an int64 array (K,) to a number or an array of fixed shape.
    """

    def __init__(self, name: str, function: Callable[[np.ndarray], Any]) -> None:
        self.name = name
        self._function = function
        self._driver = _build_driver(function) if is_jitted(function) else None
        self._shape: tuple[int, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return StateFunction, (self.name, self._function)

    def value(self, state: np.ndarray) -> np.ndarray:
        """The value at one state as float64.

        Raises: ValueError if it is not finite or no number, naming the observable and the state.
        """
        try:
            # A copy, because the function may use it as work space.
            value = real_array(self._function(state.copy()), with_bools=True)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"observe[{self.name!r}] gave no number at {state}: {error}"
            ) from error
        if not np.isfinite(value).all():
            raise ValueError(f"observe[{self.name!r}] gave {value} at {state}; give finite values")
        if self._shape is None:
            self._shape = value.shape
        if value.shape != self._shape:
            raise ValueError(
                f"observe[{self.name!r}] gave an array of shape {value.shape} at {state}, and of "
                f"{self._shape} before; give the same shape everywhere"
            )
        return value

    def sum(self, states: np.ndarray) -> np.ndarray:
        """The sum of the values over states (S, K), S >= 1; about 5 us each, 10 ns if compiled."""
        total = self.value(states[0])
        if self._driver is not None:
            flat = total.reshape(-1).copy()
            odd = self._driver(states[1:], flat)
            if odd < 0 and np.isfinite(flat).all():
                return flat.reshape(total.shape)
            # Slowly, to name the first state at fault.
            total = self.value(states[0])
        for state in states[1:]:
            total = total + self.value(state)
        return total


def _build_driver(function: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    @numba.njit(nogil=True)
    def add_values(states, total):
        """Add up; the number of the first state whose value has another size, or -1."""
        state = np.empty(states.shape[1], np.int64)
        for s in range(states.shape[0]):
            # A copy, because the function may use it as work space.
            state[:] = states[s]
            values = np.asarray(function(state)).ravel()
            if values.shape[0] != total.shape[0]:
                return s
            for j in range(total.shape[0]):
                total[j] += values[j]
        return -1

    return add_values
