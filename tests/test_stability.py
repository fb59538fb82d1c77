"""Which systems are known to have no stationary law, at the edge: loads of exactly 1."""

import numpy as np
import pytest

from queueing import JSQ, Nearest, Random, RankBased, RateProportional, System
from queueing._overload import overload
from queueing._stability import instability
from queueing._subject import resolve_subject


def test_a_server_that_gets_just_what_it_serves_is_overloaded():
    """Queues of load 1 are null recurrent; a hundredth less is stable."""
    assert "server 1 receives at least 1" in str(overload(System([2.0, 1.0], 2.0), Random()))
    assert overload(System([2.0, 1.01], 2.0), Random()) is None
    # The server of least capacity left is not the slowest here.
    ways = {"travel_times": [[1.0, 9.0], [9.0, 1.0]], "origin_probs": [0.1, 0.9]}
    assert "server 1 receives at least 3.24" in str(
        overload(System([1, 3], 3.6, **ways), Nearest())
    )
    assert overload(System([1.0, 3.3], 3.6, **ways), Nearest()) is None


def test_servers_that_get_nothing_are_not_overloaded():
    for policy in (JSQ(), RateProportional()):
        assert overload(System([1.0, 0.0, 2.0], 1.5), policy) is None
    assert "server 1 receives" in str(overload(System([1.0, 0.0, 2.0], 1.5), Random()))


@pytest.mark.parametrize(("to_upper", "is_stable"), [(0.625, False), (0.62, True)])
def test_upper_ranks_at_load_one_run_away(to_upper, is_stable):
    """1.6 x .625 = 1: the upper one of two ranks gets just what it serves."""
    subject = resolve_subject(System(np.ones(2), 1.6), RankBased([1.0 - to_upper, to_upper]))
    problem = instability(subject)
    assert (problem is None) == is_stable
    assert is_stable or "ranks 2 and above" in str(problem)
