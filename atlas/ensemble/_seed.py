"""Seeds and typed JAX keys as one thing: two words that key every replica's random numbers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ._checks import check_integer

_KEY_IMPLEMENTATIONS = ("threefry2x32", "philox4x32")


@dataclass(frozen=True)
class Seed:
    """What a run's randomness comes from; made by `resolve_seed`.

    Attributes:
        words: two 32-bit words, the key of counter-based generators. Those of near int seeds are
            unrelated (hashed by numpy's SeedSequence); those of a typed key are its own data,
            hashed if there are more than two.
        value: what to write down: the int, or the typed key's data in hexadecimal.
        implementation: "int", or the name of the typed key's implementation.
    """

    words: tuple[int, int]
    value: int | str
    implementation: str

    def sequence(self, *spawn_key: int) -> np.random.SeedSequence:
        """A numpy SeedSequence; with a replica's index as `spawn_key`, that replica's own."""
        return np.random.SeedSequence(self.words, spawn_key=spawn_key)

    def key(self) -> jax.Array:
        """The typed JAX key that was given; for an int a threefry key made of `words`."""
        if isinstance(self.value, int):
            data, implementation = np.array(self.words, np.uint32), "threefry2x32"
        else:
            data, implementation = _words_of(self.value), self.implementation
        return jax.random.wrap_key_data(jax.numpy.asarray(data), impl=implementation)

    def to_attrs(self) -> dict[str, int | str]:
        """`seed` and `seed_implementation`, for the attributes of a result."""
        return {"seed": self.value, "seed_implementation": self.implementation}

    @classmethod
    def from_attrs(cls, attrs: Mapping[str, Any]) -> Seed:
        """What `to_attrs` gave, among any other attributes; ValueError if they are not there."""
        try:
            value, implementation = attrs["seed"], attrs["seed_implementation"]
        except KeyError as missing:
            raise ValueError(f"attrs must hold {missing}, got {sorted(attrs)}") from None
        if implementation == "int":
            return _from_int(value)
        _check_implementation(implementation)
        return _from_words(_words_of(value), implementation)


def resolve_seed(seed: Any = None) -> Seed:
    """The Seed of a run.

    Arguments:
        seed: None (one is drawn from the operating system, once, to be stored in the result), an
            int in [0, 2^64), or a typed key of `jax.random.key`, scalar, of threefry2x32 or
            philox4x32.
    Raises: ValueError for bool, float, and legacy uint32 keys, numbers out of range,
        arrays of keys, and keys of other implementations (rbg and unsafe_rbg draw other numbers
        for another batch size, so replica i would not be replica i of a larger batch).
    """
    if isinstance(seed, Seed):
        return seed
    if seed is None:
        # 63 bits fit into every file format's signed integer.
        return _from_int(secrets.randbits(63))
    if isinstance(seed, jax.Array) and jax.numpy.issubdtype(seed.dtype, jax.dtypes.prng_key):
        return _from_key(seed)
    if getattr(seed, "dtype", None) == np.uint32 and getattr(seed, "ndim", 0) > 0:
        raise ValueError(
            f"seed must be an int or a typed key, got raw key data of shape {seed.shape}: "
            "make it with jax.random.key, or wrap it by jax.random.wrap_key_data"
        )
    return _from_int(seed)


def _from_int(seed: Any) -> Seed:
    value = check_integer("seed", seed, 0, 2**64 - 1)
    first, second = np.random.SeedSequence(value).generate_state(2)
    return Seed((int(first), int(second)), value, "int")


def _from_key(key: jax.Array) -> Seed:
    implementation = str(jax.random.key_impl(key))
    _check_implementation(implementation)
    if key.ndim:
        raise ValueError(
            f"seed must be one key, got an array of keys of shape {key.shape}: "
            "replicas get their own numbers from one key"
        )
    return _from_words(np.asarray(jax.random.key_data(key)), implementation)


def _from_words(data: np.ndarray, implementation: str) -> Seed:
    value = "".join(f"{word:08x}" for word in data.tolist())
    if data.size != 2:
        data = np.random.SeedSequence(data.tolist()).generate_state(2)
    return Seed((int(data[0]), int(data[1])), value, implementation)


def _check_implementation(name: str) -> None:
    if name not in _KEY_IMPLEMENTATIONS:
        known = " or ".join(_KEY_IMPLEMENTATIONS)
        raise ValueError(
            f"seed must be a key of {known}, got one of {name}: "
            f"use jax.random.key(..., impl={_KEY_IMPLEMENTATIONS[0]!r})"
        )


def _words_of(value: str) -> np.ndarray:
    try:
        words = np.frombuffer(bytes.fromhex(value), ">u4").astype(np.uint32)
    except (TypeError, ValueError):
        words = np.zeros(0, np.uint32)
    if words.size == 0:
        raise ValueError(f"seed must be key data in hexadecimal words, got {value!r}")
    return words
