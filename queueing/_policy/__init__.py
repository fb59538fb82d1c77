"""Routing policies: which server an arriving job is sent to."""

from ._base import Kernel as Kernel
from ._base import Policy as Policy
from ._base import RoutingLaw as RoutingLaw
from ._jsq import JSQ as JSQ
from ._marginal import Marginal as Marginal
from ._power_of_d import PowerOfD as PowerOfD
from ._random import Random as Random
from ._rank_based import RankBased as RankBased
from ._rate_proportional import RateProportional as RateProportional
from ._registry import POLICIES as POLICIES
from ._registry import check_policy as check_policy
