"""Where regimes start: the original chain and the system with pauses, each from its own law."""

import numpy as np
import pytest

from queueing._regime import extreme_congestion, heavy_traffic

REGIME = extreme_congestion(100, 2.0, 1.0)


def scores(lengths, law_tails, levels):
    """Errors of P(Q_(1) >= level), in standard errors."""
    found = (lengths[:, :1] >= levels).mean(axis=0)
    return np.abs(found - law_tails) / np.sqrt(law_tails * (1 - law_tails) / len(lengths))


def test_each_chain_starts_from_its_own_law():
    """Oracle: P(Q_(1) >= m) = exp(-m (a-b)/sqrt n) for the original chain, rho_1^m with pauses.

    Five levels at 5.5 sigma: false-fail rate below 1e-6.  40 000 replicas detect a probability
    off by 0.014, and each law rejects the other's sample.
    """
    levels = np.array([1, 3, 6, 10, 20])
    own = np.exp(-levels / 10.0)
    paused_law = REGIME.with_pauses().stationary_gaps()
    paused = paused_law.ratios[0] ** levels
    settings = dict(replicas=40_000, seed=11, num_ranks=1)
    original_start = REGIME.initial_lengths("stationary", **settings)
    paused_start = REGIME.with_pauses().initial_lengths("stationary", **settings)
    assert scores(original_start, own, levels).max() < 5.5
    assert scores(paused_start, paused, levels).max() < 5.5
    assert scores(paused_start, own, levels).max() > 5.5
    assert scores(original_start, paused, levels).max() > 5.5


def test_original_start_has_the_right_mean_queue_and_the_paused_one_has_not():
    """Oracle: E mean queue = n^(3/2)/a - 1 + (b/a)(1 + E Q_(1)) with E Q_(1) = 9.5 at n = 100
    (half a job more or less there moves the mean queue by a quarter).

    Per rank k the start has mean sum of 1/rate_i, i <= k, less 1/2 by rounding, so the mean
    queue's expectation is known; 4000 replicas estimate it to 0.8 (5 sigma 4.1: false-fail below
    1e-6).  The paused law, low by n/4 = 25, is rejected.
    """
    exact = REGIME.mean_queue(9.5)
    means = REGIME.initial_lengths("stationary", replicas=4000, seed=2).mean(axis=1)
    error = means.std() / np.sqrt(means.size)
    assert abs(means.mean() - exact) < 5 * error
    paused = REGIME.with_pauses().initial_lengths("stationary", replicas=4000, seed=2)
    assert abs(paused.mean() - exact) > 5 * error
    positions = np.cumsum(1.0 / REGIME.stationary_start().rates)
    assert positions.mean() - 0.5 == pytest.approx(exact, abs=0.5)


def test_paused_start_has_the_wrong_idle_servers():
    """n = 100: 0.118 idle servers under the paused law, 0.1 exactly for the original chain.

    20 000 replicas: standard error .0026, so the paused law is rejected at 5 sigma and the start
    of the original chain (.105 by rounding down) is not.
    """
    settings = dict(replicas=20_000, seed=3, num_ranks=15)

    def score(regime):
        idle = (regime.initial_lengths("stationary", **settings) == 0).sum(axis=1)
        return (idle.mean() - REGIME.idle_servers) / (idle.std() / np.sqrt(idle.size))

    assert abs(score(REGIME)) < 5.0
    assert score(REGIME.with_pauses()) > 5.0


def test_results_can_say_which_law_was_the_start():
    descriptions = [
        REGIME.start_description("stationary"),
        REGIME.with_pauses().start_description("stationary"),
        REGIME.start_description("empty"),
    ]
    assert "product-exponential" in descriptions[0]
    assert "with pauses" in descriptions[1] and "geometric" in descriptions[1]
    assert len(set(descriptions)) == 3


REGIMES = (
    REGIME,
    REGIME.with_pauses(),
    heavy_traffic(4, 400, 1.0, 2.0, rank_probs=[0.4, 0.3, 0.2, 0.1]),
)


@pytest.mark.parametrize("regime", REGIMES, ids=["P0", "P0 paused", "P1 by ranks"])
@pytest.mark.parametrize("kind", ["empty", "stationary"])
def test_replicas_start_alike_in_any_batch(regime, kind):
    """C5, C6: batches, ranges and a prefix of the ranks give the same numbers."""
    whole = regime.initial_lengths(kind, replicas=12, seed=5)
    assert whole.dtype == np.int64 and whole.shape == (12, regime.system.num_servers)
    assert np.all(whole >= 0) and np.all(np.diff(whole, axis=1) >= 0)
    parts = [regime.initial_lengths(kind, replicas=r, seed=5) for r in (range(7), range(7, 12))]
    assert np.array_equal(np.concatenate(parts), whole)
    lowest = regime.initial_lengths(kind, replicas=range(11, 12), seed=5, num_ranks=3)
    assert np.array_equal(lowest, whole[11:, :3])
    if kind == "stationary":
        assert len(np.unique(whole, axis=0)) == 12
        assert not np.array_equal(regime.initial_lengths(kind, replicas=12, seed=6), whole)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicas": 0}, "replicas is 0"),
        ({"replicas": range(-1, 3)}, "replicas is"),
        ({"num_ranks": 0}, "num_ranks is 0"),
        ({"num_ranks": 101}, "num_ranks is 101"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_requests_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        REGIME.initial_lengths("stationary", **({"replicas": 2, "seed": 1} | arguments))
