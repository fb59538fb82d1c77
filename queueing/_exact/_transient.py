"""The transient oracle: uniformisation of a truncated chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike
from scipy.stats import poisson

from .._checks import check_array, check_integer
from .._observables import StateFunction, check_observe
from ._chain import Chain, OnChain
from ._observables import mean_observable
from ._resolve import resolve_chain

_TAIL = 1e-15


@dataclass(frozen=True, eq=False)
class ExactTransient(OnChain):
    """The laws of a small system at given times, by uniformisation.

    Attributes:
        times: (T,) ascending.
        probabilities: (T, S) laws on `states`.
        truncation_error: (T,) bound on the total-variation distance to the untruncated law, so on
            the error of any probability.
    """

    times: np.ndarray
    probabilities: np.ndarray
    observe: dict[str, StateFunction]
    truncation_error: np.ndarray

    def mean(self, name: str) -> np.ndarray:
        """(T, ...) means at each time; names as for `ExactStationary.mean`.

        Job observables are those of a job that arrives at that time.
        """
        rows = [mean_observable(self.chain, law, name, self.observe) for law in self.probabilities]
        return np.array(rows)


def exact_transient(
    system_or_regime: Any,
    policy: Any = None,
    *,
    times: ArrayLike,
    initial: Any = "empty",
    max_length: int,
    observe: Mapping[str, Callable[[np.ndarray], Any]] | None = None,
    max_states: int = 200_000,
    max_steps: int = 1_000_000,
) -> ExactTransient:
    r"""The law of a small Markov system at given times, by uniformisation.

    With Lambda the largest exit rate, P = I + Q / Lambda and N Poisson of mean Lambda t,

        pi_t = sum_k P(N = k) pi_0 P^k ,

    cut where P(N > k) < 1e-15.  Until the first arrival that the truncation blocks, the truncated
    and the true chain coincide, so the total-variation error at t is at most the expected number
    of blocked arrivals before t plus the cut tails: this bound is rigorous and is reported.

    Arguments:
        system_or_regime, policy, max_length, observe, max_states: as for `exact_stationary`.
        times: (T,) ascending, finite, >= 0, in the system's clock.
        initial: "empty", lengths (K,), or a law as a pair (states (M, K), probabilities (M,)).
        max_steps: refuse more matrix products than this.

    Returns:
        The laws, their means and their errors.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [Jensen1953]; the bound is our derivation.

    Cost: about Lambda t_max sparse matrix-vector products.
    """
    functions = check_observe(observe)
    chain = resolve_chain(system_or_regime, policy, max_length=max_length, max_states=max_states)
    grid = _checked_times(times)
    law = _initial_law(chain, initial)
    rate = float(-chain.generator.diagonal().min())
    intervals = np.diff(grid, prepend=0.0)
    counts = _count_steps(rate, intervals, max_steps)
    laws, errors, error = [], [], 0.0
    for interval, count in zip(intervals, counts, strict=True):
        if count > 0:
            law, added = _advance(chain, law, rate, interval, count)
            error += added
        laws.append(law)
        errors.append(min(error, 1.0))
    return ExactTransient(chain, grid, np.array(laws), functions, np.array(errors))


def _advance(
    chain: Chain, law: np.ndarray, rate: float, interval: float, count: int
) -> tuple[np.ndarray, float]:
    """The law one interval later, and what the interval adds to the error bound."""
    transposed = sparse.csr_array(chain.generator.T) / rate
    steps = np.arange(count + 1)
    weights = poisson.pmf(steps, rate * interval)
    survival = poisson.sf(steps, rate * interval)
    later, blocked, current = np.zeros_like(law), 0.0, law
    for weight, beyond in zip(weights, survival, strict=True):
        later += weight * current
        blocked += beyond * float(current @ chain.blocked_rates)
        current = current + transposed @ current
    # The clipped tail is put back in proportion, which moves at most that much mass.
    tail = float(survival[-1])
    return later / later.sum(), blocked / rate + (2.0 + np.sqrt(count)) * tail


def _count_steps(rate: float, intervals: np.ndarray, max_steps: int) -> list[int]:
    """How many terms of the Poisson mixture each interval takes."""
    limit = check_integer("max_steps", max_steps, minimum=1, remedy="an int >= 1")
    expected = [rate * float(interval) for interval in intervals]
    if sum(expected) > limit:
        raise ValueError(
            f"times reach {float(intervals.sum())} with {rate:.6g} events per unit of time, which "
            f"takes {sum(expected):.3g} steps, above max_steps = {limit}; shorten times or raise it"
        )
    return [int(poisson.isf(_TAIL, mean)) if mean > 0.0 else 0 for mean in expected]


def _checked_times(times: ArrayLike) -> np.ndarray:
    remedy = "a non-empty ascending list of finite times >= 0"
    grid = check_array("times", times, remedy=remedy)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"times has shape {grid.shape}; give {remedy}")
    if not np.all(np.isfinite(grid)) or grid[0] < 0.0 or np.any(np.diff(grid) < 0.0):
        raise ValueError(f"times is {grid}; give {remedy}")
    return grid


def _initial_law(chain: Chain, initial: Any) -> np.ndarray:
    num_servers = chain.space.num_servers
    remedy = (
        f'"empty", {num_servers} lengths from 0 to {chain.space.cap}, or a pair of states '
        f"(M, {num_servers}) and probabilities (M,)"
    )
    if isinstance(initial, str):
        if initial != "empty":
            raise ValueError(f"initial is {initial!r}; give {remedy}")
        initial = np.zeros(num_servers, dtype=np.int64)
    if isinstance(initial, tuple) and len(initial) == 2 and np.ndim(initial[0]) == 2:
        states, weights = np.asarray(initial[0]), np.asarray(initial[1], dtype=np.float64)
    else:
        states, weights = np.asarray(initial)[None], np.ones(1)
    is_shaped = states.ndim == 2 and states.shape == (weights.size, num_servers)
    if not is_shaped or states.dtype.kind not in "iu":
        raise ValueError(f"initial is {initial!r}; give {remedy}")
    if np.any(states < 0) or np.any(states > chain.space.cap):
        raise ValueError(f"initial is {initial!r}; give {remedy}")
    if not (np.all(weights >= 0.0) and abs(float(weights.sum()) - 1.0) <= 1e-9):
        raise ValueError("initial has probabilities that are negative or do not sum to 1")
    if chain.space.is_folded:
        states = np.sort(states, axis=1)
    numbers = chain.space.numbers(states)
    law = np.bincount(numbers, weights=weights, minlength=chain.space.num_states)
    return law / law.sum()
