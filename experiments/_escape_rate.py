"""How fast the lowest rank leaves when the particles are too thin for it to be held.

Particles of variance s^2 that change names when they meet are free: their density u solves
u_t = (s^2/2) u_xx above the lowest one, at y(t). The drift b acts at y only. Near y, where y' -> 0,
gaps settle at the law of an Atlas model at rest, whose density is 2 b/s^2, so

    u(t, y) = 2 b/s^2 ,     (s^2/2) u_x(t, y) + y' u(t, y) = 0   (no particle is lost at y) ,

from u(0, x) = rho on x > 0. With y = kappa sqrt(t), u a function of x/sqrt(t), this gives

    rho / (2 b/s^2) = 1 - k sqrt(pi/2) e^{k^2/2} erfc(k/sqrt 2) ,     kappa = s k .

For s = 1 this is the constant of the infinite Atlas model without a floor. For rho below the
critical density 2 b/s^2 (which is b for variance 2) k is positive, y leaves the floor behind, and
a floor at 0 adds no more than a bounded shift of the start: the reflected model has the same
kappa. For rho above it k would be negative, and the floor holds the lowest rank instead: a
stationary law (our derivation, by the heat equation).
"""

from __future__ import annotations

from math import pi, sqrt

from scipy.optimize import brentq
from scipy.special import erfcx


def thinning(k: float) -> float:
    """Density far up over the critical one, 1 - k sqrt(pi/2) e^{k^2/2} erfc(k/sqrt 2)."""
    return 1 - k * sqrt(pi / 2) * float(erfcx(k / sqrt(2)))


def escape_rate(density: float, b: float, variance: float = 2.0) -> float:
    """kappa, the limit of X_(1)(t)/sqrt(t) from independent gaps of mean 1/density.

    Arguments:
        density: particles per unit of length, in (0, 2 b/variance].
        b: drift of the lowest particle, > 0.
        variance: of every particle per unit of time.

    Returns:
        kappa >= 0, length per root of time.

    Raises:
        ValueError: a density at which the floor holds the lowest rank, or none.
    """
    critical = 2 * b / variance
    if not 0 < density <= critical:
        raise ValueError(
            f"density is {density}: the lowest rank escapes from densities in (0, {critical:g}], "
            "below the critical one; lower it"
        )
    share = density / critical
    # 1 - sqrt(pi/2) k erfcx(k/sqrt 2) is below 1/k^2 and falls.
    root = brentq(lambda k: thinning(k) - share, 0.0, 2 / sqrt(share) + 1)
    return sqrt(variance) * float(root)  # type: ignore[arg-type]
