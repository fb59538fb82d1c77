"""Routing policies: which server an arriving job is sent to."""

from ._base import Kernel as Kernel
from ._base import Policy as Policy
from ._base import RoutingLaw as RoutingLaw
from ._base import no_memory as no_memory
from ._base import no_update as no_update
from ._idle_one_first import IdleOneFirst as IdleOneFirst
from ._jfsq import JFSQ as JFSQ
from ._jiq import JIQ as JIQ
from ._jsq import JSQ as JSQ
from ._least_expected_work import LeastExpectedWork as LeastExpectedWork
from ._marginal import Marginal as Marginal
from ._nearest import Nearest as Nearest
from ._power_of_d import PowerOfD as PowerOfD
from ._random import Random as Random
from ._rank_based import RankBased as RankBased
from ._rate_proportional import RateProportional as RateProportional
from ._registry import POLICIES as POLICIES
from ._registry import check_policy as check_policy
from ._round_robin import RoundRobin as RoundRobin
