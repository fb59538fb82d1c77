"""Stationary identities: what the generator says about any smooth function of the ranks."""

import numpy as np

from ._model import RankDiffusion
from .ensemble import Estimate


def second_moment_defect(model: RankDiffusion, ranked) -> Estimate:
    """The defect of the generator's identity for f(x) = x^2, zero in stationarity.

        sum_k delta_k E X_(k) + (1/2) sum_k sigma_k^2 = 0 .

    Unlike regulator rates, which are balances that every scheme keeps, it measures the bias of a
    scheme, also for models without a law in closed form (our derivation).

    Arguments: `ranked`, stationary positions of independent replicas, shape (..., replica, rank).
    Returns an `Estimate` of shape (...). Raises ValueError for a model without a floor, where no
    stationary positions exist, or another number of ranks.
    """
    if not model.floor:
        raise ValueError("model has no floor, so its positions have no stationary law.")
    ranked = np.asarray(ranked, dtype=np.float64)
    if ranked.ndim < 2 or ranked.shape[-1] != model.num_particles:
        raise ValueError(
            f"ranked has shape {ranked.shape}; pass (..., replica, {model.num_particles})."
        )
    samples = ranked @ model.drifts + np.sum(model.variances) / 2
    return Estimate.from_samples(samples, axis=-1)
