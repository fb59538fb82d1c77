"""Poisson arrivals whose rate follows a Markov chain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numba
import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.sparse.csgraph import connected_components

from .._checks import check_array, check_positive, check_vector
from .._distribution import BlockStream, Stream, check_generator
from .._elimination import stationary_law
from ._base import ArrivalProcess

_BLOCK = 2048
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, init=False)
class MarkovModulated(ArrivalProcess):
    r"""Poisson arrivals at rate r_i while a Markov chain is in state i, from its stationary law.

    The rates may be in any unit of time; they are divided by the mean rate, sum_i pi_i r_i, and
    so is the generator Q: the same process on the clock of mean interarrival times.  A system
    with `arrival_rate=process.mean_rate` has it on the clock of the rates that were given.  With
    normalised rates and x = (1 pi - Q)^-1 (r - 1)

        lim Var N(t) / E N(t) = 1 + 2 sum_i pi_i (r_i - 1) x_i .

    Arguments:
        rates: (S,) arrival rates r >= 0, one per state, not all of them 0.
        generator: (S, S) matrix Q, its rows summing to 0, each state reachable from each other.

    Attributes:
        rates: the normalised rates.
        generator: the normalised generator.
        mean_rate: the mean rate of the rates that were given.
        state_probs: the stationary law pi.

    Raises: ValueError that names the argument.
    Source: [FischerMeierHellstern1993].
    """

    rates: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]
    mean_rate: float
    state_probs: tuple[float, ...]

    def __init__(self, rates: ArrayLike, generator: ArrayLike) -> None:
        remedy = "one finite arrival rate >= 0 per state, not all of them 0"
        given = check_vector("rates", rates, remedy=remedy)
        matrix = _checked_generator(generator, given.size)
        probs = stationary_law(matrix)
        mean_rate = float(probs @ given)
        if mean_rate == 0.0:
            raise ValueError(f"rates is {rates!r}; give {remedy}")
        set_field = partial(object.__setattr__, self)
        set_field("rates", tuple((given / mean_rate).tolist()))
        set_field("generator", tuple(map(tuple, (matrix / mean_rate).tolist())))
        set_field("mean_rate", mean_rate)
        set_field("state_probs", tuple(probs.tolist()))

    @cached_property
    def asymptotic_scv(self) -> float:
        """The limit of Var N(t) / E N(t)."""
        law, excess, chain = self._arrays
        return 1.0 + 2.0 * float((law * excess) @ _integrate(chain, law, excess))

    def index_of_dispersion(self, time: float) -> float:
        """Var N(t) / E N(t), 1 as t -> 0 and `asymptotic_scv` as t -> inf.

        Arguments:
            time: t > 0, in mean interarrival times.
        Raises: ValueError for another time.
        Cost: one matrix exponential.
        """
        remedy = "a finite number > 0, in mean interarrival times"
        time = check_positive("time", time, remedy=remedy)
        law, excess, chain = self._arrays
        twice = _integrate(chain, law, _integrate(chain, law, excess))
        missing = float((law * excess) @ (twice - expm(chain * time) @ twice))
        return self.asymptotic_scv - 2.0 * missing / time

    def start(self, generator: np.random.Generator) -> Stream:
        """A new stream, the chain starting from its stationary law."""
        return _ModulatedStream(self, check_generator(generator))

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self.state_probs), np.array(self.rates) - 1.0, np.array(self.generator)


class _ModulatedStream(BlockStream):
    """Events of the chain and its arrivals, one exponential and one uniform number each."""

    def __init__(self, process: MarkovModulated, generator: np.random.Generator) -> None:
        super().__init__()
        rates, chain = np.array(process.rates), np.array(process.generator)
        moves = np.where(np.eye(rates.size, dtype=bool), 0.0, chain)
        self._event_rates = rates + moves.sum(axis=1)
        # The first share of [0, 1) is an arrival, then one share per state to go to.
        self._edges = np.cumsum(np.column_stack([rates, moves]), axis=1)
        self._edges /= self._event_rates[:, None]
        self._edges[:, -1] = 1.0
        self._generator = generator
        edges = np.cumsum(process.state_probs)[:-1]
        self._state = int(np.searchsorted(edges, generator.random(), side="right"))
        self._elapsed = 0.0

    def _next_block(self) -> np.ndarray:
        times = np.empty(_BLOCK)
        count = 0
        while count == 0:
            count, self._state, self._elapsed = _modulated_times(
                self._generator.standard_exponential(_BLOCK),
                self._generator.random(_BLOCK),
                self._event_rates,
                self._edges,
                self._state,
                self._elapsed,
                times,
            )
        return times[:count]


@numba.njit(nogil=True)
def _modulated_times(waits, uniforms, event_rates, edges, state, elapsed, times):
    """Write interarrival times; their number, and the state and the time since the last arrival."""
    count = 0
    for k in range(waits.size):
        elapsed += waits[k] / event_rates[state]
        share = np.searchsorted(edges[state], uniforms[k], side="right")
        if share == 0:
            times[count] = elapsed
            count += 1
            elapsed = 0.0
        else:
            state = share - 1
    return count, state, elapsed


def _checked_generator(generator: ArrayLike, count: int) -> np.ndarray:
    remedy = f"a finite ({count}, {count}) matrix of rates >= 0 off the diagonal, rows summing to 0"
    matrix = check_array("generator", generator, remedy=remedy)
    if matrix.shape != (count, count):
        raise ValueError(f"generator is {generator!r}; give {remedy}")
    off_diagonal = np.where(np.eye(count, dtype=bool), 0.0, matrix)
    sums = np.abs(matrix.sum(axis=1))
    scale = np.abs(matrix).max(axis=1)
    if not np.isfinite(matrix).all() or (off_diagonal < 0.0).any():
        raise ValueError(f"generator is {generator!r}; give {remedy}")
    if (sums > _SUM_TOLERANCE * scale).any():
        row = int(np.argmax(sums > _SUM_TOLERANCE * scale))
        raise ValueError(f"generator[{row}] sums to {matrix[row].sum()}; give {remedy}")
    if connected_components(off_diagonal, connection="strong", return_labels=False) != 1:
        raise ValueError(
            f"generator is {generator!r}: from some state another one is never reached; give a "
            "chain in which each state can be reached from each other"
        )
    np.fill_diagonal(off_diagonal, -off_diagonal.sum(axis=1))
    return off_diagonal


def _integrate(chain: np.ndarray, law: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The integral of exp(Q t) values over t > 0, for values of mean 0 under the law."""
    projector = np.outer(np.ones(law.size), law)
    scale = np.abs(chain).max() or 1.0
    return np.linalg.solve(scale * projector - chain, values)
