"""The stationary oracle: exact linear algebra on a truncated chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse

from .._observables import check_observe
from ._chain import Chain
from ._existence import check_drift, check_load, recurrent_states
from ._linear_algebra import ReducedGenerator, stationary_by_elimination
from ._resolve import resolve_chain
from ._result import ExactStationary
from ._truncation import estimate_truncation_error

_LARGEST_FOR_ELIMINATION = 200
_RESIDUAL_LIMIT = 1e-10


def exact_stationary(
    system_or_regime: Any,
    policy: Any = None,
    *,
    max_length: int,
    observe: Mapping[str, Callable[[np.ndarray], Any]] | None = None,
    max_states: int = 200_000,
) -> ExactStationary:
    r"""The stationary law of a small Markov system by linear algebra, no simulation.

    The generator Q is truncated to lengths <= `max_length` (arrivals beyond are blocked) and
    pi Q = 0 solved: by sparse LU, or by the subtraction-free elimination of Grassmann, Taksar and
    Heyman up to 200 states.  Where servers are alike, and the policy treats them so, states are
    ranked lengths.  Where the buffer is at most `max_length` nothing is truncated.

    The reported truncation error is twice the estimated error of the mean total: the flow of
    blocked arrivals times what each would have added, from Poisson's equation on the truncated
    chain (exact for one server).  It is no theorem; for policies under which a lost job only
    shortens queues it covers the mean of any length, rank or gap and any probability too, since
    these differ by at most the number of missing jobs.

    Arguments:
        system_or_regime: a regime, a System with exponential service, or a PausedSystem.
        policy: the policy of a System; None otherwise.
        max_length: most jobs at a server that are considered.
        observe: the user's observables, name -> function of the ranked lengths (K,).
        max_states: refuse more states than this.

    Returns:
        The law, its means and its errors.

    Raises:
        ValueError: bad arguments; too many states; no stationary law, or no unique one.
        RuntimeError: the linear solve failed its residual check.

    Source: elimination [GrassmannTaksarHeyman1985]; the rest our derivation.
    Cost: 80 000 states of two servers take about a second, most of it the factorisation, whose
    fill-in grows with the number of servers.
    """
    functions = check_observe(observe)
    chain = resolve_chain(system_or_regime, policy, max_length=max_length, max_states=max_states)
    check_load(chain.subject)
    members = recurrent_states(chain)
    generator = sparse.csr_array(chain.generator[members][:, members])
    law, truncation_error = _solve(chain, generator, members)
    residual = float(np.abs(law @ generator).max() / max(-generator.diagonal().min(), 1e-300))
    if not residual <= _RESIDUAL_LIMIT:
        raise RuntimeError(
            f"the stationary vector leaves pi Q = {residual:.3g} of the largest rate; "
            "lower max_length or bring the rates closer together"
        )
    probabilities = np.zeros(chain.space.num_states)
    probabilities[members] = law
    boundary = float(probabilities[chain.blocked_rates > 0.0].sum())
    check_drift(chain, probabilities)
    if not np.isfinite(truncation_error):
        raise ValueError(
            f"max_length = {max_length} cuts off more jobs than it keeps: there is no stationary "
            "law, or max_length is far too small; raise max_length, lower the load or give a buffer"
        )
    return ExactStationary(chain, probabilities, functions, residual, boundary, truncation_error)


def _solve(
    chain: Chain, generator: sparse.csr_array, members: np.ndarray
) -> tuple[np.ndarray, float]:
    """The law on the recurrent states and its truncation error."""
    if members.size == 1:
        return np.ones(1), 0.0
    blocked = chain.blocked_rates[members]
    reduced = None
    if members.size > _LARGEST_FOR_ELIMINATION or blocked.any():
        reduced = ReducedGenerator(generator)
    if members.size <= _LARGEST_FOR_ELIMINATION:
        law = stationary_by_elimination(generator)
    else:
        assert reduced is not None
        law = reduced.stationary_vector()
    if not blocked.any():
        return law, 0.0
    assert reduced is not None
    ranked = chain.ranked[members]
    return law, estimate_truncation_error(generator, reduced, law, ranked, blocked)
