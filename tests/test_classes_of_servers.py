"""Averages over the servers of each rate: against the oracle, and Little's law in each class."""

import numpy as np
import pytest

import queueing
from queueing import JFSQ, JSQ, Random, System
from queueing._engine import server_classes_by_rate

_FARM = System([1.5, 0.7, 0.7], 2.2, buffer=4)
_NAMES = ("occupancy_by_class", "lengths_by_class", "utilisation_by_class", "throughput_by_class")
_JFSQ = JFSQ()


def _run(policy=_JFSQ, system=_FARM, **settings):
    defaults = {"horizon": 2e4, "replicas": 2, "seed": 3, "by_class": True, "num_levels": 4}
    return queueing.long_run(system, policy, **{**defaults, **settings})


def test_levels_are_counted_class_by_class():
    """Oracle: plain sums; rates come in any order, lengths reach above the highest level."""
    rates, lengths = np.array([2.0, 1.0, 2.0, 1.0, 3.0]), np.array([0, 7, 2, 1, 4])
    classes = server_classes_by_rate(rates, 3)
    means = classes.means(classes.reached(lengths))
    for c, rate in enumerate((1.0, 2.0, 3.0)):
        own = lengths[rates == rate]
        expected = [(own >= level).mean() for level in (1, 2, 3)]
        np.testing.assert_allclose(means["occupancy_by_class"][c], expected)
        assert means["utilisation_by_class"][c] == expected[0]
        assert means["lengths_by_class"][c] == pytest.approx(own.mean())
        assert classes.throughput(lengths)[c] == pytest.approx(own.mean())


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["markov", "calendar"])
@pytest.mark.parametrize("policy", [JFSQ(), JSQ(), Random()], ids=repr)
def test_classes_are_those_of_the_oracle(policy, engine):
    """Oracle: exact_stationary on three unequal servers; about 8e5 events, z = 5.7 with 38 degrees
    of freedom (1e-6), errors below .01: a difference of .06 is detected. The other class's law,
    what a class counted by the wrong rates would show, is rejected."""
    exact = queueing.exact_stationary(_FARM, policy, max_length=4)
    run = _run(policy, engine=engine, horizon=1e5)
    for name in _NAMES:
        found, expected = run.estimate(name), exact.mean(name)
        assert np.all(found.std_error < 0.01)
        assert np.all(np.abs(found.value - expected) < 5.7 * found.std_error), name
        assert np.any(np.abs(found.value - expected[::-1]) > 5.7 * found.std_error), name
    for name in ("wait_by_class", "response_by_class"):
        found = run.estimate(name)
        assert np.all(np.abs(found.value - exact.mean(name)) < 5.7 * found.std_error), name
    np.testing.assert_array_equal(run.coordinates["speed_class"], [0.7, 1.5])
    assert run.variables["occupancy_by_class"].dims == ("replica", "speed_class", "level")


_RATES = [2.0, 2.0, 0.5]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "engine"),
    [
        (System(_RATES, 3.2), "markov"),
        (System(_RATES, 3.2, buffer=3), "markov"),
        (System(_RATES, 3.2, buffer=3), "calendar"),
        (System(_RATES, 3.2, service=queueing.Erlang(2), travel_times=0.7), "calendar"),
    ],
    ids=["endless", "buffer", "calendar", "general services, travel"],
)
def test_little_s_law_holds_in_every_class(system, engine):
    """L = throughput x response, per server of a class; z = 5.7 (1e-6) of the joint error from 40
    replicas, below 2 %. The slow class's response for the fast one is rejected."""
    run = _run(system=system, engine=engine, replicas=40, horizon=1e4, warmup=1e3, num_levels=2)
    response = run.values("response_by_class")
    flow, jobs = run.values("throughput_by_class"), run.values("lengths_by_class")
    difference = jobs - flow * response
    error = difference.std(axis=0, ddof=1) / np.sqrt(40)
    assert np.all(error < 0.02 * jobs.mean(axis=0))
    assert np.all(np.abs(difference.mean(axis=0)) < 5.7 * error)
    wrong = (jobs - flow * response[:, ::-1]).mean(axis=0)
    assert np.all(np.abs(wrong) > 5.7 * error)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["markov", "calendar"])
def test_classes_are_exact_integrals_of_the_same_path(engine):
    """Classes add up to what is averaged exactly beside them, to rounding, and asking for them
    does not change the path."""
    run = _run(engine=engine)
    sizes = np.array([2, 1])
    total = run.values("lengths_by_class") @ sizes
    np.testing.assert_allclose(total, run.values("total"), rtol=1e-9)
    idle = 3 - run.values("utilisation_by_class") @ sizes
    np.testing.assert_allclose(idle, run.values("idle_servers"), rtol=1e-9)
    served = run.values("throughput")
    np.testing.assert_allclose(
        run.values("throughput_by_class"),
        np.stack([served[:, 1:].mean(axis=1), served[:, 0]], axis=1),
    )
    plain = _run(engine=engine, by_class=False)
    np.testing.assert_array_equal(plain.values("lengths_ranked"), run.values("lengths_ranked"))
    with pytest.raises(ValueError, match="'occupancy_by_class': it needs by_class=True"):
        plain.estimate("occupancy_by_class")


@pytest.mark.slow
def test_snapshots_have_classes_too():
    system = System([2.0, 1.0, 2.0], 3.0)
    out = queueing.simulate(
        system, JSQ(), times=[0.5, 2.0], replicas=3, seed=1, num_levels=3, by_class=True
    )
    fast = out.lengths[..., [0, 2]]
    np.testing.assert_allclose(out.values("lengths_by_class")[..., 1], fast.mean(axis=-1))
    reached = (fast[..., None] >= np.arange(1, 4)).mean(axis=-2)
    np.testing.assert_allclose(out.values("occupancy_by_class")[..., 1, :], reached)
    assert out.to_xarray()["occupancy_by_class"].dims == (
        "time", "replica", "speed_class", "level",
    )  # fmt: skip
    with pytest.raises(ValueError, match="speed_class"):
        queueing.simulate(system, JSQ(), horizon=1.0, observe={"speed_class": len})


@pytest.mark.parametrize(
    ("subject", "policy", "settings", "message"),
    [
        (_FARM, JFSQ(), {"by_class": 1}, "by_class is 1; give True or False"),
        (queueing.PausedSystem([1.0], [2.0]), None, {}, "ranks with pauses are no servers"),
        (
            System([2.0, 1.0], 1.0),
            queueing.Marginal(JSQ(), rate=0.5),
            {"engine": "leap", "horizon": 1e6},
            "give engine='markov' or",
        ),
    ],
)
def test_what_cannot_be_seen_by_class_is_refused(subject, policy, settings, message):
    with pytest.raises(ValueError, match=message):
        queueing.long_run(subject, policy, **{"horizon": 10.0, "by_class": True, **settings})
