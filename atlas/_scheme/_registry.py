"""All schemes. A new one is a file beside this one and a line here."""

from ._base import AbstractScheme
from ._bridge_euler import BridgeEuler
from ._collision_bridge import CollisionBridge
from ._heun_bridge import HeunBridge
from ._projected_euler import ProjectedEuler
from ._splitting import Splitting
from ._two_scale_splitting import TwoScaleSplitting

SCHEMES: tuple[type[AbstractScheme], ...] = (
    ProjectedEuler,
    BridgeEuler,
    Splitting,
    HeunBridge,
    CollisionBridge,
    TwoScaleSplitting,
)
