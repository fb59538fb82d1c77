"""Systems are values: what they hold, what they refuse."""

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from queueing import System
from queueing._distribution import Exponential


def test_a_system_knows_its_capacity_and_load():
    farm = System(service_rates=[1.0, 0.5, 0.5], arrival_rate=1.8, buffer=10)
    assert farm.num_servers == 3
    assert farm.total_service_rate == 2.0
    assert farm.load == pytest.approx(0.9)
    assert not farm.is_exchangeable
    assert System([2, 2], 1).is_exchangeable
    assert farm.is_markov
    assert farm.service == Exponential()


def test_systems_are_frozen_values():
    one, same = System([1.0, 0.5], 1.2, buffer=3), System((1, 0.5), 1.2, buffer=3)
    assert one == same and hash(one) == hash(same)
    assert one != System([1.0, 0.5], 1.2, buffer=4)
    assert one != System([1.0, 0.6], 1.2, buffer=3)
    assert pickle.loads(pickle.dumps(one)) == one
    name = "arrival_rate"
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, name, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        one.service_rates[0] = 2.0


def test_a_system_does_not_share_its_rates_with_the_caller():
    rates = np.array([1.0, 2.0])
    system = System(rates, 1.0)
    rates[0] = 5.0
    assert system.service_rates[0] == 1.0


@pytest.mark.parametrize(
    ("rates", "arrival"), [([0.0, 0.0], 0.0), ([1.0, 0.0], 0.5), ([1.0], 0.0), ([3], 2)]
)
def test_degenerate_systems_are_legal(rates, arrival):
    """C10: rates of 0, no arrivals, one server."""
    system = System(rates, arrival)
    assert np.isfinite(system.load) and system.load >= 0.0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"service_rates": []}, "service_rates"),
        ({"service_rates": 1.0}, "service_rates"),
        ({"service_rates": [[1.0]]}, "service_rates"),
        ({"service_rates": [1.0, -0.5]}, r"service_rates\[1\] is -0.5"),
        ({"service_rates": [np.nan, 1.0]}, r"service_rates\[0\]"),
        ({"service_rates": [np.inf, 1.0]}, r"service_rates\[0\]"),
        ({"service_rates": [0.0, 0.0]}, "service_rates are all 0"),
        ({"service_rates": [[1.0], [1.0, 2.0]]}, "service_rates"),
        ({"arrival_rate": -1.0}, "arrival_rate is -1.0"),
        ({"arrival_rate": np.nan}, "arrival_rate"),
        ({"arrival_rate": np.inf}, "arrival_rate"),
        ({"buffer": 0}, "buffer is 0"),
        ({"buffer": 2.5}, "buffer is 2.5"),
        ({"travel_times": -3.0}, "travel_times is -3.0"),
    ],
)
def test_bad_values_are_refused_by_name(arguments, name):
    with pytest.raises(ValueError, match=name):
        System(**({"service_rates": [1.0, 1.0], "arrival_rate": 1.0} | arguments))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"service_rates": ["fast", "slow"]}, "service_rates"),
        ({"service_rates": None}, "service_rates"),
        ({"arrival_rate": "1"}, "arrival_rate is '1'"),
        ({"arrival_rate": None}, "arrival_rate"),
        ({"arrival_rate": True}, "arrival_rate is True"),
        ({"buffer": "ten"}, "buffer is 'ten'"),
        ({"buffer": True}, "buffer is True"),
        ({"service": Exponential}, "not the class"),
        ({"service": "exponential"}, "service is 'exponential'"),
    ],
)
def test_wrong_types_are_refused_by_name(arguments, name):
    with pytest.raises(ValueError, match=name):
        System(**({"service_rates": [1.0, 1.0], "arrival_rate": 1.0} | arguments))


def test_misspelt_arguments_are_refused():
    misspelt: dict[str, Any] = {"bufer": 3}
    with pytest.raises(TypeError, match="bufer"):
        System([1.0], 0.5, **misspelt)
