"""Discretisation schemes; `SCHEMES` is the registry that tests loop over."""

from ._base import AbstractScheme as AbstractScheme
from ._bridge_euler import BridgeEuler as BridgeEuler
from ._collision_bridge import CollisionBridge as CollisionBridge
from ._heun_bridge import HeunBridge as HeunBridge
from ._projected_euler import ProjectedEuler as ProjectedEuler
from ._registry import SCHEMES as SCHEMES
from ._splitting import Splitting as Splitting
from ._two_scale_splitting import TwoScaleSplitting as TwoScaleSplitting
