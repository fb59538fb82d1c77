"""What cutting the infinite model to N particles with the closure "free" may disturb: its bound."""

import numpy as np
from scipy import integrate, stats

import atlas
from atlas._truncation import free_truncation_bound


def test_the_bound_is_the_integral_over_particles_left_out():
    """Oracle: quadrature of a 2 PhiBar((x_N - y + u)/sqrt(2 T)) over u > 0, at most 1 in each
    replica, averaged over replicas; to 1e-9.  Half of it, or the law at T / 2, is rejected."""
    model = atlas.reflected_atlas(8, 3.0, 1.0, closure="free")
    highest, horizon = np.array([4.0, 6.0, 5.0]), 0.7
    peaks = np.array([[0.5, 1.0, 4.9], [2.5, 3.0, 6.0]])

    def expected(distance, time=horizon):
        tail = lambda u: stats.norm.sf((distance + u) / np.sqrt(2.0 * time))  # noqa: E731
        return 3.0 * integrate.quad(lambda u: 2.0 * tail(u), 0.0, np.inf, epsabs=1e-14)[0]

    exact = [
        np.mean([min(expected(x - y), 1.0) for x, y in zip(highest, row, strict=True)])
        for row in peaks
    ]
    bound = free_truncation_bound(model, highest, peaks, horizon)
    np.testing.assert_allclose(bound, exact, rtol=1e-9)
    assert expected(2.0, horizon / 2.0) < 0.5 * expected(2.0)
    assert np.all(free_truncation_bound(model, highest, peaks, 0.0) == 0.0)
