"""Noise of `TwoScaleSplitting`: no macro step draws what another one drew."""

from types import SimpleNamespace
from typing import Any

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
    model = atlas.reflected_atlas(8, 2.0, 1.0)
    problem = TwoScaleProblem.of(Problem.from_model(model, np.dtype("float32"), False), 4, 8.0, 128)
    real = lambda value: jnp.asarray(value, jnp.float32)  # noqa: E731
    count = jnp.asarray(10, jnp.int32)
    key = jnp.zeros(2, jnp.uint32)
    plan = Plan(real(0.03), real(0.1), real(0.05), count, count, jnp.asarray(7, jnp.uint32))
    steps = [_MacroStep.of(problem, key, plan, jnp.asarray(j, jnp.int32)) for j in range(3)]
    spans = [(int(s.draw), int(s.draw) + int(s.stop - s.first)) for s in steps]
    assert [int(s.stop) for s in steps] == [4, 8, 10]
    assert spans == [(7, 11), (12, 16), (17, 19)]
    lengths = [float(s.length) for s in steps]
    np.testing.assert_allclose(lengths, [0.33, 0.4, 0.15], rtol=1e-5)
    # The next segment begins behind the last draw of this one.
    task: Any = SimpleNamespace(num_fine=4)
    assert 7 + TwoScaleChunkTask._num_draws(task, 10) > spans[-1][1]
