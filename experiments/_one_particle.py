"""Means of one reflected particle of variance 2 that starts at the floor, exact and per scheme.

Deterministic numbers, to which the simulated schemes are held without any allowance for bias.
"""

from math import ceil, sqrt

import numpy as np
from scipy.integrate import quad, simpson
from scipy.interpolate import CubicSpline
from scipy.signal import fftconvolve
from scipy.special import ndtr


def exact_mean(drift: float, horizon: float) -> float:
    """Reflected Brownian motion itself.

    E X_t = int_0^inf P(X_t > x) dx,  P(X_t > x) = PhiBar((x - d t)/s) + e^{d x} PhiBar((x + d t)/s)

    Arguments:
        drift: d < 0, length per time.
        horizon: t > 0; s = sqrt(2 t).

    Returns:
        The mean. Source: [Harrison1985]. Cost: one quadrature.
    """
    shift, deviation = drift * horizon, sqrt(2 * horizon)

    def tail(x: float) -> float:
        image = np.exp(drift * x) * ndtr(-(x + shift) / deviation)
        return float(ndtr(-(x - shift) / deviation) + image)

    return quad(tail, 0, 40 * deviation, limit=500, epsabs=1e-12)[0]


def projected_mean(drift: float, step: float, horizon: float) -> float:
    """ProjectedEuler: the maximum of a Gaussian random walk, by Spitzer's identity.

    E X_n = sum_{k <= n} E[S_k^+] / k,  S_k normal with mean d k h and variance 2 k h

    Arguments:
        drift: d, length per time.
        step: h.
        horizon: n h.

    Returns:
        The mean. Source: [Spitzer1956], [AsmussenGlynnPitman1995]. Cost: n normal tails.
    """
    k = np.arange(1, round(horizon / step) + 1)
    mean, deviation = drift * step * k, np.sqrt(2 * step * k)
    density = np.exp(-((mean / deviation) ** 2) / 2) / sqrt(2 * np.pi)
    return float(np.sum((mean * ndtr(mean / deviation) + deviation * density) / k))


def splitting_mean(drift: float, step: float, horizon: float, start_rate: float = np.inf) -> float:
    """Splitting: its own transition operator, applied to f(x) = x backwards in time.

    u <- E u(|x + sqrt(h) Z|), then n times u(max(x + d h, 0)) and E u(|x + sqrt(2 h) Z|), the last
    of these with h again: convolutions of even functions on a grid.

    Arguments:
        drift: d < 0, length per time.
        step: h.
        horizon: n h.
        start_rate: of the exponential law at the start; infinite for a start at the floor.

    Returns:
        The mean, to about 1e-6. Our derivation. Cost: n convolutions of some thousand points.
    """
    # The largest value that matters, and a grid that every Gaussian kernel is smooth on.
    top = 24.0 / min(1.0, -drift)
    count = ceil(top / min(sqrt(step) / 20, 0.02))
    x, spacing = np.linspace(0, top, count + 1, retstep=True)

    def diffuse(u: np.ndarray, variance: float) -> np.ndarray:
        reach = ceil(9 * sqrt(variance) / spacing)
        far = u[-1] + (u[-1] - u[-2]) * np.arange(1, reach + 1)
        even = np.concatenate([far[::-1], u[::-1], u[1:], far])
        kernel = np.exp(-((np.arange(-reach, reach + 1) * spacing) ** 2) / (2 * variance))
        return fftconvolve(even, kernel / kernel.sum(), mode="valid")[count:]

    def flow(u: np.ndarray) -> np.ndarray:
        spline = CubicSpline(np.concatenate([-x[20:0:-1], x]), np.concatenate([u[20:0:-1], u]))
        return spline(np.maximum(x + drift * step, 0))

    num_steps = round(horizon / step)
    # The first diffusion in closed form, since |x| has a kink that the grid would smooth.
    root = sqrt(step)
    u = x * (2 * ndtr(x / root) - 1) + 2 * root * np.exp(-((x / root) ** 2) / 2) / sqrt(2 * np.pi)
    for i in range(num_steps):
        u = diffuse(flow(u), step if i == num_steps - 1 else 2 * step)
    if np.isinf(start_rate):
        return float(u[0])
    density = np.exp(-start_rate * x)
    return float(simpson(density * u, x=x) / simpson(density, x=x))
