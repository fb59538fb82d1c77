"""All observables that a Markov state determines, the user's own included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._observables import StateFunction
from ._chain import Chain
from ._job_observables import JOB_OBSERVABLES
from ._state_observables import LAW_OBSERVABLES, STATE_OBSERVABLES, system_of


def _messages_per_job(chain: Chain) -> float:
    system = system_of(chain, "messages_per_job")
    assert chain.subject.policy is not None
    return float(chain.subject.policy.messages_per_job(system))


CONSTANT_OBSERVABLES: dict[str, Callable[[Chain], float]] = {
    "messages_per_job": _messages_per_job,
}


def mean_observable(
    chain: Chain, law: np.ndarray, name: str, observe: Mapping[str, StateFunction]
) -> Any:
    """The mean of one observable under a law (S,) on the states.

    Raises:
        ValueError: an unknown name, listing the known ones, or one that the system lacks.
    """
    if name in STATE_OBSERVABLES:
        return _plain(law @ STATE_OBSERVABLES[name](chain))
    if name in LAW_OBSERVABLES:
        return LAW_OBSERVABLES[name](chain, law)
    if name in JOB_OBSERVABLES:
        system_of(chain, name)
        assert chain.routing is not None
        return _plain(JOB_OBSERVABLES[name](chain, law, chain.routing))
    if name in CONSTANT_OBSERVABLES:
        return CONSTANT_OBSERVABLES[name](chain)
    if name in observe:
        values = np.array([observe[name].value(state) for state in chain.ranked])
        return _plain(np.tensordot(law, values, axes=1))
    tables = (STATE_OBSERVABLES, LAW_OBSERVABLES, JOB_OBSERVABLES, CONSTANT_OBSERVABLES, observe)
    known = ", ".join(known for table in tables for known in table)
    raise ValueError(f"name is {name!r}; give one of {known}")


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
