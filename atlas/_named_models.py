"""The rank-based diffusions that have names of their own in the literature."""

import numpy as np
from numpy.typing import ArrayLike

from ._check import check_count, check_finite, check_flag, check_positive
from ._gap_process import GapProcess
from ._model import MAX_PARTICLES, RankDiffusion


def atlas_model(num_particles: int, drift: float) -> RankDiffusion:
    """The Atlas model: drift on the lowest particle alone, variance 1, no floor.

    Stationary gap rates 2 drift (N - k)/N, k = 1 ... N-1.

    Arguments: `num_particles` N >= 2; `drift` > 0, length per unit of time. Raises ValueError for
    others. Source: [Fernholz2002], [BannerFernholzKaratzas2005].
    """
    count = check_count("num_particles", num_particles, 2, MAX_PARTICLES)
    drifts = np.zeros(count)
    drifts[0] = check_positive("drift", drift, "without a push on the lowest they drift apart")
    return RankDiffusion(drifts, np.ones(count), floor=False)


def infinite_atlas(num_particles: int, drift: float, c: float = 0.0) -> RankDiffusion:
    """N particles of the infinite Atlas model without floor, closed to keep an invariant law.

    The infinite model (drift g on the lowest, variance 1) has the invariant gap laws
    Exp(2g + k c), k = 1, 2, ..., one for each c >= 0. The drift -(g + N c/2) on the highest of N
    replaces the particles that are left out, and the N - 1 gaps have exactly these rates.

    Arguments: `num_particles` N >= 2; `drift` g > 0; `c` >= 0, per unit of length. Raises
    ValueError for others. Source: [PalPitman2008], [SarantsevTsai2017].
    """
    count = check_count("num_particles", num_particles, 2, MAX_PARTICLES)
    g = check_positive("drift", drift, "the lowest particle is pushed up")
    c = check_finite("c", c)
    if c < 0:
        raise ValueError(f"c = {c} must not be negative: gap k has the rate 2 drift + k c.")
    drifts = np.zeros(count)
    drifts[0] = g
    drifts[-1] = -(g + count * c / 2)
    return RankDiffusion(drifts, np.ones(count), floor=False)


def first_order(drifts: ArrayLike, variances: ArrayLike, floor: bool = False) -> RankDiffusion:
    """A first-order model: any drift and any variance for each rank.

    Stable without a floor if the average drift of the k lowest exceeds that of all, with a floor
    if the drifts of the ranks k ... N add up to less than zero, for each k; an unstable model is
    no error, since transients make sense, but has no stationary law.

    Arguments: `drifts`, `variances`, shape (rank,); `floor`. Raises ValueError as `RankDiffusion`.
    One particle without a floor is Brownian motion, which has no gaps. Source:
    [Fernholz2002], [BannerFernholzKaratzas2005].
    """
    return RankDiffusion(drifts, variances, check_flag("floor", floor))


def linear_rank_drift(
    num_particles: int,
    slope: float,
    mean_drift: float = 0.0,
    variance: float = 1.0,
    floor: bool = False,
) -> RankDiffusion:
    """Drifts that fall linearly in the rank: mean_drift + slope ((N + 1)/2 - k), k = 1 ... N.

    Without a floor the stationary gap rates are slope k (N - k) / variance. With a floor they are
    -(N - k + 1) (2 mean_drift - slope (k - 1)) / variance, stable if mean_drift < 0.

    Arguments: `num_particles` N >= 1; `slope` >= 0; `mean_drift`; `variance` > 0; `floor`. Raises
    ValueError for others. The formulas are our derivation.
    """
    count = check_count("num_particles", num_particles, maximum=MAX_PARTICLES)
    slope = check_finite("slope", slope)
    if slope < 0:
        raise ValueError(f"slope = {slope} must not be negative: higher ranks have lower drifts.")
    mean = check_finite("mean_drift", mean_drift)
    variance = check_positive("variance", variance)
    drifts = mean + slope * ((count + 1) / 2 - np.arange(1, count + 1))
    return RankDiffusion(drifts, np.full(count, variance), check_flag("floor", floor))


def hybrid_atlas(
    rank_drifts: ArrayLike, name_drifts: ArrayLike, variances: ArrayLike
) -> RankDiffusion:
    """A hybrid Atlas model: particle i has the drift of its rank plus name_drifts[i], no floor.

    With variances affine in the rank its law is in closed form; see `stationary_gaps`.

    Arguments: `rank_drifts`, `variances`, shape (rank,); `name_drifts`, shape (particle,). Raises
    ValueError for other shapes, or fewer than two particles.
    Source: [IchibaPapathanakosBannerKaratzasFernholz2011].
    """
    model = RankDiffusion(rank_drifts, variances, False, name_drifts=name_drifts)
    check_count("num_particles", model.num_particles, 2)
    return model


def asymmetric_collisions(
    drifts: ArrayLike, variances: ArrayLike, q_minus: ArrayLike, q_plus: ArrayLike
) -> RankDiffusion:
    """Ranked particles that share the push of a collision unequally, no floor.

        dX_(k) = drifts[k] dt + sigma_k dB_k + q_plus[k-1] dl_{k-1} - q_minus[k] dl_k,

    where index k of the shares is the collision of ranks k and k+1, l_k the Skorokhod push that
    keeps them in order, and q_minus[k] + q_plus[k] = 1. Product law if all variances are equal and
    so are all q_minus, among others.

    Arguments: `drifts`, `variances`, shape (rank,); `q_minus`, `q_plus`, shape (rank - 1,), in
    [0, 1]. Raises ValueError for other shapes, shares that do not add up to 1, and shares that
    make the reflection matrix singular. Source: [KaratzasPalShkolnikov2016].
    """
    model = RankDiffusion(drifts, variances, False, q_minus=q_minus, q_plus=q_plus)
    if not GapProcess.from_model(model).is_m_matrix():
        raise ValueError(
            f"q_minus = {np.asarray(q_minus).tolist()} makes the reflection matrix singular: "
            "pushes are handed back and forth without end. Take shares strictly between 0 and 1."
        )
    return model
