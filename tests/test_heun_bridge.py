"""HeunBridge: the table of the design, exactness on one particle, and both ways to find ranks."""

import numpy as np
import pytest

import atlas

from .problems import GENERAL, THREE_SERVERS, gap_bias


@pytest.mark.slow
@pytest.mark.parametrize(("step", "second_gap"), [(0.2, 0.239), (0.1, 0.081), (0.05, 0.022)])
def test_bias_is_that_of_the_table(step, second_gap):
    """K = 3, v = 1, b = 4. Oracle: an independent program's table, its s.e. taken as .002. 4e5
    replicas, z = 4.9 (1e-6), detecting .014; Splitting's row .357 .180 .081 is rejected."""
    bias, error = gap_bias(THREE_SERVERS, atlas.HeunBridge(step=step), 300_000)
    allowed = 4.9 * np.hypot(error[1], 0.002)
    assert abs(bias[1] - second_gap) < allowed
    splitting = {0.2: 0.357, 0.1: 0.180, 0.05: 0.081}[step]
    assert abs(bias[1] - splitting) > allowed


@pytest.mark.slow
def test_sorted_and_unsorted_particles_have_the_same_law():
    """Ranks of the prediction by index, where the drift has the Atlas form, and by sorting, which
    regulators need: equal means of 1e5 replicas, z = 4.9 (1e-6), detecting 3 %."""
    scheme = atlas.HeunBridge(step=0.1)
    plain, error = gap_bias(THREE_SERVERS, scheme, 50_000)
    ordered, other = gap_bias(THREE_SERVERS, scheme, 50_000, regulators=True)
    assert np.all(np.abs(plain - ordered) < 4.9 * np.hypot(error, other))


@pytest.mark.slow
def test_general_drifts_have_a_small_bias():
    """The limit, apart from the order: below 1 % at step .1, 2e5 replicas, z = 4.9 (1e-6);
    BridgeEuler has 15 % there."""
    bias, error = gap_bias(GENERAL, atlas.HeunBridge(step=0.1), 100_000)
    assert np.all(np.abs(bias) < 0.01 + 4.9 * error)
    bias, error = gap_bias(GENERAL, atlas.BridgeEuler(step=0.1), 30_000)
    assert np.any(np.abs(bias) > 0.01 + 4.9 * error)


def test_one_particle_is_exact_in_one_step():
    """Equal to BridgeEuler path by path, which is exact there."""
    model = atlas.RankDiffusion([-0.7], [1.5])

    def run(scheme):
        return atlas.simulate(
            model, scheme(step=1.0), horizon=2.0, initial=[0.2], replicas=100, key=0
        ).ranked

    np.testing.assert_allclose(run(atlas.HeunBridge), run(atlas.BridgeEuler), atol=1e-6)
