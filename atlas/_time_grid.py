"""The grid of steps: t_k = k * step exactly, shortened where a save time lies between."""

import math
from dataclasses import dataclass

import numpy as np

from ._check import check_array, check_count, check_finite

# A save time this close to a grid point, in steps, lies on it.
_SNAP = 1e-6


@dataclass(frozen=True)
class Segment:
    """Steps from one save time to the next: lengths of the first, the full and the last one."""

    first: float
    full: float
    last: float
    num_steps: int


def check_times(times, horizon) -> np.ndarray:
    """The save times: `times`, or `horizon` alone; finite, ascending, not negative, float64."""
    if (times is None) == (horizon is None):
        raise ValueError(
            f"times = {times!r} and horizon = {horizon!r}: pass exactly one of them; horizon saves "
            "the last state only."
        )
    if times is None:
        times = [check_finite("horizon", horizon)]
        _refuse_negative("horizon", times[0])
    saved = check_array("times", times)
    if saved.ndim != 1 or saved.size == 0:
        raise ValueError(f"times has shape {saved.shape}; pass a vector of at least one save time.")
    if not np.all(np.isfinite(saved)):
        bad = saved[~np.isfinite(saved)][0]
        raise ValueError(f"times holds {bad}; save times must be finite and not negative.")
    _refuse_negative("times", float(saved.min()))
    if np.any(np.diff(saved) < 0):
        index = int(np.flatnonzero(np.diff(saved) < 0)[0])
        raise ValueError(
            f"times is not ascending at index {index}: {saved[index]} before {saved[index + 1]}; "
            "pass np.sort(times)."
        )
    return saved


def _refuse_negative(name: str, time: float) -> None:
    if time < 0:
        raise ValueError(f"{name} holds {time}; save times must be finite and not negative.")


def plan_segments(step: float, times: np.ndarray, max_steps: int) -> list[Segment]:
    """One segment per save time, from the save time before (or 0) to it.

    Raises ValueError if the run takes more than `max_steps` steps.
    """
    check_count("max_steps", max_steps, maximum=2**31 - 1)
    if times[-1] / step > max_steps:
        raise ValueError(
            f"step = {step} needs {times[-1] / step:.3g} steps up to t = {times[-1]}, more than "
            f"max_steps = {max_steps}; take a longer step or raise max_steps."
        )
    starts = np.concatenate([[0.0], times[:-1]])
    return [_segment(step, float(a), float(b)) for a, b in zip(starts, times, strict=True)]


def _segment(step: float, start: float, end: float) -> Segment:
    if end <= start:
        return Segment(0.0, step, 0.0, 0)
    # Grid points strictly between, apart from those that the ends lie on.
    lowest = math.floor(start / step + _SNAP) + 1
    highest = math.ceil(end / step - _SNAP) - 1
    if lowest > highest:
        length = end - start
        return Segment(_snapped(length, step), step, _snapped(length, step), 1)
    first, last = lowest * step - start, end - highest * step
    return Segment(_snapped(first, step), step, _snapped(last, step), highest - lowest + 2)


def _snapped(length: float, step: float) -> float:
    return step if abs(length - step) <= 2 * _SNAP * step else length
