"""Rank-based diffusions whose drift knows the ranks of a time ago, as values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ._check import check_count, check_finite, check_flag, check_vector
from ._model import MAX_PARTICLES, InfiniteAtlas, RankDiffusion

# A delay this close to a whole number of steps, relatively, is one.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, init=False)
class DelayDiffusion:
    """A system of particles whose drift depends on their ranks at an earlier time.

        dX_i = (name_drifts[i] + sum_k drifts[k] 1{X_i(t - delay) had rank k}) dt
               + sigma_i dB_i + dL_i,

    with sigma_i^2 = `variances[i]`, rank 0 the lowest particle, L_i the Skorokhod regulator at the
    floor 0 if there is one, and X(t) = X(0) for t < 0. Particles that were tied share the drifts
    of their ranks equally, so that two tied particles have no drift towards each other. This is
    the limit of queues whose jobs travel for the time `delay` to the queue that was chosen.

    Arguments: `drifts`, shape (rank,), and `variances`, >= 0, shape (particle,), per unit of time;
    `delay` >= 0, in units of time; `floor`, whether zero is a reflecting barrier; `name_drifts`,
    shape (particle,), or None. Without noise (all variances 0) the path is deterministic. Raises
    ValueError for vectors of other shapes, values that are not finite, a negative variance or
    delay. Source: [P4].
    """

    drifts: np.ndarray
    variances: np.ndarray
    delay: float
    floor: bool
    name_drifts: np.ndarray

    #: Particles are told apart: where one goes depends on where that one was.
    has_names: ClassVar[bool] = True
    infinite: ClassVar[InfiniteAtlas | None] = None

    def __init__(
        self,
        drifts: ArrayLike,
        variances: ArrayLike,
        delay: float,
        floor: bool = True,
        *,
        name_drifts: ArrayLike | None = None,
    ):
        checked_drifts = check_vector("drifts", drifts)
        count = check_count("num_particles", checked_drifts.size, maximum=MAX_PARTICLES)
        checked = check_vector("variances", variances, length=count)
        if np.any(checked < 0):
            index = int(np.flatnonzero(checked < 0)[0])
            raise ValueError(
                f"variances[{index}] = {checked[index]} must not be negative; 0 is no noise."
            )
        names = np.zeros(count) if name_drifts is None else name_drifts
        object.__setattr__(self, "drifts", checked_drifts)
        object.__setattr__(self, "variances", checked)
        object.__setattr__(self, "delay", _check_delay(delay))
        object.__setattr__(self, "floor", check_flag("floor", floor))
        object.__setattr__(self, "name_drifts", check_vector("name_drifts", names, length=count))

    @property
    def num_particles(self) -> int:
        """Number of particles N."""
        return self.drifts.size

    @property
    def num_gaps(self) -> int:
        """N with a floor (the first gap is that of the lowest particle to it), N - 1 without."""
        return self.num_particles if self.floor else self.num_particles - 1

    def without_delay(self) -> RankDiffusion:
        """The same particles with delay 0, which have laws in closed form.

        Raises ValueError where variances differ by particle or are 0.
        """
        if np.any(self.variances != self.variances[0]):
            raise ValueError(
                f"variances = {self.variances} differ by particle, and those of a RankDiffusion "
                "by rank; give one value to all."
            )
        names = self.name_drifts if np.any(self.name_drifts) else None
        return RankDiffusion(self.drifts, self.variances, self.floor, name_drifts=names)

    def lag(self, step: float) -> int:
        """The delay in steps; ValueError where it is no whole number of them."""
        count = round(self.delay / step)
        if abs(count * step - self.delay) > _TOLERANCE * self.delay:
            whole = max(1, int(np.ceil(self.delay / step)))
            raise ValueError(
                f"step = {step} does not divide the delay {self.delay}; take delay / m for a "
                f"whole m, such as {self.delay / whole!r}."
            )
        return count

    def describe(self) -> dict:
        """What a result records of the model, as values that JSON holds."""
        return {
            "num_particles": self.num_particles,
            "floor": self.floor,
            "drifts": self.drifts.tolist(),
            "variances": self.variances.tolist(),
            "name_drifts": self.name_drifts.tolist(),
            "delay": self.delay,
        }


def delay_diffusion(pull: float, delay: float, variance: float = 1.0) -> DelayDiffusion:
    """Two symmetric stations fed by old information: their difference D = X_1 - X_2 obeys

        dD = -pull sgn(D(t - delay)) dt + sqrt(variance) dW ,   sgn(0) = 0 .

    Two particles without a floor; the lower one was pushed up by pull / 2, the other down, each
    has half the variance. |D| is the gap. For delay 0 it has the law Exp(2 pull / variance), for
    variance 0 it is a triangle wave of period 4 delay and amplitude pull delay.

    Arguments: `pull`, Lambda chi of [P4], length per unit of time; `delay` >= 0, in units of time;
    `variance` >= 0 of D per unit of time. Returns a `DelayDiffusion`; raises ValueError for others.
    Source: [P4].
    """
    half = check_finite("pull", pull) / 2
    noise = check_finite("variance", variance)
    if noise < 0:
        raise ValueError(f"variance = {variance!r} must not be negative; 0 is no noise.")
    return DelayDiffusion([half, -half], [noise / 2, noise / 2], delay, floor=False)


# What `simulate` solves.
AnyModel = RankDiffusion | DelayDiffusion


def _check_delay(delay) -> float:
    number = check_finite("delay", delay, "pass a finite time >= 0")
    if number < 0:
        raise ValueError(f"delay = {delay!r} must not be negative; pass a finite time >= 0.")
    return number
