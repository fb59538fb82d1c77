"""Exact losses of N servers without waiting rooms."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve
from scipy.special import gammaln, logsumexp

Pair = tuple[int, int]
Rates = tuple[float, float]


def random_idle_law(sizes: Pair, rates: Rates, arrivals: float) -> np.ndarray:
    """The law of the busy servers of two classes where jobs go to an idle one at random: JSQ.

    Reversible:

        P(i, j) ~ C(n_1, i) C(n_2, j) Lambda^{i+j} (N-i-j)!/N! mu_1^{-i} mu_2^{-j} ;

    equal rates give Erlang's formula (our derivation, by detailed balance).

    Arguments:
        sizes: servers of each class.
        rates: their speeds.
        arrivals: Lambda, jobs per unit of time.

    Returns:
        (n_1 + 1, n_2 + 1) probabilities, the last that of a loss. Cost: n_1 n_2.
    """
    i, j = np.ogrid[: sizes[0] + 1, : sizes[1] + 1]
    log_law = _log_choose(sizes[0], i) + _log_choose(sizes[1], j) + gammaln(sum(sizes) - i - j + 1)
    log_law = log_law + (i + j) * np.log(arrivals) - i * np.log(rates[0]) - j * np.log(rates[1])
    return np.exp(log_law - logsumexp(log_law))


def _log_choose(size: int, k: np.ndarray) -> np.ndarray:
    return gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)


def ordered_law(sizes: Pair, rates: Rates, arrivals: float) -> np.ndarray:
    """The same where jobs go to an idle server of the first class if there is one: JFSQ.

    By a sparse solve. Arguments and returns as `random_idle_law`. Cost: below a second up to some
    ten thousand states.
    """
    index = np.arange((sizes[0] + 1) * (sizes[1] + 1)).reshape(sizes[0] + 1, -1)
    i, j = np.indices(index.shape)
    flows = (
        (index[:-1], index[1:], np.full(index[1:].shape, arrivals)),
        (index[-1:, :-1], index[-1:, 1:], np.full((1, sizes[1]), arrivals)),
        (index[1:], index[:-1], rates[0] * i[1:]),
        (index[:, 1:], index[:, :-1], rates[1] * j[:, 1:]),
    )
    origins, targets, values = (np.concatenate([f[k].ravel() for f in flows]) for k in range(3))
    generator = sparse.csr_array(
        (
            np.concatenate([values, -values]),
            (np.concatenate([targets, origins]), np.concatenate([origins, origins])),
        ),
        shape=(index.size, index.size),
    )
    # One balance equation is implied by the others; the sum takes its place.
    equations = sparse.vstack([generator[1:], np.ones((1, index.size))], format="csc")
    right = np.zeros(index.size)
    right[-1] = 1.0
    return np.reshape(np.asarray(spsolve(equations, right)), index.shape)
