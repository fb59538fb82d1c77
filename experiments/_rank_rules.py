"""Rules by which a thin stream is routed by rank, as policies and as probabilities of the ranks."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

import queueing


@dataclass(frozen=True)
class RankRule:
    """A rule: what is simulated, and what theory says of it.

    Arguments:
        name: for figures and tables.
        policy: how a job of the stream is routed.
        probs: (K,) the law of the rank that it joins, the shortest first.
    """

    name: str
    policy: queueing.Policy
    probs: np.ndarray


def shortest(num_servers: int) -> RankRule:
    """All to the shortest queue."""
    return RankRule("the shortest", queueing.JSQ(), np.eye(num_servers)[0])


def second_shortest(num_servers: int) -> RankRule:
    """All to the second shortest queue."""
    probs = np.eye(num_servers)[1]
    return RankRule("the second shortest", queueing.RankBased(probs), probs)


def choices(num_servers: int, num_choices: int, replacement: bool = False) -> RankRule:
    """To the shortest of l queues drawn at random.

    p_k = C(K-k, l-1) / C(K, l), and with replacement ((K-k+1)^l - (K-k)^l) / K^l [P1].
    """
    size, chosen = num_servers, num_choices
    if replacement:
        counts = [(size - k + 1) ** chosen - (size - k) ** chosen for k in range(1, size + 1)]
        probs = np.array(counts) / size**chosen
    else:
        counts = [comb(size - k, chosen - 1) for k in range(1, size + 1)]
        probs = np.array(counts) / comb(size, chosen)
    words = {2: "two", 3: "three"}
    name = f"{words.get(chosen, chosen)} choices" + (", replaced" if replacement else "")
    return RankRule(name, queueing.PowerOfD(chosen, replacement), probs)


def rank_rules(num_servers: int) -> tuple[RankRule, ...]:
    """Five rules."""
    return (
        shortest(num_servers),
        choices(num_servers, 2),
        choices(num_servers, 2, replacement=True),
        choices(num_servers, 3),
        second_shortest(num_servers),
    )


def gap_rates(probs: np.ndarray, slack: float, b: float) -> np.ndarray:
    """Rates of the limit's stationary gaps, (K-k+1)(v+b)/K - b sum_{i >= k} p_i, k = 1 ... K [P1].

    Raises ValueError for a rule under which one is not positive.
    """
    count = len(probs)
    share = np.arange(count, 0, -1) / count
    rates = (slack + b) * share - b * np.cumsum(probs[::-1])[::-1]
    if np.any(rates <= 0):
        raise ValueError(
            f"b = {b}, slack = {slack}: gap {int(np.argmax(rates <= 0)) + 1} has no stationary law "
            f"for rank probabilities {probs.tolist()}; lower b or raise slack"
        )
    return rates


def overloaded_rates(probs: np.ndarray, b: float) -> np.ndarray:
    """Rates of the gaps k = 2 ... K far above the floor, b sum_{i < k} (p_i - 1/K) [P1]."""
    return b * np.cumsum(probs - 1 / len(probs))[:-1]
