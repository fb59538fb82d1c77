"""What a policy knows of the lengths: they as they were."""

from __future__ import annotations

from dataclasses import dataclass

from ._checks import check_nonnegative, check_positive


@dataclass(frozen=True)
class Refreshed:
    """Lengths are shown at the times period, 2 period, ... and stay as shown until the next.

    What is shown at a refresh is the state just before it; until the first refresh it is the start.

    Arguments:
        period: time between refreshes, finite and > 0.
    Raises: ValueError that names the argument.
    Source: [Mitzenmacher2000], the periodic update of a bulletin board.
    """

    period: float

    def __post_init__(self) -> None:
        remedy = "a finite time > 0 between refreshes"
        object.__setattr__(self, "period", check_positive("period", self.period, remedy=remedy))


@dataclass(frozen=True)
class Delayed:
    """At time t lengths are shown as they were at time t - delay, at first as at the start.

    Arguments:
        delay: age of what is shown, finite and >= 0; 0 shows the present.
    Raises: ValueError that names the argument.
    Source: [Mitzenmacher2000], the continuous update of a bulletin board.
    """

    delay: float

    def __post_init__(self) -> None:
        remedy = "a finite time >= 0, the age of what is shown"
        object.__setattr__(self, "delay", check_nonnegative("delay", self.delay, remedy=remedy))


Information = Refreshed | Delayed


def checked_information(information: object) -> Information | None:
    """`information` if it is None or an instance; a ValueError otherwise."""
    if information is None or isinstance(information, Refreshed | Delayed):
        return information
    raise ValueError(
        f"information is {information!r}; give None (the present), Refreshed(period) or "
        "Delayed(delay), an instance"
    )
