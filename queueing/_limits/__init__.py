"""Limits that are no rank-based diffusions: fluid, mean field, Halfin-Whitt and beyond."""

from ._fast_idle import fast_idle_rate as fast_idle_rate
from ._fluid import FluidLimit as FluidLimit
from ._fluid import jfsq_fluid as jfsq_fluid
from ._fluid import jsq_fluid as jsq_fluid
from ._gamma_law import GammaLaw as GammaLaw
from ._gamma_law import total_beyond_halfin_whitt as total_beyond_halfin_whitt
from ._halfin_whitt import halfin_whitt as halfin_whitt
from ._mean_field import Occupancy as Occupancy
from ._mean_field import PowerOfDMeanField as PowerOfDMeanField
