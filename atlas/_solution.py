"""What `simulate` returns."""

import numpy as np

from .ensemble import Result


class SimulationError(RuntimeError):
    """A run that could not be finished soundly; `solution` holds what there is.

    Raised for positions that became NaN or infinite and for a free truncation past its budget,
    unless `simulate` is told ``throw=False``.
    """

    def __init__(self, message: str, solution: "Solution"):
        super().__init__(message)
        self.solution = solution


class SimulationInterrupted(KeyboardInterrupt):
    """Ctrl-C between chunks; `solution` holds the replicas that were finished, or is None."""

    def __init__(self, message: str, solution: "Solution | None"):
        super().__init__(message)
        self.solution = solution


class Solution(Result, kind="atlas.Solution"):
    """Saved states of an ensemble of replicas, with everything needed to make them again.

    `variables`: ``ranked`` (time, replica, rank), ``gaps`` (time, replica, gap), on request
    ``regulators`` (time, replica, regulator), ``names_ranked`` (time, replica, rank) and the user's
    observables; a run that keeps moments only has their means over replicas with standard errors.
    `attrs` hold model, scheme, step, seed, key implementation, versions and the result code.
    """

    @property
    def times(self) -> np.ndarray:
        """The save times, shape (time,)."""
        return self.coordinates["time"]

    @property
    def ranked(self) -> np.ndarray:
        """Ranked positions, ascending, shape (time, replica, rank)."""
        return self._paths("ranked")

    @property
    def gaps(self) -> np.ndarray:
        """Gaps, shape (time, replica, gap); with a floor the first is that of the lowest to it."""
        return self._paths("gaps")

    @property
    def regulators(self) -> np.ndarray:
        """Regulators l_k(t) since time 0, shape (time, replica, regulator), index as the gaps'."""
        return self._paths("regulators")

    @property
    def names_ranked(self) -> np.ndarray:
        """Index into `name_drifts` of the particle at each rank, shape (time, replica, rank)."""
        return self._paths("names_ranked")

    @property
    def positions(self) -> np.ndarray:
        """Positions by name, shape (time, replica, particle), of a run with names=True."""
        ranked, names = self.ranked, self.names_ranked
        count = len(self.attrs["name_drifts"])
        if ranked.shape[-1] < count:
            raise ValueError(
                f"positions by name need all {count} ranks, {ranked.shape[-1]} were kept; leave "
                "out num_ranks."
            )
        by_name = np.empty_like(ranked)
        np.put_along_axis(by_name, names, ranked, axis=-1)
        return by_name

    @property
    def result(self) -> str:
        """``"successful"``, or what went wrong where an error was not thrown."""
        return self.attrs["result"]

    def _paths(self, name: str) -> np.ndarray:
        if name in self.variables and "replica" not in self.variables[name].dims:
            raise ValueError(
                f"{name} of every replica was not kept; run with keep='paths', or read "
                f"estimate({name!r})."
            )
        return self.values(name)
