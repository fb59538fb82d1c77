"""How far positions get from 0 within a run, which says what precision they need."""

import numpy as np

from ._delay_model import AnyModel

# Standard deviations that a particle is allowed to be away from its mean path.
_REACH = 4


def farthest_position(model: AnyModel, start: float, horizon: float) -> float:
    """About the largest |position| of a run of length `horizon` from positions up to `start`.

    A group of the k highest ranks, if it gets away from the others, moves at the mean of its
    drifts, and so does one of the lowest; so nothing moves faster in the long run than

        max over k of mean(drifts of the k highest) ,  min over k of mean(drifts of the k lowest) .

    At a floor only upward speeds count, and none at all if the highest groups all fall: the
    positions then stay near where they are in equilibrium. An estimate, no bound. Cost: linear.
    """
    drifts = model.drifts
    counts = np.arange(1, drifts.size + 1)
    upward = float(np.max(np.cumsum(drifts[::-1]) / counts))
    downward = float(np.min(np.cumsum(drifts) / counts))
    if model.name_drifts is not None:
        upward += float(np.max(model.name_drifts))
        downward += float(np.min(model.name_drifts))
    if model.floor:
        if upward < 0:
            return abs(start)
        downward = 0.0
    spread = _REACH * float(np.sqrt(np.max(model.variances) * horizon))
    return abs(start) + max(upward, -downward, 0.0) * horizon + spread
