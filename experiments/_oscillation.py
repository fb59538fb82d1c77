"""The oscillation of two stations that are fed by old information: spectra and periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

import atlas
import queueing
from atlas.ensemble import Estimate

# Looks at the difference in one delay, and in one window of the spectrum.
_LOOKS, _WINDOW = 8, 512


@dataclass(frozen=True)
class Oscillation:
    """Spectrum of D = Q_1 - Q_2 in units of the delay.

    Arguments:
        frequency: (frequency,) times the delay.
        power: (frequency,) mean over replicas.
        period: of the largest peak, over four delays.
        path: D of one replica, `looks` a delay.
    """

    frequency: np.ndarray
    power: np.ndarray
    period: Estimate
    path: np.ndarray


def queue_oscillation(regime: queueing.Remote, *, num_looks: int, replicas: int, seed: int):
    """Of the queues themselves, by `queueing.simulate` at eight looks a delay."""
    times = _times(regime, num_looks)
    lengths = queueing.simulate(regime, times=times, replicas=replicas, seed=seed).lengths
    return spectrum(lengths[..., 0] - lengths[..., 1])


def diffusion_oscillation(regime: queueing.Remote, *, num_looks: int, replicas: int, seed: int):
    """Of the delay diffusion with a floor that has the queues' drifts and variances."""
    model = delay_model(regime)
    solution = atlas.simulate(
        model,
        atlas.DelayedBridge(step=model.delay / 16),
        times=_times(regime, num_looks),
        initial=np.full(2, 0.5 / (1 - regime.system.load)),
        replicas=replicas,
        seed=seed,
        names=True,
    )
    positions = solution.positions
    return spectrum(positions[..., 0] - positions[..., 1])


def delay_model(regime: queueing.Remote) -> atlas.DelayDiffusion:
    """Two equal stations as a diffusion, in jobs and the queues' own time.

    A station gets Lambda (1 - chi)/2, and the one that was shorter one delay ago Lambda chi more;
    the variance is that of arrivals and departures, Lambda/2 (1 + c_s^2) each.
    """
    system, chi = regime.system, regime.fraction
    rate, service = system.arrival_rate, float(system.service_rates[0])
    upper = rate * (1 - chi) / 2 - service
    variance = rate / 2 * (1 + system.laws[0].scv)
    return atlas.DelayDiffusion(
        [upper + rate * chi, upper], [variance, variance], regime.mean_travel_time
    )


def _times(regime: queueing.Remote, num_looks: int) -> np.ndarray:
    delay = regime.mean_travel_time
    settled = np.ceil(2 / (1 - regime.system.load) ** 2 / delay)
    return delay * (settled + np.arange(num_looks) / _LOOKS)


def spectrum(difference: np.ndarray) -> Oscillation:
    """Welch's estimate from D (time, replica), eight looks a delay."""
    window = min(_WINDOW, len(difference))
    frequency, by_replica = signal.welch(
        difference.astype(float), fs=float(_LOOKS), nperseg=window, axis=0
    )
    power: np.ndarray = np.asarray(by_replica)
    count = power.shape[1]
    rest = (power.sum(axis=1, keepdims=True) - power) / (count - 1)
    periods = np.array([_period(frequency, rest[:, i]) for i in range(count)])
    error = np.sqrt((count - 1) / count * np.sum((periods - periods.mean()) ** 2))
    mean = power.mean(axis=1)
    period = Estimate(_period(frequency, mean), error, count - 1.0)
    return Oscillation(frequency, mean, period, np.asarray(difference[:, 0], float))


def _period(frequency: np.ndarray, power: np.ndarray) -> float:
    # The frequency 0 holds the slow part; a parabola through the logarithms refines the peak.
    peak = 1 + int(np.argmax(power[1:-1]))
    left, here, right = np.log(power[peak - 1 : peak + 2])
    bend = left - 2 * here + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return 1 / (4 * (frequency[peak] + shift * (frequency[1] - frequency[0])))
