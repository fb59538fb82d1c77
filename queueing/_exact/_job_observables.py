"""Observables of jobs: averages over the states that Poisson arrivals find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._chain import Chain
from ._state_observables import system_of


def _accepted(chain: Chain, name: str) -> np.ndarray:
    """(S, K) whether a job that is sent to that server is let in (the truncation aside)."""
    system = system_of(chain, name)
    if system.arrival_rate == 0.0:
        raise ValueError(f"{name} averages over jobs and arrival_rate is 0; give one above 0")
    states = chain.space.states
    return np.ones(states.shape, dtype=bool) if system.buffer is None else states < system.buffer


def _job_ratio(chain: Chain, name: str, law: np.ndarray, routing: np.ndarray, values) -> Any:
    """Mean of `values` (S, K) over accepted jobs: Poisson arrivals see the state's law (PASTA)."""
    weights = routing * _accepted(chain, name)
    # A server of rate 0 has infinite values, which count only where jobs are sent.
    contributions = np.multiply(weights, values, where=weights > 0.0, out=np.zeros(weights.shape))
    return law @ contributions.sum(axis=1) / (law @ weights.sum(axis=1))


def _prob_wait(chain: Chain, law: np.ndarray, routing: np.ndarray) -> Any:
    return _job_ratio(chain, "prob_wait", law, routing, chain.space.states > 0)


def _prob_loss(chain: Chain, law: np.ndarray, routing: np.ndarray) -> Any:
    return law @ (routing * ~_accepted(chain, "prob_loss")).sum(axis=1)


def _wait(chain: Chain, law: np.ndarray, routing: np.ndarray) -> Any:
    rates = system_of(chain, "wait").service_rates
    with np.errstate(divide="ignore", invalid="ignore"):
        waits = np.where(chain.space.states > 0, chain.space.states / rates, 0.0)
    return _job_ratio(chain, "wait", law, routing, waits)


def _response(chain: Chain, law: np.ndarray, routing: np.ndarray) -> Any:
    rates = system_of(chain, "response").service_rates
    with np.errstate(divide="ignore"):
        responses = (chain.space.states + 1) / rates
    return _job_ratio(chain, "response", law, routing, responses)


def _by_class(mean: Callable[[Chain, np.ndarray, np.ndarray], Any]) -> Callable[..., Any]:
    """The same mean over the jobs of the servers of each rate, slowest first."""

    def means(chain: Chain, law: np.ndarray, routing: np.ndarray) -> Any:
        rates = system_of(chain, "an average by class").service_rates
        classes = np.unique(rates)
        # A class that no job reaches has no mean.
        with np.errstate(invalid="ignore"):
            return np.stack(
                [mean(chain, law, np.where(rates == rate, routing, 0.0)) for rate in classes],
                axis=-1,
            )

    return means


JOB_OBSERVABLES: dict[str, Callable[[Chain, np.ndarray, np.ndarray], Any]] = {
    "prob_wait": _prob_wait,
    "prob_loss": _prob_loss,
    "wait": _wait,
    "time_to_service": _wait,
    "response": _response,
    "wait_by_class": _by_class(_wait),
    "response_by_class": _by_class(_response),
}
