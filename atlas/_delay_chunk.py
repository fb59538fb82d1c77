"""One chunk of replicas of a delay diffusion."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from ._chunk import ChunkTask
from ._delay_model import DelayDiffusion
from ._delay_problem import AnyProblem, DelayProblem, DelayState
from ._noise import WORDS, num_blocks


@dataclass(frozen=True, eq=False)
class DelayChunkTask(ChunkTask):
    """As `ChunkTask`, with the past of each replica in its state."""

    @property
    def lag(self) -> int:
        """The delay in steps."""
        assert isinstance(self.model, DelayDiffusion)
        return self.model.lag(float(self.scheme.step))

    @property
    def values_per_replica(self) -> int:
        """Numbers that the state of one replica holds."""
        return values_per_replica(self.model.num_particles, self.lag)

    def _problem(self) -> DelayProblem:
        assert isinstance(self.model, DelayDiffusion)
        return DelayProblem.from_model(self.model, self.dtype, self.lag)

    def _initial_state(
        self, problem: AnyProblem, ranked: np.ndarray, groups: int, lanes: int
    ) -> DelayState:
        assert isinstance(problem, DelayProblem)
        columns = jnp.asarray(ranked.T.reshape(-1, groups, lanes), self.dtype)
        return problem.begin(columns)


def values_per_replica(num_particles: int, lag: int) -> int:
    """Numbers that the state of one replica holds."""
    return WORDS * num_blocks(num_particles) * (2 * lag + 2)
