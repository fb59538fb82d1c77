"""The policies that exist; tests loop over this table, and refusals list it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import check_nonnegative
from .._system import System
from ._base import Policy, RoutingLaw
from ._idle_one_first import IdleOneFirst
from ._jfsq import JFSQ
from ._jiq import JIQ
from ._jsq import JSQ
from ._least_expected_work import LeastExpectedWork
from ._marginal import Marginal
from ._nearest import Nearest
from ._power_of_d import PowerOfD
from ._random import Random
from ._rank_based import RankBased
from ._rate_proportional import RateProportional
from ._round_robin import RoundRobin

POLICIES: dict[str, type[Policy]] = {
    "Random": Random,
    "RateProportional": RateProportional,
    "JSQ": JSQ,
    "PowerOfD": PowerOfD,
    "RankBased": RankBased,
    "JFSQ": JFSQ,
    "JIQ": JIQ,
    "IdleOneFirst": IdleOneFirst,
    "RoundRobin": RoundRobin,
    "LeastExpectedWork": LeastExpectedWork,
    "Nearest": Nearest,
    "Marginal": Marginal,
}


def check_policy(policy: Any, system: System) -> Policy:
    """`policy` if it is an instance that can serve `system`.

    Raises: ValueError for a name, a class or anything else, listing the policies that exist;
        ValueError from the policy's own `validate`.
    """
    if not isinstance(policy, Policy):
        known = ", ".join(POLICIES)
        kind = "the class instead of an instance" if isinstance(policy, type) else "not a policy"
        raise ValueError(f"policy is {policy!r}, {kind}; give an instance of one of {known}")
    policy.validate(system)
    _check_law(policy, system)
    messages = policy.messages_per_job(system)
    remedy = "a finite number >= 0 from messages_per_job"
    check_nonnegative(f"policy {type(policy).__name__}: messages_per_job", messages, remedy=remedy)
    return policy


def _check_law(policy: Policy, system: System) -> None:
    """Refuse what a user's `law` must not be: engines would send jobs nowhere, in silence."""
    law = policy.law(system)
    if law is None:
        return
    name = f"policy {type(policy).__name__}: law"
    if not isinstance(law, RoutingLaw):
        raise ValueError(f"{name} is {law!r}; give a RoutingLaw, or None")
    shape = (system.num_servers,)
    for part in (law.by_rank, law.by_server):
        if not isinstance(part, np.ndarray) or part.shape != shape:
            raise ValueError(
                f"{name} has by_rank or by_server = {part!r}; give arrays of shape {shape}"
            )
    total = float(law.by_rank.sum() + law.by_server.sum())
    least = float(min(law.by_rank.min(), law.by_server.min()))
    if not (abs(total - 1.0) <= 1e-9 and least >= -1e-12):
        raise ValueError(
            f"{name} has probabilities that sum to {total:.12g}, the least {least:.6g}; give "
            "probabilities >= 0 that sum to 1"
        )
