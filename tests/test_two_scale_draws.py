"""Noise of `TwoScaleSplitting`: no macro step draws what another one drew."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import atlas
from atlas._near_set import TwoScaleProblem
from atlas._problem import Plan, Problem
from atlas._scheme._two_scale_splitting import _MacroStep
from atlas._two_scale_chunk import TwoScaleChunkTask


def test_macro_steps_draw_apart_and_cover_the_time():
    """Exact: a macro step of m steps draws m + 1 times for the near set; draws of successive ones
    are disjoint, and their lengths add up to first + full ones + last, of a cut run too."""

    @jax.jit
    @jax.vmap
    def macro_step(j):
        model = atlas.reflected_atlas(8, 2.0, 1.0)
        alone = Problem.from_model(model, np.dtype("float32"), False)
        problem = TwoScaleProblem.of(alone, 4, 8.0, 128)
        real = lambda value: jnp.asarray(value, jnp.float32)  # noqa: E731
        count, offset = jnp.asarray(10, jnp.int32), jnp.asarray(7, jnp.uint32)
        plan = Plan(real(0.03), real(0.1), real(0.05), count, count, offset)
        step = _MacroStep.of(problem, jnp.zeros(2, jnp.uint32), plan, j)
        return step.draw, step.first, step.stop, step.length

    draw, first, stop, length = map(np.asarray, macro_step(np.arange(3, dtype=np.int32)))
    spans = [(int(d), int(d + s - f)) for d, f, s in zip(draw, first, stop, strict=True)]
    assert stop.tolist() == [4, 8, 10]
    assert spans == [(7, 11), (12, 16), (17, 19)]
    np.testing.assert_allclose(length, [0.33, 0.4, 0.15], rtol=1e-5)
    # The next segment begins behind the last draw of this one.
    task: Any = SimpleNamespace(num_fine=4)
    assert 7 + TwoScaleChunkTask._num_draws(task, 10) > spans[-1][1]
