"""The laws that exist; tests loop over this table."""

from __future__ import annotations

from ._base import Distribution
from ._exponential import Exponential

DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "Exponential": Exponential,
}
