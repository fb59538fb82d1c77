"""Rank-based diffusions: models, laws in closed form, and solvers exact where they can be."""

from ._gap_process import GapProcess as GapProcess
from ._identities import second_moment_defect as second_moment_defect
from ._law import ProductExponential as ProductExponential
from ._law import stationary_gaps as stationary_gaps
from ._load import load as load
from ._model import InfiniteAtlas as InfiniteAtlas
from ._model import RankDiffusion as RankDiffusion
from ._model import reflected_atlas as reflected_atlas
from ._ranking import gaps_of as gaps_of
from ._ranking import rank as rank
from ._ranking import ranked_from_gaps as ranked_from_gaps
from ._scheme import SCHEMES as SCHEMES
from ._scheme import AbstractScheme as AbstractScheme
from ._scheme import BridgeEuler as BridgeEuler
from ._scheme import ProjectedEuler as ProjectedEuler
from ._scheme import Splitting as Splitting
from ._simulate import simulate as simulate
from ._skorokhod import reflect_half_line as reflect_half_line
from ._skorokhod import reflect_interval as reflect_interval
from ._skorokhod import reflect_orthant as reflect_orthant
from ._solution import SimulationError as SimulationError
from ._solution import SimulationInterrupted as SimulationInterrupted
from ._solution import Solution as Solution
