"""What `simulate` and `long_run` return."""

from __future__ import annotations

import numpy as np

from atlas.ensemble import Estimate, Result

from ._observables import JOB_DIMS


class Snapshots(Result, kind="queueing.Snapshots"):
    """Queue lengths of every replica at the save times.

    `variables`: ``lengths_ranked`` (time, replica, rank), ``lengths`` (time, replica, server; only
    when all ranks are kept), ``gaps`` and, with a regime, ``scaled_gaps`` (time, replica, gap),
    ``total``, ``imbalance``, ``idle_servers``, ``prob_tie`` (time, replica), ``occupancy`` (time,
    replica, level) and the user's own. `attrs` say engine, seed, start and versions.
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
    ``response``, ``time_to_service``) averages over accepted jobs (``prob_loss``: over all), and
    ``total_at_events`` one over the states that events leave behind. Each has dims (replica, ...),
    and beside it ``NAME_std_error`` and ``NAME_dof``; `estimate` pools them. ``num_arrivals``,
    ``num_departures``, ``num_lost``, ``initial_total`` and ``final_total`` (replica) count the jobs
    of the whole run, warm-up included, where the engine sees them; ``warmup_cut`` (replica) is the
    time that was left out. `attrs` say engine, seed, start, warm-up rule, groups of batches and
    versions.
    """

    def estimate(self, name: str) -> Estimate:
        """The mean with its standard error, from replicas and batch means pooled.

        Raises: ValueError for an unknown name, and for what this run did not see, with the reason.
        """
        _refuse_unavailable(self, name)
        return super().estimate(name)


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
