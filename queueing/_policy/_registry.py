"""The policies that exist; tests loop over this table, and refusals list it."""

from __future__ import annotations

from typing import Any

from .._system import System
from ._base import Policy
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
    return policy
