"""Where a flat curve is least, from noisy values that share their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from atlas.ensemble import Estimate


@dataclass(frozen=True)
class Minimum:
    """A minimum: `place` and `least` value with errors, and the fitted curve's coefficients."""

    place: Estimate
    least: Estimate
    coefficients: np.ndarray

    def curve(self, x: np.ndarray) -> np.ndarray:
        """The fitted curve."""
        return np.polyval(self.coefficients, np.log(x))


def find_minimum(x: np.ndarray, samples: np.ndarray, degree: int = 3) -> Minimum:
    """The least value of a polynomial in log x, with errors by the jackknife over replicas.

    Replica i of all x has common random numbers, so the place is known better than the values.

    Arguments:
        x: positive, ascending, more than `degree` of them.
        samples: (x, replica) values.
        degree: of the polynomial.

    Returns:
        The minimum within the range of x.

    Raises:
        ValueError: the least value is at an end of the range: widen it.
    """
    logs = np.log(x)
    count = samples.shape[1]
    total = samples.sum(axis=1)
    mean = total / count
    if np.argmin(mean) in (0, len(x) - 1):
        raise ValueError(f"x = {x}: the values {mean} are least at an end; widen the range")
    whole = np.polyfit(logs, mean, degree)
    place, least = _least(whole, logs)
    rest = np.array(
        [
            _least(np.polyfit(logs, (total - samples[:, i]) / (count - 1), degree), logs)
            for i in range(count)
        ]
    )
    errors = np.sqrt((count - 1) / count * np.sum((rest - rest.mean(axis=0)) ** 2, axis=0))
    return Minimum(
        Estimate(np.exp(place), np.exp(place) * errors[0], count - 1.0),
        Estimate(least, errors[1], count - 1.0),
        whole,
    )


def _least(coefficients: np.ndarray, logs: np.ndarray) -> tuple[float, float]:
    grid = np.linspace(logs[0], logs[-1], 2001)
    values = np.polyval(coefficients, grid)
    return float(grid[np.argmin(values)]), float(values.min())
