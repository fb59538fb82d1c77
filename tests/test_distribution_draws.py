"""Samples of laws draw by draw, and whole numbers that rounding must not miss: exact checks."""

import numpy as np
import pytest
from scipy.special import gammainc, ndtr

from queueing import (
    Coxian,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    Lognormal,
    MixedErlang,
    Pareto,
    Uniform,
    Weibull,
)

# What a law draws, mapped to a uniform number.
BY_INVERSION = {
    Exponential(): lambda rng: -np.expm1(-rng.standard_exponential(1000)),
    Pareto(1.5): lambda rng: -np.expm1(-rng.standard_exponential(1000)),
    Lognormal(2.0): lambda rng: ndtr(rng.standard_normal(1000)),
    Weibull(0.6): lambda rng: -np.expm1(-(rng.weibull(0.6, 1000) ** 0.6)),
    Gamma(2.5): lambda rng: gammainc(2.5, rng.standard_gamma(2.5, 1000)),
    Erlang(3): lambda rng: gammainc(3.0, rng.standard_gamma(3.0, 1000)),
    Uniform(0.25): lambda rng: rng.random(1000),
}


@pytest.mark.parametrize("law", BY_INVERSION, ids=repr)
def test_samples_are_the_quantiles_of_their_draws(law):
    """Exact: the same draws through the quantile function; scales that are a little wrong, which
    no test of samples sees, are rejected."""
    draws = law.sample(np.random.default_rng(5), 1000)
    expected = law.quantile(BY_INVERSION[law](np.random.default_rng(5)))
    np.testing.assert_allclose(draws, expected, rtol=1e-9)


def test_laws_of_whole_numbers_of_phases_have_no_phase_too_many():
    """1/c of c = 1/k comes out above k by rounding for some k, and quantiles of i/m below x_i."""
    for count in range(2, 200):
        assert Coxian(1.0 / count).num_phases == MixedErlang(1.0 / count).num_phases == count
        law = Empirical(np.arange(1.0, count + 1.0))
        at_steps = law.quantile(np.arange(1, count + 1) / count)
        np.testing.assert_array_equal(at_steps, law.values)
