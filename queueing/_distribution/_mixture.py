"""One of several laws, drawn anew for each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_vector
from ._base import Distribution
from ._inversion import bisect_cdf
from ._law_checks import check_sampling

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, init=False)
class Mixture(Distribution):
    """Law i with probability w_i, its times stretched to the mean m_i: mean 1, since

        S = m_i S_i / sum_j w_j m_j   with probability w_i .

    Arguments:
        laws: k >= 1 laws of mean 1.
        weights: (k,) the probabilities w, summing to 1.
        means: (k,) the means m >= 0, in any unit; None: all equal.

    Attributes:
        means: the means in units of the mixture's own.

    Raises: ValueError that names the argument.
    """

    laws: tuple[Distribution, ...]
    weights: tuple[float, ...]
    means: tuple[float, ...]

    def __init__(
        self,
        laws: Sequence[Distribution],
        weights: ArrayLike,
        means: ArrayLike | None = None,
    ) -> None:
        parts = _checked_laws(laws)
        remedy = f"{len(parts)} probabilities, one per law, that sum to 1"
        probs = _one_per_law("weights", weights, len(parts), remedy)
        if abs(float(probs.sum()) - 1.0) > _SUM_TOLERANCE:
            raise ValueError(f"weights sum to {float(probs.sum())!r}; give {remedy}")
        probs = probs / probs.sum()
        remedy = f"{len(parts)} finite means >= 0, one per law, not all of them 0"
        stretch = np.ones(len(parts))
        if means is not None:
            stretch = _one_per_law("means", means, len(parts), remedy)
        largest = float(stretch[probs > 0.0].max())
        if largest == 0.0:
            raise ValueError(f"means are 0 for all laws of positive weight; give {remedy}")
        stretch = stretch / largest
        stretch = stretch / float(probs @ stretch)
        set_field = partial(object.__setattr__, self)
        set_field("laws", parts)
        set_field("weights", tuple(probs.tolist()))
        set_field("means", tuple(stretch.tolist()))

    @property
    def scv(self) -> float:
        """sum_i w_i m_i^2 (1 + c_i) - 1, inf where a law of positive weight has it."""
        parts = self._parts
        spread = sum(w * m * m * law.scv for law, w, m in parts if m > 0.0)
        return float(spread + sum(w * (m - 1.0) ** 2 for _, w, m in parts))

    @property
    def _parts(self) -> list[tuple[Distribution, float, float]]:
        """Law, weight and mean of those that occur."""
        triples = zip(self.laws, self.weights, self.means, strict=True)
        return [triple for triple in triples if triple[1] > 0.0]

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size k)."""
        generator, shape = check_sampling(generator, size)
        parts = self._parts
        edges = np.cumsum([weight for _, weight, _ in parts])[:-1]
        chosen = np.searchsorted(edges, generator.random(shape), side="right")
        samples = np.empty(shape)
        for index, (law, _, mean) in enumerate(parts):
            here = chosen == index
            samples[here] = mean * law.sample(generator, int(np.count_nonzero(here)))
        return samples

    def _moment(self, order: int) -> float:
        powers = ((law, w, m**order) for law, w, m in self._parts if m > 0.0)
        return float(sum(w * power * law.moment(order) for law, w, power in powers))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        total = np.zeros_like(x)
        for law, weight, mean in self._parts:
            total += weight * (law.cdf(x / mean) if mean > 0.0 else 1.0)
        return np.minimum(total, 1.0)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        each = [_stretched_quantile(law, mean, p) for law, _, mean in self._parts]
        low, high = np.min(each, axis=0), np.max(each, axis=0)
        # At p = 0 and 1 these are the ends; rounding may leave cdf(high) just below p.
        inner = (p > 0.0) & (p < 1.0)
        result = np.where(p > 0.5, high, low)
        result[inner] = bisect_cdf(self._cdf, p[inner], low[inner], high[inner])
        return result


def _stretched_quantile(law: Distribution, mean: float, p: np.ndarray) -> np.ndarray:
    return mean * law.quantile(p) if mean > 0.0 else np.zeros_like(p)


def _checked_laws(laws: Sequence[Distribution]) -> tuple[Distribution, ...]:
    remedy = "a sequence of at least one law of mean 1, such as [Exponential(), Erlang(2)]"
    if isinstance(laws, Distribution) or not isinstance(laws, Sequence) or len(laws) == 0:
        raise ValueError(f"laws is {laws!r}; give {remedy}")
    for index, law in enumerate(laws):
        if not isinstance(law, Distribution):
            raise ValueError(f"laws[{index}] is {law!r}; give {remedy}")
    return tuple(laws)


def _one_per_law(name: str, values: ArrayLike, count: int, remedy: str) -> np.ndarray:
    vector = check_vector(name, values, remedy=remedy)
    if vector.size != count:
        raise ValueError(f"{name} has {vector.size} entries; give {remedy}")
    return vector
