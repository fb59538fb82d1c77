"""The settings of JAX under which this package computes, whatever the user's own are."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import jax


@contextmanager
def jax_settings(*, x64: bool) -> Iterator[None]:
    """JAX with or without float64, and with NumPy's rules for mixed types and shapes.

    A user may have forbidden these rules for code of his own; here they are relied on.
    """
    with ExitStack() as stack:
        stack.enter_context(jax.enable_x64(x64))
        stack.enter_context(jax.numpy_dtype_promotion("standard"))
        stack.enter_context(jax.numpy_rank_promotion("allow"))
        yield
