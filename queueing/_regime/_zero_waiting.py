"""Many servers of unlike speeds with small buffers, where the fastest of the shortest is joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_number, check_size, check_vector
from .._policy import JFSQ, Policy, check_policy
from .._system import System
from ._base import Regime, Scaling
from ._start import Start


def _two_classes(size: int) -> np.ndarray:
    return np.where(np.arange(size) < -(-size // 2), 3.0, 1.0)


def _few_fast(size: int) -> np.ndarray:
    return np.where(np.arange(size) < -(-size // 10), 5.0, 1.0)


# Rates up to a common factor, the fastest first.
PROFILES: dict[str, Callable[[int], np.ndarray]] = {
    "homogeneous": np.ones,
    "two_classes": _two_classes,
    "linear": lambda size: np.linspace(3.0, 1.0, size),
    "few_fast": _few_fast,
}


@dataclass(frozen=True, eq=False)
class ZeroWaiting(Regime):
    """The regime of [P2] at one N; made by `zero_waiting`, where everything is explained."""

    num_servers: int
    alpha: float
    service_rates: np.ndarray
    buffer: int | None
    policy: Policy = JFSQ()  # noqa: RUF009  (frozen, so one instance can serve all)

    def __post_init__(self) -> None:
        remedy = "a number strictly between 0 and 1"
        alpha = check_number("alpha", self.alpha, remedy=remedy)
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha is {self.alpha!r}; give {remedy}")
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "buffer", self.system.buffer)
        check_policy(self.policy, self.system)

    @property
    def arrival_rate(self) -> float:
        """N (1 - N^-alpha), jobs per unit of time."""
        return self.num_servers * (1.0 - float(self.num_servers) ** -self.alpha)

    @cached_property
    def system(self) -> System:
        """N servers, sum of rates N; arrivals N (1 - N^-alpha)."""
        return System(self.service_rates, self.arrival_rate, buffer=self.buffer)

    @property
    def scaling(self) -> Scaling:
        """Lengths and times as they are."""
        return Scaling(length=1.0, time=1.0)

    @property
    def _what_is_proved(self) -> str:
        return (
            "[P2] proves that the probability of waiting and the mean wait vanish as the number of "
            "servers grows, for every alpha in (0, 1)"
        )

    def stationary_start(self) -> Start:
        """Refuses: the stationary law is not known in closed form.

        Raises:
            ValueError: always, with the remedy.
        """
        raise ValueError(
            "initial is 'stationary', whose law is not known in closed form for zero_waiting; "
            "start 'empty', or from one job at each server"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZeroWaiting):
            return NotImplemented
        return self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)

    @property
    def _settings(self) -> tuple[object, ...]:
        return self.alpha, self.service_rates.tobytes(), self.buffer, self.policy


def zero_waiting(
    num_servers: int,
    alpha: float,
    service_rates: str | ArrayLike = "homogeneous",
    buffer: int | None = None,
    policy: Policy = JFSQ(),  # noqa: B008  (frozen, so one instance can serve all)
) -> ZeroWaiting:
    r"""Many servers, hardly any spare capacity, and the fastest of the shortest queues is joined.

    N servers of rates mu_i, sum mu_i = N, receive N (1 - N^-alpha) jobs per unit of time.  With
    finite buffers and JFSQ the probability of waiting and the mean wait vanish as N grows, for
    every alpha in (0, 1); alpha = 1/2 is the Halfin-Whitt scale.  A job that meets N full servers
    is lost.

    Arguments:
        num_servers: N, int >= 1.
        alpha: in (0, 1); the load is 1 - N^-alpha.
        service_rates: (N,) rates up to a common factor, or a profile: "homogeneous";
            "two_classes": half of the servers three times as fast as the others; "linear": evenly
            spaced, the fastest three times as fast as the slowest; "few_fast": a tenth of the
            servers five times as fast as the others.  They are scaled to sum N.
        buffer: most jobs at a server, in service included, or None for no limit.
        policy: JFSQ, or another to compare with.

    Returns:
        The regime.

    Raises:
        ValueError: naming the argument, its value and the remedy.

    Source: [P2].
    """
    count = check_size("num_servers", num_servers)
    return ZeroWaiting(count, alpha, _normalised(service_rates, count), buffer, policy)


def _normalised(service_rates: str | ArrayLike, count: int) -> np.ndarray:
    names = ", ".join(repr(name) for name in PROFILES)
    remedy = f"{count} finite rates >= 0, not all 0, or one of {names}"
    if isinstance(service_rates, str):
        if service_rates not in PROFILES:
            raise ValueError(f"service_rates is {service_rates!r}; give {remedy}")
        rates = PROFILES[service_rates](count)
    else:
        rates = check_vector("service_rates", service_rates, remedy=remedy)
    if rates.size != count or not rates.any():
        raise ValueError(
            f"service_rates has {rates.size} entries of sum {rates.sum():.6g}; give {remedy}"
        )
    rates = rates / rates.sum() * count
    rates.flags.writeable = False
    return rates
