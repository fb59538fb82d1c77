"""Seeds: drawn once, refused when they would depend on the batch, the same after a round trip."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from atlas.ensemble import Seed, resolve_seed


def test_no_seed_draws_one_that_can_be_used_again():
    first, second = resolve_seed(None), resolve_seed(None)
    assert first != second
    assert isinstance(first.value, int) and first.implementation == "int"
    assert resolve_seed(first.value) == first
    assert resolve_seed(first) is first


@pytest.mark.parametrize("seed", [0, 1, 2**32, 2**64 - 1, np.int32(5), np.uint64(2**63)])
def test_ints_are_seeds(seed):
    resolved = resolve_seed(seed)
    assert resolved.value == int(seed) and type(resolved.value) is int
    assert resolved == resolve_seed(int(seed))
    assert all(0 <= word < 2**32 and type(word) is int for word in resolved.words)
    assert resolve_seed((int(seed) + 1) % 2**64) != resolved


def flipped_bits(words) -> float:
    first = np.array([(a << 32) | b for a, b in words], np.uint64)
    return float(np.mean(np.bitwise_count(first[1:] ^ first[:-1])))


def test_near_seeds_have_unrelated_words():
    """Oracle: 32 of 64 bits differ on average. 2000 pairs, standard deviation 4: false-fail 1e-6
    at .44, which is also what is detected. Words that are the seed itself differ in 2: rejected."""
    tolerance = 4.9 * 4.0 / np.sqrt(2000)
    words = [resolve_seed(seed).words for seed in range(2001)]
    assert len(set(words)) == 2001
    assert abs(flipped_bits(words) - 32.0) < tolerance
    assert abs(flipped_bits([(0, seed) for seed in range(2001)]) - 32.0) > tolerance


@pytest.mark.parametrize("implementation", ["threefry2x32", "philox4x32"])
def test_typed_keys_survive_attributes_with_their_implementation(implementation):
    key = jax.random.fold_in(jax.random.key(3, impl=implementation), 4)
    seed = resolve_seed(key)
    assert seed.implementation == implementation
    attrs = json.loads(json.dumps({**seed.to_attrs(), "step": 0.1}))
    again = Seed.from_attrs(attrs)
    assert again == seed
    assert str(jax.random.key_impl(again.key())) == implementation
    assert jnp.array_equal(jax.random.key_data(again.key()), jax.random.key_data(key))
    draw = jax.random.normal(again.key(), (5,))
    np.testing.assert_array_equal(draw, jax.random.normal(key, (5,)))


@pytest.mark.parametrize("seed", [0, 2**64 - 1, 12345])
def test_int_seeds_survive_attributes(seed):
    resolved = resolve_seed(seed)
    assert Seed.from_attrs(json.loads(json.dumps(resolved.to_attrs()))) == resolved
    data = np.asarray(jax.random.key_data(resolved.key()))
    assert data.tolist() == list(resolved.words)


def test_replicas_have_sequences_of_their_own():
    seed = resolve_seed(5)
    states = [tuple(seed.sequence(i).generate_state(4)) for i in range(100)]
    states.append(tuple(seed.sequence().generate_state(4)))
    assert len(set(states)) == 101
    assert tuple(seed.sequence(7).generate_state(4)) == states[7]


@pytest.mark.parametrize("implementation", ["rbg", "unsafe_rbg"])
def test_keys_that_depend_on_the_batch_are_refused(implementation):
    key = jax.random.key(0, impl=implementation)
    with pytest.raises(ValueError, match=f"got one of {implementation}: use jax.random.key"):
        resolve_seed(key)


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (True, ValueError, "seed must be an integer, got the bool"),
        (np.bool_(False), ValueError, "seed must be an integer, got the bool"),
        (1.0, ValueError, "seed must be an integer, got 1.0"),
        ("1", ValueError, "seed must be an integer, got '1'"),
        ([1, 2], ValueError, "seed must be an integer"),
        (-1, ValueError, "seed must be at least 0, got -1"),
        (2**64, ValueError, "seed must be at most 18446744073709551615"),
        (np.zeros(2, np.uint32), ValueError, "raw key data of shape .*wrap_key_data"),
    ],
)
def test_other_seeds_are_refused(seed, error, message):
    with pytest.raises(error, match=message):
        resolve_seed(seed)


def test_legacy_keys_and_arrays_of_keys_are_refused():
    with pytest.raises(ValueError, match=r"raw key data of shape \(2,\)"):
        resolve_seed(jax.random.PRNGKey(0))
    with pytest.raises(ValueError, match=r"array of keys of shape \(3,\)"):
        resolve_seed(jax.random.split(jax.random.key(0), 3))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"step": 1}, "attrs must hold 'seed', got"),
        ({"seed": 1}, "attrs must hold 'seed_implementation'"),
        ({"seed": "00ff", "seed_implementation": "philox4x32"}, "hexadecimal words"),
        ({"seed": "", "seed_implementation": "philox4x32"}, "hexadecimal words"),
        ({"seed": 5, "seed_implementation": "philox4x32"}, "hexadecimal words, got 5"),
        ({"seed": "0" * 16, "seed_implementation": "rbg"}, "got one of rbg"),
    ],
)
def test_attributes_that_are_no_seed_are_refused(attrs, message):
    with pytest.raises(ValueError, match=message):
        Seed.from_attrs(attrs)
