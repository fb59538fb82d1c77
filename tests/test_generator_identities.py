"""The generator's identities: zero under exact laws, and a measure of bias where there is none."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import atlas

WRONG: Any = 3
FUNCTIONS = {
    "x^2": lambda x: x**2,
    "exp(-x)": lambda x: jnp.exp(-x),
    "sin(2x)": lambda x: jnp.sin(2 * x),
    "tanh(x)": jnp.tanh,
}
MODELS = {
    "floor": atlas.first_order([1, 0.3, -0.2, -2], np.full(4, 2.0), floor=True),
    "no floor": atlas.first_order([1, 0, 0, -0.5], np.ones(4)),
    "affine variances": atlas.first_order([1, 0.2, -1], [1.0, 2.0, 3.0]),
    "asymmetric": atlas.asymmetric_collisions([1, 0, 0, -1], np.ones(4), [0.3] * 3, [0.7] * 3),
    "hybrid": atlas.hybrid_atlas([1.0, 0.1, -1.1], [0.3, -0.1, -0.2], np.ones(3)),
    "hybrid with a floor": atlas.RankDiffusion(
        [0.5, -0.2, -1.3], np.full(3, 2.0), True, name_drifts=[0.2, -0.3, 0.1]
    ),
}


def exact_draws(model, count, factor=1.0):
    """Positions and names from the law, all gaps multiplied by `factor`."""
    law = atlas.stationary_gaps(model)
    if isinstance(law, atlas.ExponentialMixture):
        gaps, names = law.sample_ordered(1, count)
    else:
        gaps, names = law.sample(1, count), None
    return atlas.ranked_from_gaps(factor * gaps, model.floor), names


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", MODELS)
def test_the_identity_holds_under_the_exact_law(name, function):
    """4e5 draws, z = 4.9 (1e-6); gaps 5 % too large are rejected by x^2 and exp(-x)."""
    model, f = MODELS[name], FUNCTIONS[function]
    ranked, names = exact_draws(model, 400_000)
    defect = atlas.generator_defect(model, ranked, f, names=names)
    assert abs(defect.value) < 4.9 * defect.std_error
    if function == "x^2":
        ranked, names = exact_draws(model, 400_000, factor=1.05)
        defect = atlas.generator_defect(model, ranked, f, names=names)
        assert abs(defect.value) > 4.9 * defect.std_error


def test_second_moments_are_one_of_them():
    model = MODELS["floor"]
    ranked = exact_draws(model, 1000)[0]
    one = atlas.generator_defect(model, ranked, lambda x: x**2 / 2)
    other = atlas.second_moment_defect(model, ranked)
    assert one.value == pytest.approx(float(other.value))
    several = atlas.generator_defect(model, np.stack([ranked, ranked + 1]), lambda x: x**2)
    assert several.shape == (2,)


def test_a_common_shift_changes_nothing_without_a_floor():
    model = MODELS["no floor"]
    ranked = exact_draws(model, 100)[0]
    one = atlas.generator_defect(model, ranked, jnp.tanh)
    other = atlas.generator_defect(model, ranked + np.arange(100.0)[:, None], jnp.tanh)
    assert one.value == pytest.approx(float(other.value), abs=1e-9)


@pytest.mark.slow
def test_it_measures_bias_where_no_law_is_known():
    """Unequal variances without affinity: no closed form. BridgeEuler at step .2 is caught at
    z = 4.9 (1e-6), and its defect falls by half at half the step; extrapolated, it is within
    errors of 0. 4e4 replicas after t = 8."""
    model = atlas.first_order([1.0, 0.0, -1.0], [1.0, 3.0, 1.0])
    with pytest.raises(ValueError, match="skew symmetry"):
        atlas.stationary_gaps(model)

    def defect(step):
        ranked = atlas.simulate(
            model,
            atlas.BridgeEuler(step=step),
            horizon=8.0,
            initial=[-1.0, 0.0, 1.0],
            replicas=40_000,
            key=0,
            noise_step=0.1,
        ).ranked[0]
        return atlas.generator_defect(model, ranked, lambda x: x**2)

    coarse, fine = defect(0.2), defect(0.1)
    assert abs(coarse.value) > 4.9 * coarse.std_error
    assert 1.5 < coarse.value / fine.value < 2.7
    assert abs(2 * fine.value - coarse.value) < 4.9 * np.hypot(2 * fine.std_error, coarse.std_error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: atlas.generator_defect(m, np.ones((5, 3)), jnp.sin), r"pass \(..., replica, 4"),
        (lambda m: atlas.generator_defect(m, np.ones(4), jnp.sin), r"pass \(..., replica, 4"),
        (lambda m: atlas.generator_defect(m, np.ones((5, 4)), WRONG), "f = 3 is no function"),
        (
            lambda m: atlas.generator_defect(MODELS["hybrid"], np.ones((5, 3)), jnp.sin),
            "pass which particle has each rank",
        ),
        (
            lambda m: atlas.generator_defect(
                atlas.asymmetric_collisions([1, -1], [1, 1], [0.0], [1.0]), np.ones((5, 2)), jnp.sin
            ),
            "pushes one particle only",
        ),
        (
            lambda m: atlas.second_moment_defect(MODELS["hybrid with a floor"], np.ones((5, 3))),
            "call generator_defect",
        ),
        (
            lambda m: atlas.second_moment_defect(MODELS["no floor"], np.ones((5, 4))),
            "model has no floor",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(MODELS["floor"])
