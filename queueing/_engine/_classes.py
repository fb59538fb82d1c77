"""Servers that are alike, put together."""

from __future__ import annotations

import numpy as np


def server_classes(
    arrivals: np.ndarray, services: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs of rates that occur, and which servers have them.

    Arguments:
        arrivals, services: (K,) rates of each server's own stream and of its service.
    Returns: rates (C, 2); servers (K,) in the order of their classes; bounds (C + 1,), class c
        being servers[bounds[c] : bounds[c + 1]].
    Cost: O(K) if all are alike, else O(K log K).
    """
    size = arrivals.size
    if (arrivals == arrivals[0]).all() and (services == services[0]).all():
        return np.array([[arrivals[0], services[0]]]), np.arange(size), np.array([0, size])
    pairs = np.stack([arrivals, services], axis=1)
    rates, class_of = np.unique(pairs, axis=0, return_inverse=True)
    servers = np.argsort(class_of.ravel(), kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(class_of.ravel()))))
    return rates, servers, bounds
