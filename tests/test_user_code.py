"""Observables, samplers, policies and laws of a user's own, when they are wrong: refused by name.

What they get is theirs to overwrite, and what they hand back is looked at before it is used.
"""

# What is passed here is wrong on purpose.
# pyright: reportArgumentType=false, reportCallIssue=false, reportOptionalCall=false

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numba
import numpy as np
import pytest

import atlas
import queueing
from queueing import JSQ, Distribution, Policy, System, exact_stationary, long_run, simulate
from queueing._observables import StateFunction
from queueing._policy import RoutingLaw

MODEL = atlas.reflected_atlas(2, 2.0, 1.0)
FARM = System([1.0, 0.5], 0.7)


def _diffusion(**settings):
    scheme = atlas.Splitting(step=0.1)
    return atlas.simulate(MODEL, scheme, times=[0.0], replicas=2, key=0, num_threads=1, **settings)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x[0], x[1]),
        lambda x: [x[0], x[1]],
        lambda x: {"low": x[0]},
        lambda x: None,
        lambda x: x * 1j,
        lambda x: x.astype(jnp.float16),
        lambda x: x[:0],
        lambda x: jax.random.key(0),
        lambda x: "two",
    ],
    ids=["tuple", "list", "dict", "None", "complex", "half", "empty", "key", "text"],
)
@pytest.mark.parametrize("keep", ["paths", "moments"])
def test_observables_of_positions_are_one_array_of_numbers(function, keep):
    with pytest.raises(ValueError, match=r"observe\['mine'\]"):
        _diffusion(observe={"mine": function}, keep=keep)


@pytest.mark.parametrize(
    "name", ["time", "gap", "prob", "gaps_quantile", "gaps_std_error", "x_dof"]
)
def test_names_of_the_result_itself_are_refused_before_the_run(name):
    with pytest.raises(ValueError, match=f"observe has the name '{name}'"):
        _diffusion(observe={name: jnp.sum})


def test_the_axis_of_an_observable_has_its_name():
    with pytest.raises(ValueError, match="'mine_0'"):
        _diffusion(observe={"mine": lambda x: x, "mine_0": jnp.sum})
    with pytest.raises(ValueError, match="'mine_0', which is what an axis of 'mine'"):
        simulate(FARM, JSQ(), horizon=1.0, observe={"mine": np.sort, "mine_0": np.sum})


def test_a_sampler_that_draws_once_for_all_replicas_is_refused():
    """NumPy draws while JAX traces the function, so every replica would start alike."""
    with pytest.raises(ValueError, match="initial does not use its key"):
        _diffusion(initial=lambda key: np.random.default_rng(0).exponential(size=2))
    with pytest.raises(ValueError, match=r"initial\(key\) .* complex"):
        _diffusion(initial=lambda key: jax.random.exponential(key, (2,)) + 0j)


@pytest.mark.parametrize(
    "name",
    [
        "group",
        "warmup_cut",
        "wait_histogram",
        "mine_std_error",
        "sum_waited",
        "num_lost",
        "total_dof",
    ],
)
def test_names_of_a_long_run_itself_are_refused(name):
    with pytest.raises(ValueError, match=f"observe has '{name}', which exists already"):
        long_run(FARM, JSQ(), horizon=10.0, observe={name: np.sum})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: "1", "no number"),
        (lambda x: np.complex128(1j), "no number"),
        (lambda x: None, "no number"),
        (lambda x: np.ma.masked_array([1.0], [True]), "masked"),
        (lambda x: 10**400, "gave inf"),
        (lambda x: np.ones(1 + x[1]), "the same shape everywhere"),
        (lambda x: 1.0 if x[1] == 0 else np.ones(2), "the same shape everywhere"),
    ],
    ids=["text", "complex", "None", "masked", "huge", "shape by state", "number, then vector"],
)
def test_observables_of_lengths_are_numbers_of_one_shape(function, message):
    mine = StateFunction("mine", function)
    with pytest.raises(ValueError, match=rf"observe\['mine'\].*{message}"):
        mine.sum(np.array([[0, 0], [0, 1], [1, 2]]))


@pytest.mark.slow
def test_compiled_observables_have_one_shape():
    mine = StateFunction("mine", numba.njit(lambda x: np.ones(1 + x[1])))
    with pytest.raises(ValueError, match="the same shape everywhere"):
        mine.sum(np.array([[0, 0], [0, 0], [1, 2]]))


def _spoil(state):
    state[:] = 0
    return state.sum()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_observable_may_use_its_state_as_work_space(compiled):
    states = np.array([[0, 1], [1, 2], [3, 4]])
    function = numba.njit(_spoil) if compiled else _spoil
    assert StateFunction("mine", function).sum(states) == 0.0
    assert states.sum() == 11


def _policy(law=None, probabilities=None, messages=1.0):
    @dataclass(frozen=True)
    class Mine(Policy):
        def routing_probabilities(self, lengths, system):
            return probabilities(lengths)

        def messages_per_job(self, system):
            return messages

        def law(self, system):
            return law

    return Mine()


_NOWHERE = np.zeros(2)


@pytest.mark.parametrize(
    "law",
    [
        RoutingLaw(np.array([0.5, 0.0]), _NOWHERE),
        RoutingLaw(np.array([1.0, 1.0]), _NOWHERE),
        RoutingLaw(np.array([1.5, -0.5]), _NOWHERE),
        RoutingLaw(np.array([np.nan, 1.0]), _NOWHERE),
        RoutingLaw(np.array([1.0]), np.zeros(1)),
        RoutingLaw([1.0, 0.0], [0.0, 0.0]),
        (1.0, 2.0),
    ],
    ids=["half", "two", "negative", "nan", "one server", "lists", "tuple"],
)
def test_a_law_that_sends_jobs_nowhere_is_refused(law):
    with pytest.raises(ValueError, match="policy Mine: law"):
        simulate(FARM, _policy(law), horizon=1.0, seed=0)


@pytest.mark.parametrize("messages", ["1", None, np.nan, -1.0, np.ones(2)])
def test_numbers_of_messages_are_numbers(messages):
    law = RoutingLaw(np.array([1.0, 0.0]), _NOWHERE)
    with pytest.raises(ValueError, match="policy Mine: messages_per_job"):
        simulate(FARM, _policy(law, messages=messages), horizon=1.0, seed=0)


def test_a_policy_may_not_change_the_states_it_looks_at():
    def spoiling(lengths):
        lengths[...] = 0
        return np.full(lengths.shape, 0.5)

    with pytest.raises(ValueError, match="read-only"):
        exact_stationary(FARM, _policy(probabilities=spoiling), max_length=3)
    complex_law = _policy(probabilities=lambda lengths: np.full(lengths.shape, 0.5 + 0j))
    with pytest.raises(ValueError, match="routing probabilities"):
        exact_stationary(FARM, complex_law, max_length=3)


def _law(sample, scv=1.0):
    class Mine(Distribution):
        def __init__(self):
            self.scv = scv

        def sample(self, generator, size):
            return sample(generator, size)

        def __repr__(self):
            return "Mine()"

    return Mine()


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda g, n: -g.random(n), "finite times >= 0"),
        (lambda g, n: np.full(n, np.nan), "finite times >= 0"),
        (lambda g, n: np.full(n, np.inf), "finite times >= 0"),
        (lambda g, n: g.random(3), "shape"),
        (lambda g, n: np.zeros(0), "shape"),
        (lambda g, n: g.random((n, 1)), "shape"),
        (lambda g, n: 1.0, "shape"),
        (lambda g, n: None, "no real number"),
        (lambda g, n: g.random(n) + 0j, "complex"),
        (lambda g, n: np.zeros(n), "nothing but zeros"),
    ],
    ids=["negative", "nan", "inf", "three", "none", "column", "number", "None", "complex", "zeros"],
)
def test_samples_of_a_law_are_looked_at(sample, message):
    stream = _law(sample).start(np.random.default_rng(0))
    with pytest.raises(ValueError, match=rf"(?s)Mine\(\)\.sample.*{message}"):
        stream.fill(np.empty(1 << 23))


def test_samples_may_share_one_array():
    """A law that hands out its own buffer again and again is read before it overwrites it."""
    buffer = np.empty(2048)

    def again(generator, size):
        buffer[:] = generator.random(size)
        return buffer

    shared, fresh = np.empty(5000), np.empty(5000)
    _law(again).start(np.random.default_rng(0)).fill(shared)
    _law(lambda g, n: g.random(n)).start(np.random.default_rng(0)).fill(fresh)
    assert np.array_equal(shared, fresh)


@pytest.mark.parametrize("scv", [np.nan, -1.0, None, "1"])
def test_the_variability_of_a_law_is_a_number(scv):
    law = _law(None, scv)
    for name, make in {
        "service": lambda: System([1.0], 0.5, service=law),
        "interarrival": lambda: System([1.0], 0.5, arrivals=law),
        r"service\[1\]": lambda: System([1.0, 1.0], 0.5, service=[queueing.Exponential(), law]),
    }.items():
        with pytest.raises(ValueError, match=f"{name} is .* whose scv"):
            make()
