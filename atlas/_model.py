"""Rank-based diffusions as values: drift and variance by rank, with or without a floor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._check import (
    check_choice,
    check_count,
    check_finite,
    check_flag,
    check_positive,
    check_vector,
)

CLOSURES = ("stationary", "prelimit", "free")

# Noise counters and array shapes are 32-bit: two to this power is what they hold.
MAX_PARTICLES = 2**26


@dataclass(frozen=True, eq=False)
class InfiniteAtlas:
    """The infinite reflected Atlas process that a finite model stands for.

    Drift `b` on the lowest of infinitely many particles of variance 2, and the member
    Exp(a-b) x Exp(a) x Exp(a) x ... of its family of invariant gap laws; `a` is the density of
    the particles. `closure` says how the particles that are left out are replaced [P0].
    """

    a: float
    b: float
    closure: str

    def __post_init__(self):
        object.__setattr__(self, "a", check_positive("a", self.a))
        object.__setattr__(self, "b", check_finite("b", self.b))
        check_choice("closure", self.closure, CLOSURES)

    def drifts(self, num_particles: int) -> np.ndarray:
        """Rank drifts of the truncation to N particles."""
        drifts = np.zeros(num_particles)
        drifts[0] += self.b
        if self.closure == "stationary":
            drifts[-1] -= self.a
        elif self.closure == "prelimit":
            drifts -= self.a / num_particles
        return drifts


@dataclass(frozen=True, eq=False, init=False)
class RankDiffusion:
    """A system of particles whose drift and variance depend on their rank only.

        dX_i = sum_k drifts[k] 1{X_i has rank k} dt + sum_k sigma_k 1{X_i has rank k} dB_i + dL_i,

    with sigma_k^2 = `variances[k]`, rank 0 the lowest particle, and L_i the Skorokhod regulator at
    the floor 0 if there is one. Two optional extensions:

    * `name_drifts`: particle i has the drift name_drifts[i] besides that of its rank;
    * `q_minus`, `q_plus`: collision k, of ranks k and k+1, pushes the lower particle down by
      q_minus[k] dl_k and the upper one up by q_plus[k] dl_k, q_minus[k] + q_plus[k] = 1; without
      them collisions are symmetric, all 1/2.

    Arguments: `drifts`, `variances`, shape (rank,), per unit of time; `floor`, whether zero is a
    reflecting barrier; `infinite`, the infinite model of which this is a truncation, or None;
    `name_drifts`, shape (particle,), or None; `q_minus`, `q_plus`, shape (rank - 1,), in [0, 1],
    both or neither. Raises ValueError for vectors of other shapes, values that are not finite, a
    variance that is not positive, shares that do not add up to 1, and names together with
    asymmetric collisions. Source: [Fernholz2002], [HarrisonWilliams1987],
    [IchibaPapathanakosBannerKaratzasFernholz2011], [KaratzasPalShkolnikov2016], [P0], [P1].
    """

    drifts: np.ndarray
    variances: np.ndarray
    floor: bool
    infinite: InfiniteAtlas | None
    name_drifts: np.ndarray | None
    q_minus: np.ndarray | None
    q_plus: np.ndarray | None

    def __init__(
        self,
        drifts: ArrayLike,
        variances: ArrayLike,
        floor: bool = True,
        infinite: InfiniteAtlas | None = None,
        *,
        name_drifts: ArrayLike | None = None,
        q_minus: ArrayLike | None = None,
        q_plus: ArrayLike | None = None,
    ):
        checked_drifts = check_vector("drifts", drifts)
        checked = check_vector("variances", variances, length=checked_drifts.size)
        if np.any(checked <= 0):
            index = int(np.flatnonzero(checked <= 0)[0])
            raise ValueError(
                f"variances[{index}] = {checked[index]} must be positive; a particle without "
                "noise is no diffusion."
            )
        check_count("num_particles", checked_drifts.size, maximum=MAX_PARTICLES)
        if name_drifts is not None:
            name_drifts = check_vector("name_drifts", name_drifts, length=checked_drifts.size)
        q_minus, q_plus = _check_shares(q_minus, q_plus, checked_drifts.size - 1)
        if name_drifts is not None and q_minus is not None:
            raise ValueError(
                "name_drifts together with q_minus and q_plus: no scheme or law covers both; pass "
                "one of the two."
            )
        object.__setattr__(self, "drifts", checked_drifts)
        object.__setattr__(self, "variances", checked)
        object.__setattr__(self, "floor", check_flag("floor", floor))
        object.__setattr__(self, "infinite", _check_infinite(infinite, self.floor))
        object.__setattr__(self, "name_drifts", name_drifts)
        object.__setattr__(self, "q_minus", q_minus)
        object.__setattr__(self, "q_plus", q_plus)

    @property
    def num_particles(self) -> int:
        """Number of particles N."""
        return self.drifts.size

    @property
    def num_gaps(self) -> int:
        """N with a floor (the first gap is that of the lowest particle to it), N - 1 without."""
        return self.num_particles if self.floor else self.num_particles - 1

    @property
    def has_equal_variances(self) -> bool:
        """Whether all ranks have the same variance."""
        return bool(np.all(self.variances == self.variances[0]))

    @property
    def has_names(self) -> bool:
        """Whether particles have drifts of their own, so that they are not exchangeable."""
        return self.name_drifts is not None

    @property
    def has_symmetric_collisions(self) -> bool:
        """Whether every collision pushes both particles by the same amount."""
        return self.q_minus is None or bool(np.all(self.q_minus == 0.5))

    def describe(self) -> dict:
        """What a result records of the model, as values that JSON holds."""
        description: dict = {"num_particles": self.num_particles, "floor": self.floor}
        if self.infinite is not None:
            infinite = self.infinite
            description |= {"a": infinite.a, "b": infinite.b, "closure": infinite.closure}
            if self._is_truncation_of(infinite):
                return description
        optional = {
            "name_drifts": self.name_drifts,
            "q_minus": self.q_minus,
            "q_plus": self.q_plus,
        }
        return description | {
            "drifts": self.drifts.tolist(),
            "variances": self.variances.tolist(),
            **{name: value.tolist() for name, value in optional.items() if value is not None},
        }

    def _is_truncation_of(self, infinite: InfiniteAtlas) -> bool:
        """Whether the parameters of the infinite model say all there is to say."""
        return (
            np.array_equal(self.drifts, infinite.drifts(self.num_particles))
            and bool(np.all(self.variances == 2))
            and self.name_drifts is None
            and self.q_minus is None
        )


def _check_shares(q_minus, q_plus, num_collisions: int):
    """The shares of the two particles of each collision, or (None, None)."""
    if q_minus is None and q_plus is None:
        return None, None
    if q_minus is None or q_plus is None:
        raise ValueError(
            f"q_minus = {q_minus!r} and q_plus = {q_plus!r}: pass both, or neither for symmetric "
            "collisions."
        )
    if num_collisions == 0:
        raise ValueError("q_minus and q_plus are given, but a single particle has no collisions.")
    lower = check_vector("q_minus", q_minus, length=num_collisions)
    upper = check_vector("q_plus", q_plus, length=num_collisions)
    for name, shares in (("q_minus", lower), ("q_plus", upper)):
        outside = np.flatnonzero((shares < 0) | (shares > 1))
        if outside.size:
            index = int(outside[0])
            raise ValueError(f"{name}[{index}] = {shares[index]} must lie in [0, 1].")
    unbalanced = np.flatnonzero(np.abs(lower + upper - 1) > 1e-12)
    if unbalanced.size:
        index = int(unbalanced[0])
        raise ValueError(
            f"q_minus[{index}] + q_plus[{index}] = {lower[index] + upper[index]} must be 1: they "
            f"are the shares of one collision; pass q_plus[{index}] = {1 - lower[index]}."
        )
    return lower, upper


def _check_infinite(infinite, floor: bool):
    if infinite is not None and not isinstance(infinite, InfiniteAtlas):
        raise ValueError(f"infinite = {infinite!r} is no InfiniteAtlas; pass one, or None.")
    if infinite is not None and not floor:
        raise ValueError(
            "floor = False, but the infinite reflected Atlas process has a floor; drop `infinite`."
        )
    return infinite


def reflected_atlas(
    num_particles: int, a: float, b: float, closure: str = "stationary"
) -> RankDiffusion:
    """The reflected Atlas process of N particles, a truncation of the infinite one.

    Every particle has variance 2, the lowest has drift b, zero is a reflecting floor. The infinite
    model has the invariant gap laws Exp(a-b) x Exp(a) x Exp(a) x ..., one for each a > b; the
    particles that are left out are replaced by the `closure`:

    * ``"stationary"``: drift -a on the highest, the mean push of the missing particles; the gap
      law is then exactly Exp(a-b), Exp(a), ..., Exp(a) for every N;
    * ``"prelimit"``: drift -a/N on all, the law of the system with N servers itself, gap rates
      a - b, then a (N-k+1)/N;
    * ``"free"``: nothing, for transients; a is then the density of the particles at the start.

    Arguments: `num_particles` N >= 1; `a`, particles per unit of length; `b` >= 0, length per unit
    of time. Raises ValueError for values that are not finite, b < 0, a <= 0, or b >= a where the
    closure would be unstable. Source: [P0].
    """
    count = check_count("num_particles", num_particles, maximum=MAX_PARTICLES)
    check_choice("closure", closure, CLOSURES)
    a = check_positive("a", a, "a is the density of the particles")
    b = check_finite("b", b)
    if b < 0:
        raise ValueError(f"b = {b} must not be negative: it pushes the lowest particle up.")
    if b >= a and closure != "free":
        raise ValueError(
            f"b = {b} must be below a = {a}: the lowest gap is Exp(a - b). Lower b, raise a, or "
            "take closure='free' for a transient of the infinite model."
        )
    infinite = InfiniteAtlas(a, b, closure)
    return RankDiffusion(infinite.drifts(count), np.full(count, 2.0), True, infinite)
