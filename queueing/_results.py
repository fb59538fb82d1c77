"""What `simulate` and `long_run` return."""

from __future__ import annotations

from typing import Any

import numpy as np

from atlas.ensemble import Estimate, Result

from ._job_quantiles import check_probs, job_quantiles
from ._observables import JOB_DIMS

# Times of a job whose quantiles are kept.
QUANTILE_NAMES = ("wait", "response", "time_to_service")


class Snapshots(Result, kind="queueing.Snapshots"):
    """Queue lengths of every replica at the save times.

    `variables`: ``lengths_ranked`` (time, replica, rank), ``lengths`` (time, replica, server; only
    when all ranks are kept), ``gaps`` and, with a regime, ``scaled_gaps`` (time, replica, gap),
    ``total``, ``imbalance``, ``idle_servers``, ``prob_tie`` (time, replica), ``occupancy`` (time,
    replica, level), with ``by_class=True`` ``occupancy_by_class`` (time, replica, speed_class,
    level), ``lengths_by_class`` and ``utilisation_by_class``, and the user's own. `attrs` say
    engine, seed, start and versions.
    """

    @property
    def times(self) -> np.ndarray:
        """(time,) save times in the system's own clock."""
        return self.coordinates["time"]

    @property
    def lengths(self) -> np.ndarray:
        """(time, replica, server) int64 jobs at each server, in service included."""
        return self.values("lengths")

    @property
    def lengths_ranked(self) -> np.ndarray:
        """(time, replica, rank) int64, ascending."""
        return self.values("lengths_ranked")

    @property
    def gaps(self) -> np.ndarray:
        """(time, replica, gap) int64, the first is the lowest rank itself."""
        return self.values("gaps")

    @property
    def scaled_gaps(self) -> np.ndarray:
        """(time, replica, gap) float64, gaps over the regime's unit of length."""
        return self.values("scaled_gaps")

    def estimate(self, name: str) -> Estimate:
        """The mean over replicas at each time, with its standard error; see `Result.estimate`."""
        if name in JOB_DIMS:
            raise ValueError(
                f"name is {name!r}, an average over jobs, which snapshots do not see; use long_run"
            )
        _refuse_unavailable(self, name)
        return super().estimate(name)


class LongRun(Result, kind="queueing.LongRun"):
    """Averages over time and over jobs, one per replica, with errors from batch means.

    State variables are averages over time, job variables (``prob_wait``, ``prob_loss``, ``wait``,
    ``response``, ``time_to_service``) averages over accepted jobs (``prob_loss``: over all),
    ``wait_by_class`` and ``response_by_class`` those of the servers of each rate (ascending), and
    ``total_at_events`` one over the states that events leave behind. With ``by_class=True`` there
    are ``occupancy_by_class`` (speed_class, level), ``lengths_by_class``, ``utilisation_by_class``
    and ``throughput_by_class`` (speed_class): averages over time and over the servers of a rate.
    Each has dims (replica, ...),
    and beside it ``NAME_std_error`` and ``NAME_dof``; `estimate` pools them. ``num_arrivals``,
    ``num_departures``, ``num_lost``, ``initial_total`` and ``final_total`` (replica) count the jobs
    of the whole run, warm-up included, where the engine sees them; ``warmup_cut`` (replica) is the
    time that was left out. `quantile` gives quantiles of jobs' times. `attrs` say engine, seed,
    start, warm-up rule, groups of batches and versions.
    """

    def estimate(self, name: str) -> Estimate:
        """The mean with its standard error, from replicas and batch means pooled.

        Raises: ValueError for an unknown name, and for what this run did not see, with the reason.
        """
        _refuse_unavailable(self, name)
        return super().estimate(name)

    def quantile(self, name: str, probs: Any) -> Estimate:
        """Quantiles of a time of the accepted jobs, with standard errors.

        From log-spaced histograms whose bins keep the relative error
        ``attrs["quantile_relative_error"]``, besides the standard error; times below 1e-4 mean
        service times count as 0. Where services are exponential a job adds the law of its time
        given the length that it finds, an Erlang law, rather than one time: the same law with a
        smaller error.

        Arguments:
            name: "wait", "response" or "time_to_service".
            probs: probabilities in (0, 1), any shape.
        Returns: an Estimate of the shape of `probs`, in the system's own clock; infinite where
            times exceed 1e6 mean service times.
        Raises: ValueError for another name or bad probabilities, and for what this run did not
            see, with the reason.
        """
        asked = check_probs(probs)
        if name not in QUANTILE_NAMES:
            raise ValueError(f"name is {name!r}; give one of {', '.join(QUANTILE_NAMES)}")
        reasons = self.attrs["no_quantiles"]
        if name in reasons:
            raise ValueError(f"name is {name!r}: {reasons[name]}")
        kept = f"{name}_histogram"
        if kept not in self.variables:
            # Without travel a job is where it waits at once.
            kept = "wait_histogram"
        counts = self.values(kept)
        shape = (self.sizes["replica"], -1, counts.shape[-1])
        unit = self.attrs["histogram_unit"]
        estimate = job_quantiles(counts.reshape(shape), unit, asked.ravel())
        columns = (estimate.value, estimate.std_error, estimate.dof)
        return Estimate(*(column.reshape(asked.shape) for column in columns))

    @property
    def names(self) -> list[str]:
        """What can be estimated; histograms are for `quantile`."""
        return [name for name in super().names if not name.endswith("_histogram")]


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C between chunks; `result` holds the replicas that were finished, or is None."""

    def __init__(self, message: str, result: Result | None) -> None:
        super().__init__(message)
        self.result = result


class UnstableError(ValueError):
    """Averages over a long run were asked for that do not exist; see `throw`."""


def _refuse_unavailable(result: Result, name: str) -> None:
    reasons = result.attrs.get("unavailable", {})
    if name in reasons and name not in result.variables:
        raise ValueError(f"name is {name!r}: {reasons[name]}")
