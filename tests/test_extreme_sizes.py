"""Runs that are too long, too many or too far: refused with a remedy, or right all the same."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import jax
import numpy as np
import pytest

import atlas
import queueing
from atlas._farthest import farthest_position
from queueing import JSQ, System, long_run, simulate
from queueing._content import content_digest

FARM = System([1.0, 0.5], 0.7)


@pytest.mark.parametrize("horizon", [1e300, 1e17])
def test_runs_without_end_are_refused(horizon):
    """Engines run compiled loops, which Ctrl-C cannot stop."""
    for call in (
        lambda: simulate(FARM, JSQ(), horizon=horizon, seed=0),
        lambda: simulate(FARM, JSQ(), horizon=horizon, engine="calendar", seed=0),
        lambda: long_run(FARM, JSQ(), horizon=horizon, seed=0),
        lambda: simulate(queueing.PausedSystem([0.5], [1.0]), horizon=horizon, seed=0),
        lambda: simulate(queueing.extreme_congestion(4, 2.0, 1.0), horizon=horizon, engine="leap"),
    ):
        with pytest.raises(ValueError, match="events in each replica"):
            call()


@pytest.mark.parametrize("chunk", [None, 1])
def test_more_replicas_than_fit_are_refused_at_once(chunk):
    with pytest.raises(ValueError, match=r"memory|chunks"):
        simulate(FARM, JSQ(), horizon=1.0, replicas=10**9, chunk=chunk, seed=0)
    with pytest.raises(ValueError, match=r"memory|chunks"):
        long_run(FARM, JSQ(), horizon=1.0, replicas=10**9, chunk=chunk, seed=0)


def test_more_jobs_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match=r"2\^62 in all"):
        simulate(System(np.ones(5000), 1.0), JSQ(), horizon=1.0, initial=np.full(5000, 2**51))
    near = queueing.extreme_congestion(4, 2.0, np.nextafter(2.0, 0.0))
    tiny = queueing.extreme_congestion(4, 1e-300, 1e-301)
    for regime in (near, tiny):
        with pytest.raises(ValueError, match="too many to count"):
            regime.initial_lengths("stationary", replicas=4, seed=0)
    for rates in ([1.0, 1.0], [1.0, 2.0]):
        with pytest.raises(ValueError, match="engine 'batched' counts up to"):
            simulate(System(rates, 1.0), JSQ(), horizon=1.0, initial=[2**40, 0], engine="batched")


@pytest.mark.parametrize(
    ("model", "speed"),
    [
        (atlas.atlas_model(4, 1.0), 0.25),
        (atlas.first_order([11.0, 10.0, 9.0], np.ones(3)), 10.0),
        (atlas.first_order([-1.0, 0.0, 5.0], np.ones(3)), 5.0),
        (atlas.first_order([-9.0, 0.0, 5.0], np.ones(3)), 9.0),
        (atlas.infinite_atlas(3, 1.0, 1.0), 0.5),
        (atlas.first_order([2.0, 1.0], np.ones(2), floor=True), 1.5),
        (atlas.first_order([-2.0, -1.0], np.ones(2), floor=True), 0.0),
    ],
)
def test_the_farthest_position_follows_the_fastest_group(model, speed):
    horizon = 1e8
    assert farthest_position(model, 3.0, horizon) == pytest.approx(speed * horizon, rel=1e-2, abs=4)


@pytest.mark.slow
def test_far_runs_take_float64():
    """Particles at a speed of 100 are at 1e5 when t = 1e3, where float32 has steps of 1/128."""
    model = atlas.first_order([110.0, 100.0, 90.0], np.ones(3))
    scheme = atlas.Splitting(step=0.1)
    for horizon, dtype in ((1.0, "float32"), (1e3, "float64")):
        run = atlas.simulate(model, scheme, horizon=horizon, initial=np.zeros(3), key=0)
        assert run.attrs["dtype"] == dtype


@pytest.mark.slow
def test_a_user_may_forbid_numpys_rules_to_himself():
    """The package relies on mixed types and shapes; settings of the user's do not reach it."""
    model = atlas.reflected_atlas(3, 2.0, 1.0)

    def run():
        return atlas.simulate(
            model, atlas.Splitting(step=0.1), horizon=0.2, initial="empty", key=0, replicas=2
        ).ranked

    expected = run()
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"):
        assert np.array_equal(run(), expected)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [atlas.BridgeEuler, atlas.ProjectedEuler])
def test_merged_noise_of_many_steps_is_their_sum(scheme):
    """64 steps in one: without a drift both schemes then end where 64 steps do."""
    model = atlas.first_order([0.0], [1.0], floor=scheme is atlas.BridgeEuler)
    settings = {"horizon": 0.64, "initial": [0.0], "replicas": 4, "key": 0, "dtype": "float64"}
    fine = atlas.simulate(model, scheme(step=0.01), **settings)
    coarse = atlas.simulate(model, scheme(step=0.64), noise_step=0.01, **settings)
    np.testing.assert_allclose(coarse.ranked, fine.ranked, rtol=1e-9)


def test_a_store_tells_systems_apart_by_every_number():
    """Rates, rank rules and observed times that a text of the system would abbreviate."""
    rates = np.linspace(1.0, 2.0, 40)
    other = rates.copy()
    other[20] += 0.25
    times = np.linspace(1.0, 2.0, 50)
    moved = times.copy()
    moved[20] -= 1e-7
    moved[21] += 1e-7
    law, near = queueing.Empirical(times), queueing.Empirical(moved)
    assert repr(law) == repr(near)
    subjects = [
        (System(rates, 5.0), JSQ()),
        (System(other, 5.0), JSQ()),
        (System(rates, 5.0, service=law), JSQ()),
        (System(rates, 5.0, service=near), JSQ()),
        (System(rates, 5.0), queueing.RankBased(rates / rates.sum())),
        (System(rates, 5.0), queueing.RankBased(other / other.sum())),
    ]
    digests = {content_digest(subject) for subject in subjects}
    assert len(digests) == len(subjects)
    assert content_digest((System(rates.tolist(), 5.0), JSQ())) in digests


@pytest.mark.slow
def test_a_store_of_another_system_is_refused(tmp_path):
    rates = np.linspace(1.0, 2.0, 40)
    settings = {"horizon": 1.0, "seed": 0, "store": tmp_path / "store", "replicas": 2}
    first = simulate(System(rates, 5.0), JSQ(), **settings)
    assert np.array_equal(simulate(System(rates, 5.0), JSQ(), **settings).lengths, first.lengths)
    rates[20] += 0.25
    with pytest.raises(ValueError, match="was made with content"):
        simulate(System(rates, 5.0), JSQ(), **settings)


@pytest.mark.slow
def test_a_store_is_gone_on_with_by_more_and_by_fewer_replicas(tmp_path):
    """Few replicas keep more histograms each, for their errors; results are those of one run."""
    settings = {"horizon": 200.0, "seed": 0, "num_threads": 1, "chunk": 1}
    for replicas in (2, 8, 3):
        stored = long_run(FARM, JSQ(), replicas=replicas, store=tmp_path / "store", **settings)
        alone = long_run(FARM, JSQ(), replicas=replicas, **settings)
        for found, expected in ((run.quantile("wait", [0.5, 0.9]) for run in (stored, alone)),):
            assert np.array_equal(found.value, expected.value)
            assert np.array_equal(found.std_error, expected.std_error)


def test_an_executor_that_forks_is_refused():
    """The children would have JAX's and numba's locks, and none of the threads that open them."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes are not forked here")
    context = multiprocessing.get_context("fork")
    refused = pytest.raises(ValueError, match="executor forks its processes")
    with ProcessPoolExecutor(1, mp_context=context) as pool, refused:
        simulate(FARM, JSQ(), horizon=1.0, seed=0, executor=pool)
