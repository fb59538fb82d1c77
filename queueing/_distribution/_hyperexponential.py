"""Mixtures of two exponential laws with balanced means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._exponential_stream import ExponentialStream
from ._law_checks import check_between, check_sampling
from ._phases import Phases, PhaseTypeLaw
from ._powers import finite_or_inf
from ._stream import Stream


@dataclass(frozen=True)
class Hyperexponential(PhaseTypeLaw):
    """Exponential of rate 2 p with probability p, else of rate 2 (1 - p): mean 1.

    p = (1 + sqrt((c - 1)/(c + 1))) / 2 for the squared coefficient of variation c; both branches
    contribute half of the mean (balanced means).  c = 1 is the exponential law.

    Arguments:
        scv: c from 1 to 1e12.
    Raises: ValueError that names the argument.
    Source: [Whitt1982].
    """

    scv: float

    def __post_init__(self) -> None:
        remedy = "the scv; MixedErlang, Gamma and Coxian go below 1"
        scv = check_between("scv", self.scv, 1.0, 1e12, remedy=remedy)
        object.__setattr__(self, "scv", scv)

    @cached_property
    def probs(self) -> tuple[float, float]:
        """The probabilities p and 1 - p of the two branches; their rates are twice these."""
        root = math.sqrt((self.scv - 1.0) / (self.scv + 1.0))
        # 1 - root = (1 - root^2)/(1 + root) without the cancellation at large c.
        return 0.5 * (1.0 + root), 1.0 / ((self.scv + 1.0) * (1.0 + root))

    def sample(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
        """Independent samples as float64 of shape `size`; cost O(size)."""
        generator, shape = check_sampling(generator, size)
        common, rare = self.probs
        is_rare = generator.random(shape) < rare
        return generator.standard_exponential(shape) * np.where(is_rare, 0.5 / rare, 0.5 / common)

    def start(self, generator: np.random.Generator) -> Stream:
        """An endless stream of samples; about 4 ns each."""
        common, rare = self.probs
        return ExponentialStream(generator, scale=0.5 / common, rare=rare, rare_scale=0.5 / rare)

    def phases(self) -> Phases:
        """Two phases beside each other."""
        return Phases.of(self.probs, np.diag([-2.0 * p for p in self.probs]))

    def _moment(self, order: int) -> float:
        log_factorial = math.lgamma(order + 1.0)
        logs = (log_factorial + math.log(p) - order * math.log(2.0 * p) for p in self.probs)
        return sum(finite_or_inf(log_term) for log_term in logs)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return sum((-p * np.expm1(-2.0 * p * x) for p in self.probs), np.zeros_like(x))
