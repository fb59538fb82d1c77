"""Reflected Ornstein-Uhlenbeck processes against laws in closed form and exact identities."""

import numpy as np
import pytest

import atlas
from atlas.ensemble import Estimate

# Batches of one shape, so that each kind of model is compiled once.
REPLICAS = 4096


def late_states(model, step=0.1, key=1):
    return atlas.simulate_reflected_ou(
        model, step=step, times=np.arange(8.0, 24.0, 2.0), replicas=REPLICAS, key=key
    )


def test_brownian_motion_is_exact_at_any_step():
    """Oracle: Exp(1), drift -1 and variance 2. False-fail rate 1e-6 (5 s.e.); detects 10 %.

    The same with the floor forgotten within a step, max(x + S, 0), would be 30 % low.
    """
    model = atlas.ReflectedOU(-1.0)
    paths = atlas.simulate_reflected_ou(model, step=0.5, horizon=24.0, replicas=REPLICAS, key=3)
    position = paths.values("position")[0]
    for values, exact in ((position, 1.0), (position**2, 2.0), (position > 1, np.exp(-1))):
        estimate = Estimate.from_samples(values)
        assert abs(estimate.value - exact) < 5 * estimate.std_error
    push = paths.estimate("regulator")
    rate = push.value[0] / 24.0
    # From the floor: E X_t = -t + E L_t.
    assert abs(rate - 1 - 1 / 24) < 5 * push.std_error[0] / 24.0


def test_a_normal_law_cut_at_the_floor():
    """Oracle: b = 0, k = 1, variance 2 gives |N(0, 1)|. False-fail rate 1e-6 (5 s.e.), bias below
    0.001 by a run with 400000 paths; detects 2 %. Twice the decay, off by 30 %, is rejected.
    """
    means = late_states(atlas.ReflectedOU(0.0, 1.0)).values("position").mean(axis=0)
    estimate = Estimate.from_samples(means)
    gap = abs(estimate.value - np.sqrt(2 / np.pi))
    assert gap < 5 * estimate.std_error + 1e-3
    assert 5 * estimate.std_error < 0.02
    other = late_states(atlas.ReflectedOU(0.0, 2.0)).values("position").mean(axis=0)
    assert abs(other.mean() - np.sqrt(2 / np.pi)) > 10 * estimate.std_error


def identities(model, step):
    """E V - b/k, E VX - b E X/(k + m), E V^2 - ..., as samples per replica; zero in equilibrium."""
    paths = late_states(model, step)
    position, memory = paths.values("position"), paths.values("memories")[..., 0]
    slow, fast, drift = model.decay, model.memory_decays[0], model.drift
    return [
        (position - drift / slow).mean(axis=0),
        (position * memory - drift * memory / (slow + fast)).mean(axis=0),
        (slow * position**2 - drift * position + fast * position * memory - 1).mean(axis=0),
    ]


@pytest.mark.parametrize("profile", [None, [1.5, 0.5]])
def test_identities_of_the_halfin_whitt_diffusion(profile):
    """Oracle: drifts of V + X, X^2, V X and V^2, all zero in equilibrium. False-fail rate 1e-6
    (5 s.e.) with 0.01 for the step's bias, measured at half of it; detects 0.06. A memory that is
    pushed half as far breaks the first by 0.14.
    """
    import queueing

    model = queueing.halfin_whitt(1.0, profile)
    assert model.decay == (1.0 if profile is None else 0.5)
    for samples in identities(model, 0.1):
        estimate = Estimate.from_samples(samples)
        assert abs(estimate.value) < 5 * estimate.std_error + 0.01
        assert 5 * estimate.std_error < 0.1
    wrong = atlas.ReflectedOU(
        1.0, model.decay, 2.0, model.memory_decays, model.memory_weights, [0.5]
    )
    assert abs(identities(wrong, 0.1)[0].mean()) > 0.1


def test_a_replica_is_the_same_in_any_batch():
    """Bit for bit, and start and save times are what was asked for; no oracle."""
    model = atlas.ReflectedOU(1.0, 1.0, 2.0, [1.0], [1.0])
    options = {"step": 0.1, "key": 9}
    whole = atlas.simulate_reflected_ou(model, replicas=REPLICAS, horizon=2.0, **options)
    later = range(1000, 1000 + REPLICAS - 50)
    part = atlas.simulate_reflected_ou(model, replicas=later, horizon=2.0, **options)
    for name in ("position", "memories", "regulator"):
        overlap = part.values(name)[:, : REPLICAS - 1000]
        np.testing.assert_array_equal(whole.values(name)[:, 1000:], overlap)
    assert len(np.unique(whole.values("regulator"))) > REPLICAS - 10
    times = [0, 0, 0.05, 2.0]
    start = [1.0, 2.0]
    other = atlas.simulate_reflected_ou(
        model, replicas=REPLICAS, times=times, initial=start, **options
    )
    assert np.all(other.values("position")[:2] == 1)
    assert np.all(other.values("memories")[:2] == 2)
    assert np.all(other.values("regulator")[:2] == 0)
    assert other.times.tolist() == times


def test_round_trip_through_a_file(tmp_path):
    """What is saved is what is read."""
    paths = atlas.simulate_reflected_ou(
        atlas.ReflectedOU(0.0), step=0.5, horizon=0.0, replicas=2, key=0
    )
    loaded = atlas.load(paths.save(tmp_path / "paths.nc"))
    assert isinstance(loaded, atlas.ReflectedPaths)
    assert loaded.attrs["model"] == "ReflectedOU"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: atlas.ReflectedOU(np.nan), "drift = nan"),
        (lambda: atlas.ReflectedOU(1.0, -1.0), "decay = -1.0"),
        (lambda: atlas.ReflectedOU(1.0, 1.0, 0.0), "variance = 0.0"),
        (lambda: atlas.ReflectedOU(1.0, 1.0, 2.0, [1.0]), "memory_weights"),
        (lambda: atlas.ReflectedOU(1.0, 1.0, 2.0, [-1.0], [1.0]), r"memory_decays\[0\] = -1.0"),
        (lambda: run(model=atlas.ReflectedOU), "is no ReflectedOU"),
        (lambda: run(step=0.0), "step = 0.0"),
        (lambda: run(horizon=np.inf), "horizon = inf"),
        (lambda: run(replicas=0), "replicas"),
        (lambda: run(initial=[-1.0]), "initial has the position -1.0"),
        (lambda: run(initial=[np.nan]), r"initial\[0, 0\] = nan"),
        (lambda: run(initial=[0.0, 1.0]), "initial has shape"),
        (lambda: run(initial="empty"), "initial = 'empty'"),
        (lambda: run(step=1e-12), "max_steps"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def run(**changes):
    options = {"model": atlas.ReflectedOU(-1.0), "step": 0.1, "horizon": 1.0, "replicas": 2}
    options.update(changes)
    model = options.pop("model")
    return atlas.simulate_reflected_ou(model, key=0, **options)
