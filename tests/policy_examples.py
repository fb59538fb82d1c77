"""One instance of every registered policy, so that a new one is tried the moment it is there."""

from __future__ import annotations

import numpy as np

from queueing import JSQ, POLICIES, Marginal, Policy, PowerOfD, RankBased


def policy_examples(num_servers: int) -> dict[str, Policy]:
    """By name; policies that need arguments are listed here, the others are made without."""
    ranks = np.arange(num_servers, 0, -1, dtype=np.float64)
    given = {
        "PowerOfD": PowerOfD(min(2, num_servers)),
        "RankBased": RankBased(ranks / ranks.sum()),
        "Marginal": Marginal(JSQ(), fraction=0.4),
    }
    return {name: given.get(name) or policy() for name, policy in POLICIES.items()}
