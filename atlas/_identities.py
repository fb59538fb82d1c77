"""Stationary identities: what the generator says about any smooth function of the ranks."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ._check import check_array
from ._model import RankDiffusion
from .ensemble import Estimate, jax_settings


def second_moment_defect(model: RankDiffusion, ranked) -> Estimate:
    """The defect of the generator's identity for f(x) = x^2, zero in stationarity.

        sum_k delta_k E X_(k) + (1/2) sum_k sigma_k^2 = 0 .

    Unlike regulator rates, which are balances that every scheme keeps, it measures the bias of a
    scheme, also for models without a law in closed form (our derivation). `generator_defect` is the
    same for any smooth f, and for models without a floor.

    Arguments: `ranked`, stationary positions of independent replicas, shape (..., replica, rank).
    Returns an `Estimate` of shape (...). Raises ValueError for a model without a floor, where no
    stationary positions exist, with name drifts or asymmetric collisions, or another number of
    ranks.
    """
    if not model.floor:
        raise ValueError("model has no floor, so its positions have no stationary law.")
    if model.has_names or not model.has_symmetric_collisions:
        raise ValueError(
            "model has name drifts or asymmetric collisions; call generator_defect with f = x^2."
        )
    ranked = _check_ranks(model, ranked)
    samples = ranked @ model.drifts + np.sum(model.variances) / 2
    return Estimate.from_samples(samples, axis=-1)


def generator_defect(
    model: RankDiffusion, ranked, f: Callable, *, names: np.ndarray | None = None
) -> Estimate:
    """The mean of the generator applied to a sum over particles, zero in stationarity.

        F = sum_k w_k f(X_(k)) ,  w_{k+1} / w_k = q_minus[k] / q_plus[k] ,  w_1 = 1 :
        E sum_k w_k [f'(X_(k)) delta_k + (1/2) f''(X_(k)) sigma_k^2] - f'(0) sum_k w_k delta_k = 0

    with a floor, where the push at the floor grows at the mean rate -sum_k w_k delta_k. Weights are
    all 1 for symmetric collisions; they make collisions drop out. Without a floor f is applied to
    X_(k) - C, C = sum_k p_k X_(k), p = w / sum w, which no collision moves either:

        E sum_k w_k [f' (delta_k - delta) + (1/2) f'' (sigma_k^2 (1 - 2 p_k) + s^2)] = 0 ,

    delta = sum p_k delta_k, s^2 = sum p_k^2 sigma_k^2. delta_k includes the name drift of the
    particle at rank k. It measures the bias of a scheme for any model (our derivation).

    Arguments: `ranked`, stationary positions of independent replicas, shape (..., replica, rank);
    without a floor any common shift is allowed; `f`, a scalar function of a scalar, twice
    differentiable by JAX; `names`, of the shape of `ranked`, which particle has each rank, for name
    drifts. Returns an `Estimate` of shape (...). Raises ValueError for other shapes, missing names,
    and collisions that push one side only. Cost: two derivatives of f at each position.
    """
    positions = _check_ranks(model, ranked)
    drifts = _drifts_by_rank(model, positions, names)
    weights = _weights(model)
    if model.floor:
        first, second = _derivatives(f, positions)
        at_floor = _derivatives(f, np.zeros(1))[0][0]
        interior = weights * (first * drifts + second * model.variances / 2)
        samples = np.sum(interior - at_floor * weights * drifts, axis=-1)
        return Estimate.from_samples(samples, axis=-1)
    shares = weights / weights.sum()
    first, second = _derivatives(f, positions - (positions @ shares)[..., None])
    centred = drifts - np.sum(drifts * shares, axis=-1, keepdims=True)
    variances = model.variances * (1 - 2 * shares) + np.sum(shares**2 * model.variances)
    samples = np.sum(weights * (first * centred + second * variances / 2), axis=-1)
    return Estimate.from_samples(samples, axis=-1)


def _check_ranks(model: RankDiffusion, ranked) -> np.ndarray:
    ranked = check_array("ranked", ranked)
    if ranked.ndim < 2 or ranked.shape[-1] != model.num_particles:
        raise ValueError(
            f"ranked has shape {ranked.shape}; pass (..., replica, {model.num_particles})."
        )
    return ranked


def _drifts_by_rank(model: RankDiffusion, ranked: np.ndarray, names) -> np.ndarray:
    if model.name_drifts is None:
        return model.drifts
    if names is None or np.shape(names) != ranked.shape:
        raise ValueError(
            f"names has shape {None if names is None else np.shape(names)}; the model has name "
            f"drifts, so pass which particle has each rank, shape {ranked.shape}: "
            "simulate(..., names=True).names."
        )
    return model.drifts + model.name_drifts[np.asarray(names)]


def _weights(model: RankDiffusion) -> np.ndarray:
    if model.q_minus is None or model.q_plus is None:
        return np.ones(model.num_particles)
    if np.any(model.q_minus * model.q_plus == 0):
        raise ValueError(
            "q_minus or q_plus holds a 0: a collision that pushes one particle only drops out of "
            "no sum over particles."
        )
    return np.cumprod(np.concatenate([[1.0], model.q_minus / model.q_plus]))


def _derivatives(f: Callable, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f' and f'' at each position, in float64."""
    if not callable(f):
        raise ValueError(f"f = {f!r} is no function of a position.")
    with jax_settings(x64=True):
        points = jnp.asarray(positions.ravel())
        first = jax.grad(lambda x: jnp.asarray(f(x)))
        slope, curvature = jax.vmap(jax.value_and_grad(first))(points)
        return np.asarray(slope).reshape(positions.shape), np.asarray(curvature).reshape(
            positions.shape
        )
