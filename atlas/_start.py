"""Where the replicas of a run start: a law of gaps, a sampler, zero, or given positions."""

from collections.abc import Callable
from hashlib import sha256
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from ._check import check_array, check_choice
from ._delay_model import AnyModel
from ._noise import STREAM_START, WORDS, philox4x32
from ._ranking import check_positions, check_ranked, ranked_from_gaps
from .ensemble import check_memory, jax_settings

_philox = jax.jit(philox4x32)


def exponentials(words: tuple[int, int], replicas, num_values: int) -> np.ndarray:
    """Standard exponentials in float64, shape (replica, num_values), a function of the indices.

    Value k of a replica is -log of a 64-bit uniform, made from two words of Philox block k // 2;
    the uniform is never 0, and the largest value is 44.4. Cost: half a Philox call a value.
    """
    replicas = np.asarray(replicas, dtype=np.uint64)
    num_calls = -(-num_values // 2)
    shape = (num_calls, replicas.size)
    block = np.broadcast_to(np.arange(num_calls, dtype=np.uint32)[:, None], shape)
    low = np.broadcast_to((replicas & np.uint64(0xFFFFFFFF)).astype(np.uint32), shape)
    high = np.broadcast_to((replicas >> np.uint64(32)).astype(np.uint32), shape)
    stream = np.full(shape, STREAM_START, np.uint32)
    key = tuple(np.uint32(word) for word in words)
    counter = tuple(jnp.asarray(part) for part in (block, low, high, stream))
    draws = np.stack([np.asarray(word) for word in _philox(key, counter)]).astype(np.uint64)
    pairs = draws.reshape(WORDS // 2, 2, num_calls, replicas.size)
    uniform = ((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]).astype(np.float64)
    values = -np.log((uniform + 0.5) * 2.0**-64)
    # Word pair w of block j is value 2 j + w.
    return values.transpose(2, 1, 0).reshape(replicas.size, 2 * num_calls)[:, :num_values]


def check_draws(shape: tuple[int, ...], num_values: int) -> int:
    """How many draws of `num_values` numbers a shape asks for; refused if they do not fit."""
    count = prod(shape)
    check_memory(64 * count * num_values, f"shape = {shape}", "ask for fewer draws in a call")
    if count > 2**32:
        raise ValueError(f"shape = {shape} asks for {count} draws; pass at most 2^32 of them.")
    return count


class LawStart:
    """Replica i starts from the draw of a gap law that belongs to its index."""

    def __init__(self, law, model: AnyModel, name: str):
        if law.num_gaps != model.num_gaps:
            raise ValueError(
                f"initial has {law.num_gaps} gaps and the model {model.num_gaps}; pass a law of "
                "as many gaps as the model has."
            )
        self.law, self.floor, self.name = law, model.floor, name
        self._draws_names = model.has_names and hasattr(law, "sample_replicas_ordered")

    def positions(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        """Positions (replica, rank), by name where the law draws an order of names; float64."""
        if not self._draws_names:
            return ranked_from_gaps(self.law.sample_replicas(words, replicas), self.floor)
        gaps, orders = self.law.sample_replicas_ordered(words, replicas)
        by_name = np.empty(orders.shape)
        np.put_along_axis(by_name, orders, ranked_from_gaps(gaps, self.floor), axis=1)
        return by_name

    def highest(self, words: tuple[int, int]) -> float:
        """About where the highest particle starts, for the choice of the precision."""
        if hasattr(self.law, "mean"):
            return float(np.sum(self.law.mean))
        return float(np.max(self.positions(words, np.zeros(1, np.uint64))))

    def describe(self) -> dict:
        """What a result records of the start."""
        return {"kind": self.name, **self.law.describe()}

    def fingerprint(self) -> str:
        """A digest of the start, for a store."""
        return sha256(self.law.rates.tobytes()).hexdigest()


class SamplerStart:
    """Replica i starts from sampler(key_i), positions in any order, by name where names matter.

    key_i is a typed threefry key made from the seed and the replica's index. The sampler is traced
    by JAX, mapped over keys, in float64 whatever the precision of the run, so both start alike.
    """

    name = "sampler"

    def __init__(self, sampler: Callable, model: AnyModel, replicas: range):
        self.sampler, self.model = sampler, model
        shape = self._sample((0, 0), np.array([replicas.start], np.uint64)).shape[1:]
        if shape != (model.num_particles,):
            raise ValueError(
                f"initial returns positions of shape {shape}; for one key it must return "
                f"({model.num_particles},), one for each particle."
            )
        if not self._looks_at_its_key():
            raise ValueError(
                "initial does not use its key, so that all replicas would start alike; draw with "
                "jax.random from the key, or pass the positions themselves."
            )

    def positions(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        """Positions, in ascending order or by name, shape (replica, rank), float64."""
        drawn = self._sample(words, replicas)
        if not self.model.has_names:
            drawn = np.sort(drawn, axis=1)
        check_positions("initial(key)", drawn, self.model, replicas)
        return drawn

    def highest(self, words: tuple[int, int]) -> float:
        """Where the highest particle of replica 0 starts."""
        return float(np.max(self._sample(words, np.zeros(1, np.uint64))))

    def describe(self) -> dict:
        """What a result records of the start."""
        return {"kind": self.name, "sampler": getattr(self.sampler, "__qualname__", "callable")}

    def fingerprint(self) -> str:
        """A store cannot tell one sampler from another."""
        raise ValueError(
            "store cannot tell one initial function from another; draw the positions first and "
            "pass them."
        )

    def _looks_at_its_key(self) -> bool:
        """Whether JAX sees the key used: numbers of NumPy's generators are drawn once for all."""
        with jax_settings(x64=True):
            traced = jax.make_jaxpr(self.sampler)(jax.random.key(0)).jaxpr
        given = traced.invars[0]
        used = [variable for equation in traced.eqns for variable in equation.invars]
        return any(variable is given for variable in [*used, *traced.outvars])

    def _sample(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        with jax_settings(x64=True):
            key = jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32), impl="threefry2x32")
            indices = jnp.asarray(replicas.astype(np.uint32))
            keys = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, indices)
            return check_array("initial(key)", np.asarray(jax.vmap(self.sampler)(keys)))


class PositionStart:
    """All replicas start from the same positions (rank,), or each from its own (replica, rank)."""

    def __init__(self, positions: np.ndarray, replicas: range, name: str):
        self.given, self.replicas, self.name = positions, replicas, name

    def positions(self, words: tuple[int, int], replicas: np.ndarray) -> np.ndarray:
        """Ranked positions, shape (replica, rank), float64."""
        if self.given.ndim == 1:
            return np.broadcast_to(self.given, (replicas.size, self.given.size))
        # Lanes beyond the last replica repeat it; their results are dropped.
        rows = np.minimum(replicas.astype(np.int64) - self.replicas.start, len(self.given) - 1)
        return self.given[rows]

    def highest(self, words: tuple[int, int]) -> float:
        """Where the highest particle starts."""
        return float(np.max(np.abs(self.given)))

    def describe(self) -> dict:
        """What a result records of the start."""
        return {"kind": self.name}

    def fingerprint(self) -> str:
        """A digest of the start, for a store."""
        return sha256(self.given.tobytes()).hexdigest()


def prepare_start(initial, model: AnyModel, replicas: range, stationary_law):
    """The start that `initial` means, checked.

    `initial`: "stationary", "empty", a law with `sample_replicas`, a function of a key, or
    positions, by name where names matter.
    """
    if isinstance(initial, str):
        check_choice("initial", initial, ("stationary", "empty"))
        if initial == "stationary":
            if model.num_gaps == 0:
                return PositionStart(np.zeros(1), replicas, "stationary")
            return LawStart(stationary_law(model), model, "stationary")
        if not model.floor:
            raise ValueError("initial = 'empty' puts all at the floor, and the model has none.")
        return PositionStart(np.zeros(model.num_particles), replicas, "empty")
    if hasattr(initial, "sample_replicas"):
        return LawStart(initial, model, "law")
    if callable(initial) and not isinstance(initial, type):
        return SamplerStart(initial, model, replicas)
    try:
        positions = check_array("initial", initial)
    except ValueError as error:
        raise ValueError(
            "initial must be 'stationary', 'empty', a law of gaps, a function of a key, or "
            f"positions: {error}"
        ) from None
    shapes = ((model.num_particles,), (len(replicas), model.num_particles))
    if positions.shape not in shapes:
        raise ValueError(
            f"initial has shape {positions.shape}; pass positions of shape {shapes[0]} or "
            f"{shapes[1]}, (replica, rank)."
        )
    if model.has_names:
        check_positions("initial", positions, model)
    else:
        check_ranked("initial", positions, model)
    return PositionStart(positions, replicas, "positions")
