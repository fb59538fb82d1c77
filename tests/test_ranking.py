"""Ranks, gaps, and starts that are refused."""

import numpy as np
import pytest

import atlas


def test_rank_is_the_inverse_of_argsort():
    assert atlas.rank([2.0, 3.0, 1.0]).tolist() == [1, 2, 0]
    positions = np.random.default_rng(1).normal(size=(5, 7, 11))
    for axis in (0, 1, 2, -1):
        ranks = atlas.rank(positions, axis=axis)
        np.testing.assert_array_equal(
            np.take_along_axis(np.sort(positions, axis=axis), ranks, axis), positions
        )


def test_ties_get_different_ranks_in_order_of_index():
    assert atlas.rank([1.0, 0.0, 1.0, 0.0]).tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("floor", [True, False])
def test_gaps_and_ranked_positions_convert_both_ways(floor):
    ranked = np.sort(np.random.default_rng(2).exponential(size=(3, 6)), axis=-1)
    gaps = atlas.gaps_of(ranked, floor)
    assert gaps.shape == (3, 6 if floor else 5)
    back = atlas.ranked_from_gaps(gaps, floor)
    np.testing.assert_allclose(back, ranked if floor else ranked - ranked[:, :1], atol=1e-15)


def test_one_particle_without_a_floor_has_a_position_and_no_gap():
    assert atlas.ranked_from_gaps(np.zeros((5, 0)), floor=False).tolist() == [[0.0]] * 5
    assert atlas.gaps_of(np.ones((5, 1)), floor=False).shape == (5, 0)
