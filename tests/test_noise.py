"""The generator of the diffusions: known answers, moments, independence of batch and size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from atlas._noise import (
    STREAM_BRIDGE,
    STREAM_NORMAL,
    Noise,
    from_slots,
    philox4x32,
    to_slots,
)

FLOAT32: np.dtype = np.dtype("float32")


def make_noise(replicas=range(64), num_particles=8, dtype: np.dtype = FLOAT32, key=(7, 9)):
    index = np.asarray(replicas, dtype=np.uint32)[None, :]
    return Noise(jnp.asarray(key, jnp.uint32), jnp.asarray(index), num_particles, dtype)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            (0xFFFFFFFF,) * 2,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_known_answers(counter, key, words):
    drawn = philox4x32(
        [jnp.uint32(k) for k in key], [jnp.full((1,), c, jnp.uint32) for c in counter]
    )
    assert tuple(int(word[0]) for word in drawn) == words


def test_normals_have_the_moments_and_tails_of_the_normal_law():
    """Oracle: the normal law. 4e6 draws; each z test false-fails with 1e-6 (z = 4.9), detecting
    1.2e-2 % of the mean's unit, 0.35 % of the variance. Uniform noise of variance 1 fails."""
    noise = make_noise(range(1024), 4096)
    z = np.asarray(noise.normals(3), np.float64).ravel()
    n = z.size

    def deviations(draws):
        moments = {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}
        scores = [
            (np.mean(draws**power) - mean) / np.sqrt(variance / n)
            for power, (mean, variance) in moments.items()
        ]
        tail = np.mean(np.abs(draws) > 3.2905267314919255)
        return np.abs([*scores, (tail - 1e-3) / np.sqrt(1e-3 / n)])

    assert np.all(deviations(z) < 4.9)
    uniform = np.random.default_rng(0).uniform(-np.sqrt(3), np.sqrt(3), n)
    assert np.any(deviations(uniform) > 4.9)


def test_words_of_particles_steps_replicas_and_streams_are_uncorrelated():
    """Oracle: independence. 65536 pairs each, |correlation| < 4.9 / 256 (1e-6); equal draws have
    correlation 1."""
    noise = make_noise(range(16384), 8)
    now, later = np.asarray(noise.normals(5)), np.asarray(noise.normals(6))
    bridge = np.asarray(noise.normals(5, STREAM_BRIDGE))
    other_key = np.asarray(make_noise(range(16384), 8, key=(7, 10)).normals(5))
    pairs = [
        (now[0], now[1]),
        (now[2], now[3]),
        (now[:, 0], now[:, 1]),
        (now[..., :-1], now[..., 1:]),
        (now, later),
        (now, bridge),
        (now, other_key),
        (now**2, later**2),
    ]
    for first, second in pairs:
        assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 4.9 / np.sqrt(first.size)


def test_noise_is_a_function_of_replica_step_and_particle_alone():
    whole = np.asarray(make_noise(range(100), 64).normals(11))
    part = np.asarray(make_noise(range(40, 47), 64).normals(11))
    np.testing.assert_array_equal(part, whole[..., 40:47])
    small = np.asarray(make_noise(range(100), 16).normals(11))
    np.testing.assert_array_equal(small, whole[:, :4])


def test_noise_does_not_repeat_at_late_steps():
    """C2: var of increments near 1 and no repeats for steps far from the start, where a float
    clock would have lost its step. Oracle: 1 +- 0.1 at 4.9 sd of 3.2e5 draws would be 0.012."""
    noise = make_noise(range(1000), 8)
    late = [np.asarray(noise.normals(np.uint32(10**8 + k))).ravel() for k in range(40)]
    draws = np.concatenate(late)
    assert abs(np.var(draws) - 1) < 0.013
    assert len(np.unique(draws)) > 0.97 * draws.size
    for k in range(39):
        assert not np.any(late[k] == late[k + 1])


@pytest.mark.slow
def test_both_precisions_see_the_same_noise():
    single = np.asarray(make_noise(range(256), 64).normals(2))
    with jax.enable_x64(True):
        double = np.asarray(make_noise(range(256), 64, np.dtype("float64")).normals(2))
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=2e-5)
    # And float64 is the trigonometric value of its words, not a polynomial's.
    words = np.asarray(make_noise(range(256), 64).words(2, STREAM_NORMAL)).astype(np.float64)
    radius = np.sqrt(-2 * np.log((words[0] + 0.5) * 2.0**-32))
    angle = 2 * np.pi * words[1] * 2.0**-32
    np.testing.assert_allclose(double[0], radius * np.cos(angle), atol=1e-13)
    np.testing.assert_allclose(double[1], radius * np.sin(angle), atol=1e-13)


@pytest.mark.parametrize("num_particles", [1, 3, 4, 5, 9])
def test_slots_and_particles_convert_both_ways(num_particles):
    particles = np.arange(num_particles * 6, dtype=np.float32).reshape(num_particles, 2, 3)
    slots = to_slots(jnp.asarray(particles))
    assert slots.shape == (4, -(-num_particles // 4), 2, 3)
    np.testing.assert_array_equal(from_slots(slots, num_particles), particles)
    last = num_particles - 1
    np.testing.assert_array_equal(slots[last % 4, last // 4], particles[last])
