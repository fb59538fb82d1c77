"""Reflected Ornstein-Uhlenbeck processes that remember how much they were pushed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ._check import check_array, check_finite, check_positive, check_vector


@dataclass(frozen=True, init=False)
class ReflectedOU:
    """A particle above a floor at 0 that is pulled back, and memories of its pushes.

        dX = (b - k X - sum_j c_j Y_j) dt + sigma dW + dL ,   X >= 0 ,
        dY_j = -kappa_j Y_j dt + r_j dL ,

    L the regulator, which grows only while X = 0. Without memories it is reflected Brownian
    motion with drift (k = 0, exponential in equilibrium) or the reflected Ornstein-Uhlenbeck
    process (k > 0, a normal law cut at 0).

    Arguments:
        drift: b, length per time.
        decay: k >= 0, per time.
        variance: sigma^2 > 0, per unit of time.
        memory_decays: kappa >= 0, shape (memory,); none by default.
        memory_weights: c, shape (memory,).
        memory_pushes: r, shape (memory,); None: all 1.

    Raises ValueError that names the argument, its value and the remedy.
    Source: reflection as in [Skorokhod1961].
    """

    drift: float
    decay: float
    variance: float
    memory_decays: tuple[float, ...]
    memory_weights: tuple[float, ...]
    memory_pushes: tuple[float, ...]

    def __init__(
        self,
        drift: float,
        decay: float = 0.0,
        variance: float = 2.0,
        memory_decays: Sequence[float] = (),
        memory_weights: Sequence[float] = (),
        memory_pushes: Sequence[float] | None = None,
    ) -> None:
        decays = _check_memories("memory_decays", memory_decays, None)
        weights = _check_memories("memory_weights", memory_weights, len(decays))
        pushes = [1.0] * len(decays) if memory_pushes is None else memory_pushes
        values = {
            "drift": check_finite("drift", drift),
            "decay": _check_decay("decay", decay),
            "variance": check_positive("variance", variance),
            "memory_decays": tuple(
                _check_decay(f"memory_decays[{j}]", value) for j, value in enumerate(decays)
            ),
            "memory_weights": weights,
            "memory_pushes": _check_memories("memory_pushes", pushes, len(decays)),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def num_memories(self) -> int:
        """Number of memories."""
        return len(self.memory_decays)

    def describe(self) -> dict:
        """What a result records of the model."""
        return {
            "model": "ReflectedOU",
            "drift": self.drift,
            "decay": self.decay,
            "variance": self.variance,
            "memory_decays": list(self.memory_decays),
            "memory_weights": list(self.memory_weights),
            "memory_pushes": list(self.memory_pushes),
        }


def _check_memories(name: str, values, count: int | None) -> tuple[float, ...]:
    if not count and check_array(name, values).shape == (0,):
        return ()
    return tuple(check_vector(name, values, count).tolist())


def _check_decay(name: str, value) -> float:
    number = check_finite(name, value)
    if number < 0:
        raise ValueError(f"{name} = {number} must not be negative; pass a rate of decay >= 0.")
    return number
