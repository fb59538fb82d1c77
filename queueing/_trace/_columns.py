"""Which columns of a table make a trace, and whether their times can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ._place import Place

ROLES = ("interarrival", "arrival", "service", "start", "end")
# The ways to make the interarrival times, and those to make the service times.
_WAYS = (
    (("interarrival",), ("arrival",)),
    (("service",), ("start", "end")),
)
_NEEDED = (
    "'interarrival' or 'arrival' (a timestamp), and 'service' or both 'start' and 'end' "
    "(timestamps)"
)


def choose_columns(
    present: Iterable[str], names: Mapping[str, str] | None, source: str
) -> dict[str, str]:
    """The column of each role that the trace is made of.

    Arguments:
        present: the columns that are there.
        names: the user's name of some roles; None: the roles are the names.
        source: what to call the table in a refusal.

    Raises:
        ValueError: for an unknown role, a column that is not there, or none or two ways to make
            interarrival or service times, listing the columns that are there.
    """
    present = list(present)
    named = _checked_names(names, present, source)
    available = {role: role for role in ROLES if role in present} | named
    chosen: dict[str, str] = {}
    for ways in _WAYS:
        possible = [way for way in ways if all(role in available for role in way)]
        preferred = [way for way in possible if any(role in named for role in way)]
        possible = preferred or possible
        if not possible:
            raise ValueError(
                f"{source} lacks columns: needed are {_NEEDED}, and its columns are "
                f"{_listed(present)}; rename them, or say columns={{'arrival': 'your name', ...}} "
                "(for arrivals alone take queueing.TraceArrivals)"
            )
        if len(possible) > 1:
            raise ValueError(
                f"{source} has columns {_listed(role for way in possible for role in way)}, two "
                "ways to make the same times; say which one by "
                f"columns={{{possible[0][0]!r}: {available[possible[0][0]]!r}}}, or drop one"
            )
        chosen |= {role: available[role] for role in possible[0]}
    return chosen


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _checked_names(
    names: Mapping[str, str] | None, present: list[str], source: str
) -> dict[str, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise ValueError(
            f"columns is {names!r}; give a dict from {', '.join(ROLES)} to your column names"
        )
    for role, column in names.items():
        if role not in ROLES:
            raise ValueError(f"columns has the key {role!r}; the keys are {', '.join(ROLES)}")
        if column not in present:
            raise ValueError(
                f"columns[{role!r}] is {column!r}, and {source} has no such column; "
                f"its columns are {_listed(present)}"
            )
    return dict(names)


def make_times(
    columns: Mapping[str, np.ndarray], names: Mapping[str, str], place: Place
) -> tuple[np.ndarray, np.ndarray]:
    """Interarrival and service times from finite columns of equal length.

    With timestamps of arrivals the first job has no interarrival time: there is one less of them.

    Raises:
        ValueError: a negative time, timestamps out of order, or times that are all 0.
    """
    if "interarrival" in columns:
        interarrivals = columns["interarrival"]
        place.refuse_first(interarrivals < 0.0, interarrivals, names["interarrival"], "is negative")
    else:
        interarrivals = _differences(columns["arrival"], names["arrival"], place)
    if "service" in columns:
        services = columns["service"]
        place.refuse_first(services < 0.0, services, names["service"], "is negative")
    else:
        services = _durations(columns, names, place)
    for what, times in (("interarrival", interarrivals), ("service", services)):
        if not times.any():
            raise ValueError(
                f"{place.source}: all {what} times are 0; give a trace with a positive one"
            )
    return interarrivals, services


def _differences(stamps: np.ndarray, name: str, place: Place) -> np.ndarray:
    if stamps.size < 2:
        raise ValueError(
            f"{place.source} has one row, so column {name!r} gives no interarrival time; "
            "give at least two arrivals"
        )
    steps = np.diff(stamps)
    if (steps < 0.0).any():
        after = int(np.argmax(steps < 0.0)) + 1
        raise ValueError(
            f"{place.source}, {place.row(after)}: column {name!r} is {stamps[after]}, before the "
            f"{stamps[after - 1]} of the row above; sort the rows by time of arrival"
        )
    return steps


def _durations(
    columns: Mapping[str, np.ndarray], names: Mapping[str, str], place: Place
) -> np.ndarray:
    start, end = columns["start"], columns["end"]
    place.refuse_first(end < start, end, names["end"], f"is before column {names['start']!r}")
    if "arrival" in columns:
        early = start < columns["arrival"]
        place.refuse_first(early, start, names["start"], f"is before column {names['arrival']!r}")
    return end - start
